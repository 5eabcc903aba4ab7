//! The known places of programs, libraries and settings on each system. The rules stand in [`opened`](super::opened).

use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

/// The known paths, and the names of folders and files.
static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("folders.txt")));

/// Returns the list under this heading of `folders.txt`, which says what each is for.
pub(super) fn known(list: &str) -> &'static [&'static str] {
    &LISTS[list]
}

/// The list of the paths that every program needs to start: programs, libraries, and what libraries look up.
pub(super) const SYSTEM: &str = if cfg!(target_os = "macos") { "system of macOS" } else { "system" };

/// The folder in which systems keep settings.
pub(super) const SETTINGS: &str = "/etc";

/// The port of the name service.
pub(super) const NAME_SERVICE: u16 = 53;

/// The file that marks the folder of a JavaScript package.
pub(super) const PACKAGE: &str = "package.json";
