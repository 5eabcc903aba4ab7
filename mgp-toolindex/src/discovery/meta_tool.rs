//! The meta-tools, which stand for all other tools.

use mgp_types::mcp::{Tool, ToolAnnotations};
use mgp_types::mgp::{NameStyle, method};
use mgp_types::{Context, RawJson};

use crate::budget::{ListedDefinition, TokenCounter};

const REQUEST_SCHEMA: &str = r#"{"type":"object","properties":{"context":{"type":"string","description":"The step at hand"},"requirements":{"type":"object","properties":{"capabilities":{"type":"array","items":{"type":"string"}}}}}}"#;
const REQUEST: &str = "Loads tools for capabilities that a task turns out to need, and asks the user for permissions that \
    they lack; says which capabilities no tool has.";
const CALL_SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":true}},"required":["name","arguments"]}"#;
const CALL: &str = "Calls a tool that is not listed here, with arguments by the schema that a search found.";

/// Returns the meta-tools under the names of their methods, with the names of categories to browse, if there are any.
pub(super) fn tools(categories: &[String]) -> Vec<Tool> {
    let mut call = tool(method::TOOLS_CALL, CALL.into(), CALL_SCHEMA);
    // Nobody knows what the called tool does.
    call.annotations = None;
    vec![discover(categories), call, tool(method::TOOLS_REQUEST, REQUEST.into(), REQUEST_SCHEMA)]
}

/// Returns the words that tell a model how to call tools that it was told of.
pub(super) fn how_to_call(names: NameStyle, context: &Context) -> String {
    let call = names.write_method(method::TOOLS_CALL, context);
    format!("A tool that is not in your list is called by `{call}`, with its `name` and `arguments`.")
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

const DISCOVER: &str = "Finds tools that are not listed here. Search when no listed tool can do it, then call what it \
    finds: by mgp/tools/call, with its name and arguments.";
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
    fn each_says_what_it_takes_and_that_it_changes_nothing_unless_it_calls() {
        for tool in tools(&["mail".into()]) {
            assert!(tool.description.is_some_and(|description| !description.is_empty()));
            let reads = tool.annotations.and_then(|annotations| annotations.read_only_hint);
            assert_eq!(reads, (tool.name != method::TOOLS_CALL).then_some(true));
            let schema: serde_json::Value = tool.input_schema.to().unwrap();
            assert_eq!(schema["type"], "object");
        }
    }

    #[test]
    fn all_that_are_listed_take_few_tokens() {
        let settings = ToolDiscoverySettings::new();
        let counter = default_counter();
        let tokens: u32 = settings.definitions(&*counter).iter().map(ListedDefinition::tokens).sum();
        println!("{tokens} tokens, counted by {}", counter.name());
        assert!((100..280).contains(&tokens), "{tokens}");
    }
}
