//! The rules about work under version control that a command throws away.

use crate::Finding;

use super::super::finding::{REFUSE_LOST_WORK, refuse};
use super::Call;

/// Judges the commands of git that throw work away by more than one argument. The single options that do so are in the
/// table.
pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    if !matches!(call.program, "git" | "yadm" | "dotfiles") {
        return Ok(());
    }
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let Some(at) = words.iter().position(|word| VERBS.contains(word)) else { return Ok(()) };
    let (verb, rest) = (words[at], &words[at + 1..]);
    let any = |texts: &[&str]| rest.iter().any(|word| texts.contains(word));
    let cluster = |letter: char| {
        rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let everything = || any(&[".", ":/", "*", "./", ":"]);
    let lost = match verb {
        "checkout" => everything() || (any(&["--force"]) || cluster('f')),
        "restore" => everything() && (!any(&["--staged", "-S"]) || any(&["--worktree", "-W"])),
        "switch" => any(&["--discard-changes", "--force", "-f"]),
        "clean" => {
            cluster('x') && (cluster('f') || any(&["--force"])) && !cluster('n') && !any(&["--dry-run"])
        }
        "branch" => (cluster('D') || (any(&["--delete", "-d"]) && any(&["--force", "-f"]))) && any(&MAIN),
        "push" => {
            rest.iter().any(|word| {
                word.strip_prefix(['+', ':']).is_some_and(|name| !name.is_empty())
                    && word.len() > 1
                    && (word.starts_with('+') || MAIN.contains(&&word[1..]))
            }) || (any(&["--delete", "-d"]) && any(&MAIN))
        }
        "rm" => everything() && cluster('r') && !any(&["--cached"]),
        _ => false,
    };
    if lost { Err(refuse(REFUSE_LOST_WORK)) } else { Ok(()) }
}

const VERBS: [&str; 7] = ["checkout", "restore", "switch", "clean", "branch", "push", "rm"];

const MAIN: [&str; 5] = ["main", "master", "develop", "trunk", "production"];
