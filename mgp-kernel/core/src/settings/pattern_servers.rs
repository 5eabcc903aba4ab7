//! The servers of the program `mgp-patterns`, which packages put beside `mgp`: how the program is found, and how entries of the
//! configuration that name one of its servers are told apart.

use std::path::{Path, PathBuf};

/// The name of the program.
pub const PROGRAM: &str = "mgp-patterns";

/// The command of `mgp` that becomes one of the servers.
const COMMAND: &str = "server";

/// Returns the file of `mgp-patterns`: the one beside this program, or else the first in the folders of `PATH`.
pub fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let mut files = own.into_iter().chain(std::env::split_paths(&path)).map(|folder| folder.join(&name));
    files.find(|file| file.is_file())
}

/// Returns whether a command whose first argument is `first` starts one of the servers.
pub(crate) fn is_one(command: &str, first: &str) -> bool {
    let name = Path::new(command).file_stem();
    name.is_some_and(|name| name == PROGRAM) || is_by_command(command, first)
}

/// Returns whether a command whose first argument is `first` is `mgp server`.
pub(crate) fn is_by_command(command: &str, first: &str) -> bool {
    let own = std::env::current_exe().unwrap_or_default();
    let is_this =
        Path::new(command).file_name().is_some_and(|name| name == "mgp" || Some(name) == own.file_name());
    is_this && first == COMMAND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_of_the_program_are_told_apart() {
        let own = std::env::current_exe().unwrap();
        for (command, first, is_expected) in [
            (own.to_str().unwrap(), "server", true),
            ("/usr/bin/mgp", "server", true),
            ("mgp-patterns", "audit", true),
            ("/opt/mgp-patterns", "", true),
            ("mgp", "call", false),
            ("npx", "server", false),
            ("", "server", false),
        ] {
            assert_eq!(is_one(command, first), is_expected, "{command} {first}");
        }
    }
}
