use std::path::Path;

use mgp_discovery::registry::{InspectCode, Inspection, Launch, Script};
use mgp_security::validator::sandbox::{CommandPolicy, check_command};
use mgp_types::BoxFuture;

use super::graph::{self, Refused};

/// Reads scripts, and what they load, by the code safety framework at its strictest level (§7), and command lines by the
/// rules of the validator `sandbox` (§4.5).
#[derive(Debug)]
pub(super) struct StrictInspector;

impl InspectCode for StrictInspector {
    fn inspect<'a>(&'a self, script: Script<'a>) -> BoxFuture<'a, Inspection> {
        let (path, language) = (script.path.to_owned(), script.language.to_owned());
        Box::pin(async move {
            let shown = path.display().to_string();
            let read = tokio::task::spawn_blocking(move || read(&path, &language)).await;
            read.unwrap_or_else(|panic| Inspection::Unreadable(format!("{shown}: {panic}")))
        })
    }

    fn judge_line(&self, command: &str, args: &[String]) -> Result<(), String> {
        let line = Launch::Program { command: command.into(), args: args.to_vec(), env: Vec::new() }.line();
        check_command(&line, &CommandPolicy::default()).map_err(|finding| finding.to_string())
    }
}

fn read(path: &Path, language: &str) -> Inspection {
    match graph::read(path, language) {
        Ok(code) => Inspection::Harmless(Box::new(code)),
        Err(Refused::Rejected(rejection)) => Inspection::Rejected(rejection),
        Err(Refused::Unreadable(why)) => Inspection::Unreadable(why),
    }
}
