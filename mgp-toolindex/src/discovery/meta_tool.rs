//! The meta-tools, which stand for all other tools.

use mgp_types::RawJson;
use mgp_types::mcp::{Tool, ToolAnnotations};
use mgp_types::mgp::method;

use crate::budget::{ListedDefinition, TokenCounter};

/// The meta-tools that are listed; all can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MetaTools {
    /// The tool `discover`.
    Discover,
    /// The tools `discover` and `request`.
    #[default]
    DiscoverAndRequest,
    /// The tools `discover`, `request`, `session` and `session/evict`.
    All,
}

const EVICT_SCHEMA: &str = r#"{"type":"object","properties":{"tools":{"type":"array","items":{"type":"string"}}},"required":["tools"]}"#;
const EVICT: &str = "Unloads tools that are no longer needed.";
const SESSION_SCHEMA: &str = r#"{"type":"object"}"#;
const SESSION: &str = "Tells which tools are loaded, and their tokens.";
const REQUEST_SCHEMA: &str = r#"{"type":"object","properties":{"context":{"type":"string","description":"The step at hand"},"requirements":{"type":"object","properties":{"capabilities":{"type":"array","items":{"type":"string"}}}}}}"#;
const REQUEST: &str = "Loads tools for capabilities that a task turns out to need; says which it lacks.";

/// Returns the meta-tools under the names of their methods, with the names of categories to browse, if there are any.
pub(super) fn tools(listed: MetaTools, categories: &[String]) -> Vec<Tool> {
    let mut tools = vec![discover(categories)];
    if listed != MetaTools::Discover {
        tools.push(tool(method::TOOLS_REQUEST, REQUEST.into(), REQUEST_SCHEMA));
    }
    if listed == MetaTools::All {
        tools.push(tool(method::TOOLS_SESSION, SESSION.into(), SESSION_SCHEMA));
        tools.push(tool(method::TOOLS_SESSION_EVICT, EVICT.into(), EVICT_SCHEMA));
    }
    tools
}

/// Returns the tokens that the names of these categories add to the meta-tools.
pub(crate) fn category_tokens(categories: &[String], counter: &dyn TokenCounter) -> u32 {
    let tokens = |categories| definition(&discover(categories), counter).tokens();
    tokens(categories).saturating_sub(tokens(&[]))
}

/// Returns the definition of a meta-tool for a model.
pub(super) fn definition(tool: &Tool, counter: &dyn TokenCounter) -> ListedDefinition {
    let description = tool.description.as_deref().unwrap_or_default();
    ListedDefinition::new(&tool.name, description, &tool.input_schema, counter)
}

const BROWSE_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What the tool must do"},"max_results":{"type":"integer"},"filter":{"type":"object","properties":{"categories":{"type":"array","items":{"type":"string"}}}}},"required":["query"]}"#;

const DISCOVER: &str = "Finds tools that are not listed here. Search when no listed tool can do it; \
    call what it finds by name, at once.";
const DISCOVER_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What the tool must do"},"max_results":{"type":"integer"}},"required":["query"]}"#;

fn discover(categories: &[String]) -> Tool {
    if categories.is_empty() {
        return tool(method::TOOLS_DISCOVER, DISCOVER.into(), DISCOVER_SCHEMA);
    }
    let description = format!("{DISCOVER} Categories: {}.", categories.join(", "));
    tool(method::TOOLS_DISCOVER, description, BROWSE_SCHEMA)
}

fn tool(name: &str, description: String, schema: &'static str) -> Tool {
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    Tool::new(name, schema)
        .with_description(description)
        .with_annotations(Box::new(ToolAnnotations::new().with_read_only_hint(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::default_counter;
    use crate::discovery::ToolDiscoverySettings;

    #[test]
    fn each_says_what_it_takes_and_that_it_changes_nothing() {
        for tool in tools(MetaTools::All, &["mail".into()]) {
            assert!(tool.description.is_some_and(|description| !description.is_empty()));
            assert_eq!(tool.annotations.unwrap().read_only_hint, Some(true));
            let schema: serde_json::Value = tool.input_schema.to().unwrap();
            assert_eq!(schema["type"], "object");
        }
    }

    #[test]
    fn both_together_take_few_tokens() {
        let settings = ToolDiscoverySettings::new();
        let counter = default_counter();
        let tokens: u32 = settings.definitions(&*counter).iter().map(ListedDefinition::tokens).sum();
        println!("{tokens} tokens, counted by {}", counter.name());
        assert!((100..200).contains(&tokens), "{tokens}");
    }
}
