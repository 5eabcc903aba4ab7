//! The demands of a package beyond being started.

use crate::registry::visible;

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

/// The options that are followed by no value.
const BARE: &[&str] = &["--privileged", "-P", "--publish-all"];

/// The harmless options of containers that are followed by a value.
const VALUED: &[&str] = &["-e", "--env", "--name", "--pull", "--platform"];

const RUNNER_HARMLESS: &[&str] = &["-y", "--yes"];

const CONTAINER_HARMLESS: &[&str] = &[
    "run", "-i", "-t", "--interactive", "--tty", "--rm", "--init", "-e", "--env", "--name", "--pull",
    "--platform", "--read-only",
];

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
        let harmless = if container { CONTAINER_HARMLESS } else { RUNNER_HARMLESS };
        let takes_value =
            container && (VALUED.contains(&option) || kind(option).is_some_and(|_| !BARE.contains(&option)));
        if takes_value && value.is_none() && option == word {
            value = words.next_if(|next| !next.starts_with('-')).map(String::as_str);
        }
        // Options of one letter can stand together: `-iv /:/host` is `-i -v /:/host`.
        let together = attached && option != "-e" && !["-it", "-ti"].contains(&word.as_str());
        if harmless.contains(&option) && !together {
            continue;
        }
        let kind = kind(option).filter(|_| container).unwrap_or("an option");
        let shown = match value {
            Some(value) if !word.contains('=') => format!("{word} {value}"),
            _ => word.clone(),
        };
        requests.push(PackagePermission { kind, words: visible(&shown) });
    }
    requests
}

/// Returns the kind of demand that an option of a container makes.
fn kind(option: &str) -> Option<&'static str> {
    Some(match option {
        "--network" | "--net" | "-p" | "-P" | "--publish" | "--publish-all" | "--add-host" | "--dns" => {
            "network"
        }
        "-v" | "--volume" | "--mount" | "--volumes-from" | "--env-file" | "--tmpfs" => "files",
        "--privileged" | "--device" | "--cap-add" | "--pid" | "--ipc" | "--uts" | "--userns"
        | "--security-opt" | "--gpus" | "--user" | "-u" | "--group-add" | "--cgroupns"
        | "--cgroup-parent" | "--sysctl" => "privileges",
        _ => return None,
    })
}
