//! The annotations in a tool's schema that name the arguments to repeat in headers.

use mgp_types::{Object, RawJson};

/// An argument that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MirroredArgument {
    /// The members that lead to the argument.
    pub(super) path: Vec<String>,
    /// The header's name, without the prefix that all have.
    pub(super) header: Box<str>,
}

/// The faults of a tool's annotations.
pub(super) type AnnotationFault = &'static str;

const NAME: AnnotationFault = "a header's name is not one";
const REPEATED: AnnotationFault = "two arguments have one header";
const TYPE: AnnotationFault = "an argument is neither text, integer nor boolean";
const PLACE: AnnotationFault = "an annotation is not on a property";

const ANNOTATION: &str = "x-mcp-header";
const MAX_DEPTH: usize = 32;

/// Returns the arguments that headers repeat, from the schema of a tool's arguments.
pub(super) fn read(schema: &RawJson) -> Result<Vec<MirroredArgument>, AnnotationFault> {
    let mut found = Vec::new();
    walk(schema, &[], true, &mut found)?;
    Ok(found)
}

/// Reads a schema, or those of an array like that of `anyOf`.
fn walk(
    schema: &RawJson,
    path: &[String],
    reachable: bool,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), AnnotationFault> {
    // Nearly no schema has annotations, and those need not be read.
    if !contains(schema.as_bytes(), ANNOTATION.as_bytes()) {
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

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns whether a byte may be part of a header's name (RFC 9110 `tchar`).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(schema: &str) -> Result<Vec<(String, String)>, AnnotationFault> {
        let found = read(&RawJson::parse(schema.to_owned()).unwrap())?;
        Ok(found.into_iter().map(|one| (one.path.join("/"), one.header.into())).collect())
    }

    #[test]
    fn annotated_properties_are_found_at_any_depth() {
        let schema = r#"{"type":"object","properties":{
            "a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string"},
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
