use std::collections::BTreeMap;
use std::ffi::OsStr;

use mgp_discovery::config::Secret;
use mgp_transport::child::ChildCommand;

/// Gives a program the variables that every program needs and those that are configured, and none of the others: they
/// may hold the secrets of somebody else.
pub(super) fn limited(command: ChildCommand, configured: &BTreeMap<String, Secret>) -> ChildCommand {
    let inherited = std::env::vars_os().filter(|(name, _)| is_needed(name));
    let command = inherited.fold(command.env_clear(), |command, (name, value)| command.env(name, value));
    configured.iter().fold(command, |command, (name, value)| command.env(name, value.expose()))
}

fn is_needed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let name = if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() };
    NEEDED.contains(&&*name) || name.starts_with("LC_")
}

#[cfg(not(windows))]
const NEEDED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"];

#[cfg(windows)]
const NEEDED: [&str; 16] = [
    "PATH",
    "PATHEXT",
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];
