//! The check that a command of git only reads.

use crate::Finding;

use super::options::unknown;
use super::writes;

/// Checks the arguments of git: only commands that inspect the repository are allowed, without the options that write a
/// file or start a program.
pub(super) fn check(arguments: &[&str]) -> Result<(), Finding> {
    let mut rest = arguments;
    loop {
        match rest {
            ["-C" | "--git-dir" | "--work-tree", _, after @ ..] => rest = after,
            // `-c` and `--config-env` can configure programs that git starts.
            [option, after @ ..] if GLOBAL.contains(option) || is_place(option) => rest = after,
            [option, ..] if option.starts_with('-') => return Err(unknown(option)),
            [command, after @ ..] => return check_command(command, after),
            [] => return Err(writes("git needs a command: use one that reads, like log or status")),
        }
    }
}

fn is_place(option: &str) -> bool {
    option.starts_with("--git-dir=") || option.starts_with("--work-tree=")
}

fn check_command(command: &str, arguments: &[&str]) -> Result<(), Finding> {
    let reads = match command {
        "grep" => !arguments.iter().any(|argument| is_cluster_with(argument, 'O')),
        command if READING.contains(&command) => true,
        // These commands list if they get no name to create.
        "branch" => only(arguments, &LISTING_BRANCHES),
        "tag" => only(arguments, &LISTING_TAGS) || matches!(arguments, ["-l" | "--list", ..]),
        "remote" => matches!(arguments, [] | ["-v" | "--verbose"] | ["get-url", ..]),
        "stash" | "notes" => matches!(arguments, ["list" | "show", ..]),
        "worktree" => matches!(arguments, ["list", ..]),
        "submodule" => matches!(arguments, ["status" | "summary", ..]),
        "reflog" => matches!(arguments, [] | ["show", ..]) || arguments[0].starts_with('-'),
        "config" => {
            matches!(
                arguments,
                ["get" | "list" | "--get" | "--get-all" | "--get-regexp" | "--list" | "-l", ..]
            )
        }
        _ => false,
    };
    if !reads {
        return Err(writes(
            "nothing says that this command of git only reads: use one like log, show or status",
        ));
    }
    // Git accepts abbreviated names of options.
    let refused = arguments.iter().take_while(|argument| **argument != "--").find(|argument| {
        let Some(option) = argument.strip_prefix("--") else { return false };
        let name = option.split('=').next().unwrap_or_default();
        REFUSED.iter().any(|own| own.starts_with(name))
    });
    refused.map_or(Ok(()), |argument| Err(unknown(argument)))
}

fn only(arguments: &[&str], known: &[&str]) -> bool {
    arguments.iter().all(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        known.contains(&name)
    })
}

fn is_cluster_with(argument: &str, letter: char) -> bool {
    argument.starts_with('-') && !argument.starts_with("--") && argument.contains(letter)
}

/// The options before the command that start no program.
const GLOBAL: [&str; 6] =
    ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--bare"];

/// The commands that only inspect, whatever their operands are. Commands that ask a remote are not included, because
/// the address of a remote can name a program to start.
const READING: [&str; 28] = [
    "annotate", "blame", "cat-file", "check-attr", "check-ignore", "check-ref-format", "cherry",
    "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref", "log",
    "ls-files", "ls-tree", "merge-base", "name-rev", "range-diff", "rev-list", "rev-parse", "shortlog",
    "show", "show-branch", "show-ref", "status", "whatchanged",
];

/// The options that write a file, or start a program that the repository or the user has configured.
const REFUSED: [&str; 5] = ["output", "ext-diff", "textconv", "filters", "open-files-in-pager"];

const LISTING_BRANCHES: [&str; 14] = [
    "-a", "-r", "-v", "-vv", "-l", "--all", "--list", "--remotes", "--verbose", "--show-current", "--merged",
    "--no-merged", "--sort", "--format",
];

const LISTING_TAGS: [&str; 6] = ["-l", "--list", "--sort", "--format", "--merged", "--no-merged"];
