//! The keywords of JSON Schema that hold schemas or require properties.

use std::borrow::Cow;
use std::collections::HashSet;

use mgp_types::{Object, RawJson};

use super::list;

/// The contents of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordContent {
    /// A value that is not a schema.
    Value,
    /// A schema or a list of them; if true, one that must not become more permissive.
    Schema(bool),
    /// Schemas by names.
    Named,
}

/// The keywords of schemas that may become more permissive.
const SCHEMAS: [&str; 9] = [
    "items", "prefixItems", "additionalItems", "additionalProperties", "propertyNames", "anyOf", "allOf",
    "then", "else",
];

/// Returns the contents of the keyword `name`, apart from `properties`.
pub(super) fn inside(name: &str) -> KeywordContent {
    match name {
        name if SCHEMAS.contains(&name) => KeywordContent::Schema(false),
        "oneOf" | "not" | "if" | "contains" | "unevaluatedItems" | "unevaluatedProperties" => {
            KeywordContent::Schema(true)
        }
        "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => KeywordContent::Named,
        _ => KeywordContent::Value,
    }
}

/// Returns the names of the properties that a schema requires, in any case or in some; `None` if it may require any.
pub(super) fn required(members: &Object) -> Option<HashSet<String>> {
    let mut names = HashSet::new();
    (!members.contains("minProperties") && collect(members, 0, &mut names)).then_some(names)
}

const DEEPEST_CONDITION: usize = 4;

/// Notes the names that a schema needs; returns false if that cannot be told.
fn collect(members: &Object, depth: usize, names: &mut HashSet<String>) -> bool {
    if depth > DEEPEST_CONDITION {
        return false;
    }
    names.extend(members.get("required").and_then(|raw| raw.to::<Vec<String>>().ok()).unwrap_or_default());
    for holder in ["dependentRequired", "dependencies", "dependentSchemas"] {
        let Some(dependent) = members.object(holder) else {
            continue;
        };
        for (name, value) in dependent.iter() {
            names.insert(name.into_owned());
            if let Ok(others) = value.to::<Vec<String>>() {
                names.extend(others);
            } else if !collect_below(&value, depth, names) {
                return false;
            }
        }
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        let Some(raw) = members.get(alternatives) else { continue };
        if !list(&raw).iter().all(|schema| collect_below(schema, depth, names)) {
            return false;
        }
    }
    ["if", "then", "else", "not"]
        .iter()
        .filter_map(|name| members.get(name))
        .all(|schema| collect_below(&schema, depth, names))
}

/// Notes the names that a condition needs; a condition also needs the properties that it tests.
fn collect_below(schema: &RawJson, depth: usize, names: &mut HashSet<String>) -> bool {
    let Ok(members) = Object::from_raw(schema) else { return true };
    if let Some(properties) = members.object("properties") {
        names.extend(properties.iter().map(|(name, _)| name.into_owned()));
    }
    // References are not followed.
    !members.contains("$ref") && collect(&members, depth + 1, names)
}

/// Returns the first characters of a text, up to the end of a sentence or a word, with a sign that text is missing.
pub(in crate::budget) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(most) else { return Cow::Borrowed(text) };
    let head = &text[..end];
    let ends = |is_end: fn(char) -> bool| {
        let (at, found) = head.rmatch_indices(is_end).next()?;
        (at * 2 > end).then_some(at + found.len())
    };
    let sentence = ends(|c| matches!(c, '.' | '。' | '!' | '?' | '\n'));
    let kept = head[..sentence.or_else(|| ends(char::is_whitespace)).unwrap_or(end)].trim_end();
    Cow::Owned(format!("{kept}…"))
}

const LATEST_DIALECT: &[u8] = br#""https://json-schema.org/draft/2020-12/schema""#;

/// The member that names the header which repeats a parameter.
pub(super) const HEADER: &str = "x-mcp-header";

/// Returns whether a call does not need this member of a schema.
pub(super) fn is_comment(name: &str, value: &RawJson) -> bool {
    match name {
        "title" | "default" | "examples" | "example" | "$comment" | "markdownDescription" => true,
        // MCP assumes this dialect; another one has to stay.
        "$schema" => value.as_bytes() == LATEST_DIALECT,
        // Over HTTP a call is refused without the header that this member asks for.
        other => other.starts_with("x-") && other != HEADER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_with_a_sentence_or_a_word_and_says_that_there_is_more() {
        assert_eq!(clip("Short.", 10), "Short.");
        assert_eq!(clip("A first sentence. A second one.", 20), "A first sentence.…");
        assert_eq!(clip("no sentence ends in here", 14), "no sentence…");
        assert_eq!(clip("ファイルを読みます。書きません。", 12), "ファイルを読みます。…");
        assert_eq!(clip("éééééééé", 3), "ééé…");
        assert_eq!(clip("abc", 0), "…");
    }
}
