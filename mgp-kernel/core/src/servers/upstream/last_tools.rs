//! The tools that each server listed last, kept on disk: clients get them while the server starts again.
//!
//! Definitions are kept as servers wrote them, and listed only where their digest is the approved one: the pins
//! alone do not tell what a server still lists.

use std::io;
use std::path::{Path, PathBuf};

use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::{AtomicFile, FileReaders};
use mgp_security::definition::{Definition, DefinitionKind, PinnedDefinitions};
use mgp_types::canonical::Digest;
use mgp_types::mgp::ServerId;
use mgp_types::{Object, RawJson};
use serde::{Deserialize, Serialize};

use super::connections::lists_for_all;
use super::publish::{index_tools, resolved};
use crate::catalog::ToolCatalog;
use crate::settings::running::RunningConfig;

/// The last list of one server, as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct LastTools {
    server: ServerId,
    /// The version of the program that judged the definitions.
    version: String,
    /// A digest of the way in which the server is reached. Another program under the same id has other tools.
    reached: String,
    /// The definitions that were admitted, as the server wrote them and in its order.
    tools: Vec<RawJson>,
}

/// Lists the tools that the configured servers listed last, before any of them is started.
///
/// A definition counts only if it is the one that is approved now, and this version of the program judged it. Servers
/// to which agents have connections of their own are left out: the list of one agent says nothing of another's.
pub(crate) async fn list_last_tools(running: &RunningConfig, pins: &PinnedDefinitions, listed: &ToolCatalog) {
    let config = running.load_full();
    for server in config.servers.iter().filter(|server| server.enabled && lists_for_all(server)) {
        let id = ServerId::from(server.id.as_str());
        let Some(definitions) = read(running.state(), server, pins) else { continue };
        let tools = resolved(server, &id, server.trust(), definitions);
        match listed.catalog.put_server(id.clone(), tools) {
            Ok(_) => index_tools(listed, server, None).await,
            Err(error) => tracing::warn!(server = %id, %error, "the tools of the last start are not listed"),
        }
    }
}

/// Keeps the definitions of tools that `server` lists and that were admitted. Writes nothing if they are kept already.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn keep(state: &Path, server: &ServerConfig, definitions: &[Object]) -> io::Result<()> {
    let last = LastTools {
        server: server.id.as_str().into(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        reached: reached(server),
        tools: definitions.iter().map(Object::to_raw).collect(),
    };
    let path = file(state, &server.id);
    let text = serde_json::to_string(&last)?;
    if std::fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    AtomicFile::put(&path, &text, FileReaders::Owner)
}

fn read(state: &Path, server: &ServerConfig, pins: &PinnedDefinitions) -> Option<Vec<Object>> {
    let text = std::fs::read(file(state, &server.id)).ok()?;
    let last: LastTools = serde_json::from_slice(&text)
        .inspect_err(
            |error| tracing::warn!(server = server.id, %error, "the tools of the last start cannot be read"),
        )
        .ok()?;
    let is_of_this_server = last.server.as_str() == server.id && last.reached == reached(server);
    if !is_of_this_server || last.version != env!("CARGO_PKG_VERSION") {
        return None;
    }
    let definitions = last.tools.iter().filter_map(|tool| Object::from_raw(&tool.detached()).ok());
    Some(definitions.filter(|tool| is_approved(pins, &last.server, tool)).collect())
}

/// Returns whether the definition is the one that is approved now.
fn is_approved(pins: &PinnedDefinitions, server: &ServerId, tool: &Object) -> bool {
    let Ok(definition) = Definition::read(DefinitionKind::Tool, tool) else { return false };
    pins.is_approved(server, DefinitionKind::Tool, definition.name().as_str())
        && pins.recognized(server, &definition).is_some()
}

/// Returns the file of one server. Ids may contain characters that names of files may not.
fn file(state: &Path, server: &str) -> PathBuf {
    state.join(FOLDER).join(format!("{}.json", Digest::of_canonical(server.as_bytes())))
}

fn reached(server: &ServerConfig) -> String {
    let how = (&server.command, &server.args, &server.url, &server.socket, &server.cwd);
    Digest::of_canonical(&serde_json::to_vec(&how).unwrap_or_default()).to_string()
}

/// The folder of the lists in the state directory.
const FOLDER: &str = "tools";

#[cfg(test)]
mod tests {
    use mgp_security::definition::ConfiguredServer;
    use mgp_store::Database;

    use super::*;

    fn server(command: &str) -> ServerConfig {
        serde_json::from_value(serde_json::json!({"id": "git/é", "command": command})).unwrap()
    }

    fn tool(name: &str, description: &str) -> Object {
        Object::parse(format!(r#"{{"name":"{name}","description":"{description}"}}"#)).unwrap()
    }

    fn names(tools: Option<Vec<Object>>) -> Vec<String> {
        tools.unwrap_or_default().iter().filter_map(|tool| Some(tool.text("name")?.into_owned())).collect()
    }

    #[test]
    fn only_the_definition_that_is_approved_now_is_listed_again() {
        let state = tempfile::tempdir().unwrap();
        let pins = PinnedDefinitions::load(Database::in_memory().unwrap()).unwrap().trusting_first_lists();
        let id = ServerId::from("git/é");
        let [status, log] = [tool("status", "Shows."), tool("log", "Lists.")];
        let pinned = |tool: &Object| Definition::read(DefinitionKind::Tool, tool).unwrap();
        let list = |tools: &[Definition]| {
            pins.observe(&id, DefinitionKind::Tool, tools, &ConfiguredServer::default()).unwrap();
        };
        list(&[pinned(&status), pinned(&log)]);
        keep(state.path(), &server("git"), &[status, log.clone(), tool("never", "Seen.")]).unwrap();
        assert_eq!(names(read(state.path(), &server("git"), &pins)), ["status", "log"]);
        // A definition that has changed meanwhile waits for approval and is not listed.
        let changed = tool("status", "Shows, and more.");
        list(&[pinned(&changed), pinned(&log)]);
        assert_eq!(names(read(state.path(), &server("git"), &pins)), ["log"]);
    }

    #[test]
    fn another_program_under_the_same_id_has_no_last_tools() {
        let state = tempfile::tempdir().unwrap();
        let pins = PinnedDefinitions::load(Database::in_memory().unwrap()).unwrap().trusting_first_lists();
        keep(state.path(), &server("git"), &[]).unwrap();
        assert!(read(state.path(), &server("git"), &pins).is_some());
        assert!(read(state.path(), &server("other"), &pins).is_none());
    }
}
