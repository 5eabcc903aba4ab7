//! The annotations in a tool's schema that name the arguments to repeat in headers.

use std::fmt;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnnotationFault {
    Name,
    Repeated,
    Type,
    Place,
}

impl fmt::Display for AnnotationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "a header's name is not one",
            Self::Repeated => "two arguments have one header",
            Self::Type => "an argument is neither text, integer nor boolean",
            Self::Place => "an annotation is not on a property",
        })
    }
}

const ANNOTATION: &str = "x-mcp-header";
const MAX_DEPTH: usize = 32;

/// Returns the arguments that headers repeat, from the schema of a tool's arguments.
pub(super) fn read(schema: &RawJson) -> Result<Vec<MirroredArgument>, AnnotationFault> {
    let mut found = Vec::new();
    // Nearly no schema has annotations, and those need not be read.
    if contains(schema.as_bytes(), ANNOTATION.as_bytes())
        && let Ok(root) = Object::from_raw(schema)
    {
        walk(&root, &mut Vec::new(), true, &mut found)?;
    }
    Ok(found)
}

fn walk(
    schema: &Object,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), AnnotationFault> {
    if path.len() > MAX_DEPTH {
        return Err(AnnotationFault::Place);
    }
    if schema.contains(ANNOTATION) {
        let at_property = reachable && !path.is_empty();
        let header = schema.text(ANNOTATION).ok_or(AnnotationFault::Name)?;
        if header.is_empty() || !header.bytes().all(is_token) {
            return Err(AnnotationFault::Name);
        }
        if !at_property {
            return Err(AnnotationFault::Place);
        }
        if !matches!(schema.text("type").as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(AnnotationFault::Type);
        }
        if found.iter().any(|other| other.header.eq_ignore_ascii_case(&header)) {
            return Err(AnnotationFault::Repeated);
        }
        found.push(MirroredArgument { path: path.clone(), header: header.into() });
    }
    for (name, value) in schema.iter() {
        if !contains(value.as_bytes(), ANNOTATION.as_bytes()) {
            continue;
        }
        match (&*name, Object::from_raw(&value)) {
            ("properties", Ok(properties)) => {
                for (property, schema) in properties.iter() {
                    if let Ok(schema) = Object::from_raw(&schema) {
                        path.push(property.into_owned());
                        walk(&schema, path, reachable, found)?;
                        path.pop();
                    }
                }
            }
            // These members hold data that may look like a schema.
            ("default" | "const" | "enum" | "examples" | ANNOTATION, _) => {}
            (_, Ok(inner)) => {
                path.push(name.into_owned());
                walk(&inner, path, false, found)?;
                path.pop();
            }
            (_, Err(_)) => items(&value, path, found)?,
        }
    }
    Ok(())
}

/// Reads the schemas in an array, like those of `anyOf`.
fn items(
    value: &RawJson,
    path: &mut Vec<String>,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), AnnotationFault> {
    for item in value.to::<Vec<RawJson>>().unwrap_or_default() {
        if let Ok(schema) = Object::from_raw(&item) {
            path.push(String::new());
            walk(&schema, path, false, found)?;
            path.pop();
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
        assert_eq!(property(r#"{"type":"string","x-mcp-header":""}"#), Err(AnnotationFault::Name));
        assert_eq!(property(r#"{"type":"string","x-mcp-header":"a b"}"#), Err(AnnotationFault::Name));
        assert_eq!(property(r#"{"type":"string","x-mcp-header":1}"#), Err(AnnotationFault::Name));
        assert_eq!(property(r#"{"type":"number","x-mcp-header":"A"}"#), Err(AnnotationFault::Type));
        assert_eq!(property(r#"{"x-mcp-header":"A"}"#), Err(AnnotationFault::Type));
        let item = r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#;
        assert_eq!(property(item), Err(AnnotationFault::Place));
        let two = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},
            "b":{"type":"string","x-mcp-header":"a"}}}"#;
        assert_eq!(read_text(two), Err(AnnotationFault::Repeated));
    }

    #[test]
    fn data_is_no_annotation() {
        let schema = r#"{"properties":{"a":{"type":"object","default":{"x-mcp-header":""}}}}"#;
        assert_eq!(read_text(schema), Ok(Vec::new()));
    }
}
