//! Documents that describe all tools of a server: the tool catalog, the OpenAPI document and the service manifest.

mod manifest;
mod openapi;

use mgp_types::mgp::Timestamp;
use mgp_types::{Object, RawJson};
use serde::Serialize;

pub use self::manifest::{ManifestFacts, manifest};
pub use self::openapi::openapi;

/// The version of the form of the document.
const TOOL_LIST_VERSION: &str = "1.0.0";

/// A tool in documents about all tools: its definition, under the name by which the reader calls it, and its
/// categories.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever has tools")]
pub struct ListedTool {
    /// The server that has the tool.
    pub server: Box<str>,
    /// The definition of the tool.
    pub definition: Object,
    /// The categories of the tool.
    pub tags: Vec<String>,
}

impl ListedTool {
    /// Returns the name by which the tool is called.
    pub fn name(&self) -> String {
        self.definition.text("name").unwrap_or_default().into_owned()
    }

    /// Returns the description; empty if there is none.
    pub fn description(&self) -> String {
        self.definition.text("description").unwrap_or_default().into_owned()
    }

    /// Returns the JSON Schema of the arguments.
    pub fn input_schema(&self) -> RawJson {
        let schema = self.definition.get("inputSchema").filter(RawJson::is_object);
        schema.unwrap_or_else(|| RawJson::parse(r#"{"type":"object"}"#).unwrap_or(RawJson::empty_object()))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: String,
    description: String,
    input_schema: RawJson,
    tags: &'a [String],
}

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Entry<'a>>,
    version: &'static str,
    generated_at: Timestamp,
}

/// Returns the catalog of `tools`, in the order of their names, as it is at `now`.
pub fn tool_list(tools: &[ListedTool], now: Timestamp) -> RawJson {
    let mut entries: Vec<_> = tools
        .iter()
        .map(|tool| Entry {
            name: tool.name(),
            description: tool.description(),
            input_schema: tool.input_schema(),
            tags: &tool.tags,
        })
        .collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let document = Document { tools: entries, version: TOOL_LIST_VERSION, generated_at: now };
    RawJson::from_value(&document).unwrap_or(RawJson::empty_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, tags: &[&str]) -> ListedTool {
        let definition =
            format!(r#"{{"name":"{name}","description":"about {name}","inputSchema":{{"type":"object"}}}}"#);
        ListedTool {
            server: "s".into(),
            definition: Object::parse(definition).unwrap(),
            tags: tags.iter().map(|&tag| tag.into()).collect(),
        }
    }

    // covers: GGEN-4-01
    #[test]
    fn the_catalog_is_the_same_for_the_same_tools_in_any_order() {
        let (one, two) = (tool("b", &["finance"]), tool("a", &[]));
        let now = Timestamp::from_millis(1_700_000_000_000).unwrap();
        let listed = tool_list(&[one.clone(), two.clone()], now);
        assert_eq!(listed, tool_list(&[two, one], now));
        assert_eq!(
            listed.to_string(),
            concat!(
                r#"{"tools":[{"name":"a","description":"about a","inputSchema":{"type":"object"},"tags":[]},"#,
                r#"{"name":"b","description":"about b","inputSchema":{"type":"object"},"tags":["finance"]}],"#,
                r#""version":"1.0.0","generated_at":"2023-11-14T22:13:20.000Z"}"#
            )
        );
    }
}
