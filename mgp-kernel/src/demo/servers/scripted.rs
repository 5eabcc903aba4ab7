//! The demo's mailbox, calendar and issue tracker. Their tools stand in `scripted.json`, each with the one answer that it
//! always gives: the demo and the figures of its tools need definitions like those of real servers, and nothing that they do.

use std::collections::BTreeMap;
use std::future::ready;

use mgp_server_sdk::{Server, Tool};
use mgp_types::RawJson;
use mgp_types::mgp::{ExtensionSet, Offer, ToolSecurity};

/// A tool as the script has it.
#[derive(Debug, serde::Deserialize)]
struct ScriptedTool {
    name: String,
    description: String,
    schema: RawJson,
    #[serde(default)]
    read_only: bool,
    security: Option<ToolSecurity>,
    answer: String,
}

/// Returns the server of this name, if the script has one.
pub(super) fn server(name: &str) -> anyhow::Result<Option<Server>> {
    let mut script: BTreeMap<String, Vec<ScriptedTool>> =
        serde_json::from_str(include_str!("scripted.json"))?;
    let Some(tools) = script.remove(name) else { return Ok(None) };
    let mut server = Server::new(name.to_owned(), "1.0.0");
    if tools.iter().any(|tool| tool.security.is_some()) {
        server = server.mgp(Offer::new(ExtensionSet::from_names(["security"])));
    }
    for ScriptedTool { name, description, schema, read_only, security, answer } in tools {
        let mut tool = Tool::with_schema(name, description, schema);
        if read_only {
            tool = tool.read_only();
        }
        if let Some(security) = &security {
            tool = tool.security(security);
        }
        server = server.tool(tool, move |_: RawJson| ready(answer.clone()));
    }
    Ok(Some(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scripted_server_has_its_tools_and_no_other_is_there() {
        for (name, tools) in [("calendar", 8), ("issues", 10), ("mail", 11)] {
            assert_eq!(server(name).unwrap().unwrap().tools().len(), tools, "{name}");
        }
        assert!(server("clock").unwrap().is_none());
    }
}
