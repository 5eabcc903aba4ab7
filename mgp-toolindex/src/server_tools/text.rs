//! The words of a tool, by field.

use std::borrow::Cow;

use mgp_types::{Object, RawJson};

use super::{Server, ToolListing};

/// The words that a tool can be found by, in the order of their weight. All of them come from its server, and none is
/// trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolText<'a> {
    /// The name for programs.
    pub(crate) name: Cow<'a, str>,
    /// The name for people.
    pub(crate) title: Cow<'a, str>,
    /// The description.
    pub(crate) description: Cow<'a, str>,
    /// The arguments.
    pub(crate) parameters: Vec<ToolParameter>,
    /// The id of its server.
    pub(crate) server: Cow<'a, str>,
    /// The purpose of its server.
    pub(crate) server_description: Cow<'a, str>,
    /// The keywords of the tool.
    pub(crate) keywords: Cow<'a, [String]>,
    /// The categories of the tool.
    pub(crate) categories: Vec<Cow<'a, str>>,
}

impl<'a> ToolText<'a> {
    /// Returns the words of a tool that `server` lists.
    pub(crate) fn of(listing: &'a ToolListing, server: &'a Server) -> Self {
        let text = |member| listing.members.text(member).unwrap_or_default();
        let schema = listing.members.get("inputSchema");
        Self {
            name: Cow::Borrowed(listing.name.as_str()),
            title: text("title"),
            description: text("description"),
            parameters: schema.map(|schema| parameters(&schema)).unwrap_or_default(),
            server: Cow::Borrowed(server.id.as_str()),
            server_description: Cow::Borrowed(&server.description),
            keywords: Cow::Borrowed(&listing.hints.keywords),
            categories: listing.hints.categories.iter().map(|category| category.as_str().into()).collect(),
        }
    }
}

/// An argument that a tool takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ToolParameter {
    /// The name of the argument.
    pub(crate) name: String,
    /// The description of the argument; may be empty.
    pub(crate) description: String,
}

/// Returns the arguments that a JSON Schema describes, with nested ones after the outer ones.
fn parameters(schema: &RawJson) -> Vec<ToolParameter> {
    let mut found = Vec::new();
    collect(schema, 0, &mut found);
    found
}

const DEEPEST: usize = 3;

/// The number of arguments that are read; more tell nothing new about a tool.
const MAX_ARGUMENTS: usize = 64;

fn collect(schema: &RawJson, depth: usize, found: &mut Vec<ToolParameter>) {
    let Ok(schema) = Object::from_raw(schema) else { return };
    let mut inner = Vec::new();
    if let Some(properties) = schema.object("properties") {
        for (name, property) in properties.iter() {
            if found.len() == MAX_ARGUMENTS {
                return;
            }
            let members = Object::from_raw(&property).unwrap_or_default();
            let description = members.text("description").unwrap_or_default().into_owned();
            found.push(ToolParameter { name: name.into_owned(), description });
            inner.push(property);
        }
    }
    inner.extend(schema.get("items"));
    if depth < DEEPEST {
        for schema in &inner {
            collect(schema, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(schema: &serde_json::Value) -> Vec<String> {
        parameters(&RawJson::from_value(schema).unwrap())
            .into_iter()
            .map(|parameter| parameter.name)
            .collect()
    }

    #[test]
    fn arguments_are_found_within_objects_and_lists() {
        let schema = r#"{ "type": "object", "properties": {
            "to": { "type": "array", "items": { "properties": { "address": { "type": "string" } } } },
            "subject": { "type": "string", "description": "One line" }
        } }"#;
        let found = parameters(&RawJson::parse(schema).unwrap());
        let names: Vec<&str> = found.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["to", "subject", "address"]);
        assert_eq!(found[1].description, "One line");
    }

    #[test]
    fn nonsense_has_no_arguments_and_there_is_an_end_to_them() {
        assert!(names(&json!({ "properties": [1, 2] })).is_empty());
        assert!(names(&json!(true)).is_empty());
        let many: serde_json::Map<_, _> = (0..1000).map(|n| (format!("p{n}"), json!({}))).collect();
        assert_eq!(names(&json!({ "properties": many })).len(), MAX_ARGUMENTS);
    }
}
