//! Arguments of tools that HTTP headers repeat, by `x-mcp-header` in the schema of the tool.

use memchr::memmem;

use crate::json::{Object, RawJson};

/// An argument of a tool that a header repeats, from 2026-07-28 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredArgument {
    path: Vec<String>,
    header: Box<str>,
}

const NAME: &str = "the name of a header in `x-mcp-header` is not one";
const REPEATED: &str = "two arguments have the same `x-mcp-header`";
const TYPE: &str = "the argument of an `x-mcp-header` has to be a string, integer or boolean";
const PLACE: &str = "`x-mcp-header` is allowed only on what `properties` alone lead to";

const ANNOTATION: &str = "x-mcp-header";
const MAX_DEPTH: usize = 32;

impl MirroredArgument {
    /// Returns the arguments that headers repeat, from the schema of a tool's arguments.
    ///
    /// # Errors
    /// The schema breaks a rule of the specification: a strange name, a name twice, a type that cannot be told from its
    /// text, a place that properties do not lead to.
    pub fn all_of(schema: &RawJson) -> Result<Vec<Self>, &'static str> {
        let mut found = Vec::new();
        walk(schema, &[], true, &mut found)?;
        Ok(found)
    }

    /// Returns the name of the header, without the prefix that all have.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the argument, if it is there and not null.
    pub fn value(&self, arguments: &Object) -> Option<RawJson> {
        let value = arguments.at(self.path.iter().map(String::as_str))?;
        (!value.is_null()).then_some(value)
    }
}

/// Reads a schema, or those of an array like that of `anyOf`.
fn walk(
    schema: &RawJson,
    path: &[String],
    reachable: bool,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), &'static str> {
    // Nearly no schema has annotations, and those need not be read.
    if memmem::find(schema.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(());
    }
    if path.len() > MAX_DEPTH {
        return Err(PLACE);
    }
    let below = |name: &str| [path, &[name.to_owned()]].concat();
    let Ok(schema) = Object::from_raw(schema) else {
        let items: Vec<RawJson> = schema.to().unwrap_or_default();
        return items.iter().try_for_each(|item| walk(item, &below(""), false, found));
    };
    if schema.contains(ANNOTATION) {
        let header = schema.text(ANNOTATION).ok_or(NAME)?;
        if header.is_empty() || !header.bytes().all(is_token) {
            return Err(NAME);
        }
        if !reachable || path.is_empty() {
            return Err(PLACE);
        }
        if !matches!(schema.text("type").as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(TYPE);
        }
        if found.iter().any(|other| other.header.eq_ignore_ascii_case(&header)) {
            return Err(REPEATED);
        }
        found.push(MirroredArgument { path: path.to_vec(), header: header.into() });
    }
    for (name, value) in schema.iter() {
        match (&*name, Object::from_raw(&value)) {
            ("properties", Ok(properties)) => {
                for (property, schema) in properties.iter() {
                    walk(&schema, &below(&property), reachable, found)?;
                }
            }
            // These members hold data that may look like a schema.
            ("default" | "const" | "enum" | "examples" | ANNOTATION, _) => {}
            _ => walk(&value, &below(&name), false, found)?,
        }
    }
    Ok(())
}

/// Returns whether a byte may be part of a header's name (RFC 9110 `tchar`).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(schema: &str) -> Result<Vec<(String, String)>, &'static str> {
        let found = MirroredArgument::all_of(&RawJson::parse(schema.to_owned()).unwrap())?;
        Ok(found.into_iter().map(|one| (one.path.join("/"), one.header.into())).collect())
    }

    #[test]
    fn annotated_properties_are_found_at_any_depth() {
        let schema = r#"{"type":"object","properties":{
            "a":{"type":"string","x-mcp-header":"A"},"x-mcp-header":{"type":"string"},
            "c":{"type":"object","properties":{"d":{"type":"integer","x-mcp-header":"D"}}}}}"#;
        let expected = [("a".to_owned(), "A".to_owned()), ("c/d".to_owned(), "D".to_owned())];
        assert_eq!(read_text(schema).unwrap(), expected);
    }

    #[test]
    fn wrong_annotations_are_told_apart() {
        let property = |schema: &str| read_text(&format!(r#"{{"properties":{{"a":{schema}}}}}"#));
        assert_eq!(property(r#"{"type":"string","x-mcp-header":""}"#), Err(NAME));
        assert_eq!(property(r#"{"type":"string","x-mcp-header":"a b"}"#), Err(NAME));
        assert_eq!(property(r#"{"type":"string","x-mcp-header":1}"#), Err(NAME));
        assert_eq!(property(r#"{"type":"number","x-mcp-header":"A"}"#), Err(TYPE));
        assert_eq!(property(r#"{"x-mcp-header":"A"}"#), Err(TYPE));
        let item = r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#;
        assert_eq!(property(item), Err(PLACE));
        let two = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},
            "b":{"type":"string","x-mcp-header":"a"}}}"#;
        assert_eq!(read_text(two), Err(REPEATED));
    }

    #[test]
    fn data_is_no_annotation() {
        let schema = r#"{"properties":{"a":{"type":"object","default":{"x-mcp-header":""}}}}"#;
        assert_eq!(read_text(schema), Ok(Vec::new()));
    }
}
