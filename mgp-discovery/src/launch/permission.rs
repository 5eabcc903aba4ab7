//! The demands of a package beyond being started.

use crate::registry::{table, visible};

/// A demand of a package beyond being started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackagePermission {
    /// The kind of the demand, in words: `network` for networks of the machine or ports to it, `files` for its files,
    /// `privileges` for powers that a container does not have otherwise, and `an option` for any other option of the
    /// program that starts the package.
    pub kind: &'static str,
    /// The words that make the demand, with invisible characters as escapes.
    pub words: String,
}

/// The harmless options of programs that start packages without a container.
const RUNNER_HARMLESS: &[&str] = &["-y", "--yes"];

/// Returns the demands of runtime arguments. Words that are not known to be harmless are reported.
pub(super) fn requests(container: bool, words: &[String]) -> Vec<PackagePermission> {
    let mut requests = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (option, mut value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word.as_str(), None),
        };
        // `-v/:/host` means the same as `-v /:/host`.
        let attached = !option.starts_with("--") && option.len() > 2 && option.is_char_boundary(2);
        let attached = container && attached && option.starts_with('-');
        let option = if attached { &option[..2] } else { option };
        let known = if container {
            table(include_str!("container_options.txt"), option)
        } else {
            RUNNER_HARMLESS.contains(&option).then_some(["harmless", "alone"])
        };
        let [kind, follows] = known.unwrap_or(["an option", "alone"]);
        if follows == "value" && value.is_none() && option == word {
            value = words.next_if(|next| !next.starts_with('-')).map(String::as_str);
        }
        // Options of one letter can stand together: `-iv /:/host` is `-i -v /:/host`.
        let together = attached && option != "-e" && !["-it", "-ti"].contains(&word.as_str());
        if kind == "harmless" && !together {
            continue;
        }
        let kind = if kind == "harmless" { "an option" } else { kind };
        let shown = match value {
            Some(value) if !word.contains('=') => format!("{word} {value}"),
            _ => word.clone(),
        };
        requests.push(PackagePermission { kind, words: visible(&shown) });
    }
    requests
}
