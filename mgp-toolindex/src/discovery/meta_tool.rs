//! The meta-tools, which stand for all other tools, and the calls by the one that calls tools which are not listed.

use mgp_types::mcp::{Tool, ToolAnnotations};
use mgp_types::mgp::{MethodForm, NameStyle, ServerId, UnlistedCall, method};
use mgp_types::{Context, Error, Flow, Gate, Method, RawJson, Request};

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

/// Returns the words that tell a model how to call tools that it was told of, some of which may be of servers that are still
/// `starting`.
pub(super) fn how_to_call(names: NameStyle, context: &Context, starting: &[ServerId]) -> String {
    let call = names.write_method(method::TOOLS_CALL, context);
    let how =
        format!("A tool that is not in your list is called by `{call}`, with its `name` and `arguments`.");
    if starting.is_empty() {
        return how;
    }
    let servers: Vec<_> = starting.iter().map(|server| format!("`{server}`")).collect();
    format!("{how} Still starting: {}; a call waits for its server.", servers.join(", "))
}

/// Returns the tokens that the names of these categories add to the meta-tools.
pub(super) fn category_tokens(categories: &[String], counter: &dyn TokenCounter) -> u32 {
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

/// A gate that makes a call of the tool `mgp.tools.call` the call of the tool that it names.
///
/// Sits in front of all that looks at the tool of a call: for whoever is further in, the call is one of the named tool,
/// with all other members of its params. Puts an [`UnlistedCall`] into the extensions of such a call. A call that names
/// no tool stays as it is, to be refused where callers are known; all other requests pass untouched. Costs a look at the
/// first letters of the name.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct UnlistedCallGate;

impl UnlistedCallGate {
    /// Returns the gate.
    pub const fn new() -> Self {
        Self
    }
}

impl Gate for UnlistedCallGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_unlisted = request.method == Method::TOOLS_CALL && request.context.tool.is_none() && {
            let name = request.params.text("name");
            name.is_some_and(|name| method::of_tool(&name) == Some(method::TOOLS_CALL))
        };
        if is_unlisted && let Ok((name, arguments)) = named(request) {
            request.params.set("name", RawJson::from_text(&name));
            request.params.set("arguments", arguments);
            request.extensions.insert(UnlistedCall);
        }
        Flow::Pass(())
    }
}

/// Returns the name and the arguments of the tool that a call of `mgp.tools.call` is for.
///
/// # Errors
/// The arguments of the call are not such a name and such arguments; the error says which of them is wrong.
pub(super) fn named(request: &Request) -> Result<(String, RawJson), Error> {
    let params = MethodForm::Tool.params(request)?;
    let name = params.get("name").and_then(|name| name.to_text()).filter(|name| !name.is_empty());
    let missing = "`name` is missing: it is the name of the tool to call, as a search found it";
    let name = name.ok_or_else(|| Error::invalid_params(missing))?;
    if method::of_tool(&name) == Some(method::TOOLS_CALL) {
        let why = format!("`name` is `{name}` itself: it has to be the tool to call");
        return Err(Error::invalid_params(why));
    }
    if let Some((other, _)) = params.iter().find(|(member, _)| !matches!(&**member, "name" | "arguments")) {
        return Err(Error::invalid_params(format!(
            "`{other}` is neither `name` nor `arguments`: what `{name}` takes goes into `arguments`"
        )));
    }
    let arguments = match params.get("arguments").filter(|arguments| !arguments.is_null()) {
        None => Some(RawJson::empty_object()),
        // Some models write the object as a text.
        Some(arguments) => match arguments.to_text() {
            Some(text) => RawJson::parse(text).ok(),
            None => Some(arguments),
        },
    };
    let wrong = || format!("`arguments` has to be an object: the arguments of the tool `{name}`");
    let arguments = arguments.filter(RawJson::is_object).ok_or_else(|| Error::invalid_params(wrong()))?;
    Ok((name, arguments))
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
