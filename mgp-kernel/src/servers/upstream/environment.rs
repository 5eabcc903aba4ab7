//! The environment of a server's program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use mgp_discovery::Config;
use mgp_discovery::config::Secret;
use mgp_transport::child::ChildCommand;

/// Gives a program the `inherited` variables and those that are configured for it, and none of the others: they may
/// hold the secrets of somebody else.
pub(super) fn limited(
    command: ChildCommand,
    inherited: &[(OsString, OsString)],
    configured: &BTreeMap<String, Secret>,
) -> ChildCommand {
    let command =
        inherited.iter().fold(command.env_clear(), |command, (name, value)| command.env(name, value));
    configured.iter().fold(command, |command, (name, value)| command.env(name, value.expose()))
}

/// Returns the variables of the kernel's environment that a server gets: those that every program needs and, for a
/// server of the configuration, those that the configuration passes on. An agent that registers a server asks for
/// variables by name.
pub(super) fn inherited(config: &Config, server: &str) -> Vec<(OsString, OsString)> {
    let is_configured = config.server(server).is_some();
    let is_given = |name: &OsStr| {
        name.to_str().is_some_and(|name| is_needed(name) || (is_configured && config.passes_variable(name)))
    };
    std::env::vars_os().filter(|(name, _)| is_given(name)).collect()
}

/// Returns whether every program gets this variable.
pub(crate) fn is_needed(name: &str) -> bool {
    let name = if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() };
    NEEDED.contains(&&*name) || name.starts_with("LC_")
}

#[cfg(not(windows))]
const NEEDED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"];

#[cfg(windows)]
const NEEDED: [&str; 16] = [
    "PATH", "PATHEXT", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA",
    "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
    "USERNAME", "USERPROFILE",
];
