//! JSON with comments and trailing commas, as the settings of editors are written, read as a tree.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, ObjectPropName, Value as Json},
    common::Ranged,
    cst::CstRootNode,
    errors::ParseError,
};

use super::{DocumentMember, DocumentNode, DocumentValue, Position, SyntaxError};

/// The forms of JSON that clients read: comments and trailing commas, and nothing else of JSON5.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<DocumentNode, SyntaxError> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS)
        .map_err(|why| wrong(text, &why))?;
    let empty = || DocumentNode::new(text.len()..text.len(), DocumentValue::Map(Vec::new()));
    Ok(parsed.value.map_or_else(empty, node))
}

/// Reads a text as a tree that can be changed and keeps its comments and blanks.
pub(crate) fn editable(text: &str) -> Result<CstRootNode, SyntaxError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|why| wrong(text, &why))
}

fn wrong(text: &str, why: &ParseError) -> SyntaxError {
    SyntaxError { at: Position::of(text, why.range().start), what: why.kind().to_string() }
}

/// Returns the node of a value. The parser bounds how deep values lie in one another.
fn node(json: Json<'_>) -> DocumentNode {
    let range = json.range();
    let value = match json {
        Json::NullKeyword(_) => DocumentValue::Null,
        Json::BooleanLit(yes) => DocumentValue::Bool(yes.value),
        Json::NumberLit(number) => DocumentValue::Number(number.value.to_owned()),
        Json::StringLit(text) => DocumentValue::Text(text.value.into_owned()),
        Json::Array(array) => DocumentValue::List(array.elements.into_iter().map(node).collect()),
        Json::Object(object) => DocumentValue::Map(object.properties.into_iter().map(member).collect()),
    };
    DocumentNode::new(range.start..range.end, value)
}

fn member(property: ObjectProp<'_>) -> DocumentMember {
    let range = property.name.range();
    let key = match property.name {
        ObjectPropName::String(name) => name.value.into_owned(),
        ObjectPropName::Word(name) => name.value.to_owned(),
    };
    DocumentMember { key, key_span: range.start..range.end, node: node(property.value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_allowed_and_nothing_else_is() {
        let node = parse("// x\n{ /* y */ \"a\": [1, 2,], // z\n \"b\": \"\\u00e9\\ud83d\\ude00\\n\",\n}\n")
            .unwrap();
        assert_eq!(node.get("a").unwrap().items().len(), 2);
        assert_eq!(node.get("b").unwrap().text(), Some("é😀\n"));
        for text in
            ["{a: 1}", "{'a': 1}", "{\"a\" 1}", "{\"a\": 1 \"b\": 2}", "[0x1]", "\"\\ud800\"", "[] []"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        let wrong = parse("{\n  \"é\" 1\n}").unwrap_err();
        assert_eq!((wrong.at.line, wrong.at.column), (2, 7));
        assert!(parse(&"[".repeat(100_000)).unwrap_err().what.contains("depth"));
    }
}
