//! The facts about a server that scenarios need: a tool, a resource, and a prompt that the kit may ask for.

use std::collections::BTreeMap;

use mgp_types::mgp::Timestamp;
use serde_json::{Value, json};

use crate::link::LinkError;
use crate::observation::Observation;
use crate::scenario::{Facts, Step};
use crate::session::Session;

/// Returns what is known before anything is asked.
pub(crate) fn start(protocol: &str, given: Option<&(String, Value)>) -> Facts {
    let unique = format!("mgp-conform-{}", Timestamp::now().as_millis());
    let mut facts = Facts::from([("protocol".into(), protocol.into()), ("unique".into(), unique.into())]);
    if let Some((tool, arguments)) = given {
        facts.insert("tool".into(), json!(tool));
        facts.insert("arguments".into(), arguments.clone());
    }
    facts
}

/// Lists what the server declares, and adds the values of placeholders.
pub(crate) async fn find(
    session: &mut Session,
    capabilities: &Value,
    facts: &mut Facts,
) -> Result<(), LinkError> {
    add(facts, "session", session.session_id().map(|id| json!(id)).as_ref());
    for (capability, method) in
        [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")]
    {
        if capabilities.get(capability).is_none() {
            continue;
        }
        let mut seen = Observation::default();
        session.known(&Step { list: Some(method.into()), ..Step::default() }, &mut seen).await?;
        let items = seen.answer["result"]["items"].as_array().cloned().unwrap_or_default();
        match capability {
            "tools" => add_tools(&items, facts),
            "resources" => add(facts, "resource", items.iter().find_map(|item| item.get("uri"))),
            _ => {
                let free = items.iter().find(|item| !requires_argument(item));
                add(facts, "prompt", free.and_then(|item| item.get("name")));
            }
        }
    }
    Ok(())
}

/// Adds a tool that needs scopes, by the manifest.
pub(crate) async fn find_scopes(session: &mut Session, facts: &mut Facts) -> Result<(), LinkError> {
    let mut seen = Observation::default();
    session.known(&Step { request: Some("mgp/manifest/get".into()), ..Step::default() }, &mut seen).await?;
    let tools = seen.answer["result"]["tools"].as_array();
    let needs_scopes =
        |tool: &&Value| tool["required_scopes"].as_array().is_some_and(|scopes| !scopes.is_empty());
    let scoped = tools.and_then(|tools| tools.iter().find(needs_scopes));
    add(facts, "scoped_tool", scoped.map(|tool| &tool["name"]));
    add(facts, "scopes", scoped.map(|tool| &tool["required_scopes"]));
    Ok(())
}

/// Adds what a step keeps of an observation.
pub(crate) fn keep(facts: &mut Facts, kept: &BTreeMap<String, String>, seen: &Observation) {
    let document = seen.document();
    for (name, pointer) in kept {
        add(facts, name, document.pointer(pointer));
    }
}

fn add_tools(tools: &[Value], facts: &mut Facts) {
    let requires =
        |tool: &Value| tool["inputSchema"]["required"].as_array().is_some_and(|names| !names.is_empty());
    let is_safe = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true && !requires(tool);
    if !facts.contains_key("tool")
        && let Some(tool) = tools.iter().find(is_safe)
    {
        facts.insert("tool".into(), tool["name"].clone());
        facts.insert("arguments".into(), json!({}));
    }
    let structured = tools.iter().filter(is_safe).find(|tool| tool["outputSchema"].is_object());
    add(facts, "structured_tool", structured.map(|tool| &tool["name"]));
    add(facts, "output_schema", structured.map(|tool| &tool["outputSchema"]));
    let strict = tools.iter().find(|tool| requires(tool));
    add(facts, "strict_tool", strict.map(|tool| &tool["name"]));
}

fn add(facts: &mut Facts, name: &str, value: Option<&Value>) {
    facts.extend(value.map(|value| (name.to_owned(), value.clone())));
}

fn requires_argument(prompt: &Value) -> bool {
    prompt["arguments"].as_array().is_some_and(|all| all.iter().any(|argument| argument["required"] == true))
}

/// Returns why a scenario is skipped that needs a fact.
pub(crate) fn why_missing(fact: &str) -> String {
    match fact {
        "tool" | "arguments" => {
            "no tool says that it only reads and needs no arguments; name one with --tool".into()
        }
        "structured_tool" | "output_schema" => {
            "no tool that only reads and needs no arguments has an output schema".into()
        }
        "strict_tool" => "no tool requires an argument".into(),
        "session" => "the server has no sessions".into(),
        "resource" => "the server lists no resources".into(),
        "scoped_tool" | "scopes" => "the manifest names no tool that needs scopes".into(),
        "prompt" => "the server lists no prompt without required arguments".into(),
        other => format!("nothing is known for `${{{other}}}`"),
    }
}
