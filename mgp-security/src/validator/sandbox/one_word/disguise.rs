//! The detection of disguised commands, of shells that are given their commands, and of options that run something in
//! places where a file or a name is expected.

use std::sync::LazyLock;

use regex::Regex;

use crate::Finding;

use super::super::finding::{REFUSE_OPTION, refuse};
use super::super::known::is_listed;
use super::super::pattern;
use super::super::place::Place;
use super::evidence::kind_of;

/// Returns whether `text` begins with the name of a program in pieces: `w\hoami`, `c""at`, `cat$u`, `/bin/c?t -x`.
pub(super) fn begins_disguised(text: &str) -> bool {
    let end = text.find(|c: char| c.is_whitespace() || ";|&<>()".contains(c)).unwrap_or(text.len());
    let (token, rest) = text.split_at(end);
    if token.len() > MAX_TOKEN {
        return false;
    }
    let program = token.starts_with("/bin/") || token.starts_with("/usr/bin/") || token.starts_with("/sbin/");
    if program && token.contains(['?', '*', '[']) && !rest.trim().is_empty() {
        return true;
    }
    if let Some((name, variable)) = token.split_once('$') {
        let plain = variable.bytes().all(|b| b.is_ascii_alphanumeric() || b"_@*!?".contains(&b));
        return plain && !variable.is_empty() && rest.starts_with([' ', '\t']) && kind_of(name).is_some();
    }
    let inner = token.trim_matches(['\'', '"', '\\']);
    let joined: String = inner.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    joined.len() < inner.len() && !inner.contains(":\\") && kind_of(&joined).is_some() && {
        // The last name of a Windows path is not a disguised program.
        !inner.contains('\\') || inner.rsplit('\\').next().is_none_or(|last| kind_of(last).is_none())
    }
}

/// Returns whether the text contains carets between letters, or parts cut out of variables, which cmd.exe joins to a
/// command.
pub(super) fn is_cut_for_windows(text: &str) -> bool {
    text.contains('^') && CARETS.is_match(text) || text.contains(":~") && SUBSTRING.is_match(text)
}

/// Returns whether the text is a shell or an interpreter with its option for commands, or shows a file of the system.
pub(super) fn is_ready_to_run(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    let name = first.rsplit(['/', '\\']).next().unwrap_or("").to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let next = words.next().unwrap_or("").to_ascii_lowercase();
    match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "csh" | "tcsh" => {
            matches!(next.as_str(), "-c" | "-i" | "-ic" | "-ci" | "-lc" | "-p")
        }
        "python" | "python3" | "perl" | "ruby" | "node" | "php" | "lua" => {
            matches!(next.as_str(), "-c" | "-e" | "-r") && text.contains(['\'', '"', '('])
        }
        "cmd" => matches!(next.as_str(), "/c" | "/k" | "/r" | "/q"),
        "powershell" | "pwsh" => {
            next.starts_with('-') && next.len() > 1 && next.as_bytes()[1].is_ascii_alphabetic()
        }
        "cat" | "head" | "tail" | "less" | "more" | "nl" | "tac" | "type" => {
            let shown =
                next.starts_with("/etc/") || next.starts_with("/proc/") || next.starts_with("/var/log/");
            shown && words.next().is_none() && first.starts_with(|c: char| c.is_ascii_lowercase() || c == '/')
        }
        _ => false,
    }
}

/// Returns whether the text is a spreadsheet formula that starts a program when the file is opened.
pub(super) fn is_formula(text: &str) -> bool {
    text.trim_start().starts_with(['=', '+', '-', '@']) && FORMULA.is_match(text)
}

/// The largest length in bytes of a name in pieces; longer names are not program names.
const MAX_TOKEN: usize = 64;

static CARETS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^@?(?:\^[a-z]){3}|(?:[a-z]\^){3,}[a-z]|(?:^|[&|;\s])@?\^?[a-z]+\^[a-z]+\^[a-z]|(?:^|\s)\^[&|][a-z&|]|\^[&|]\^[&|]",
    )
});

static SUBSTRING: LazyLock<Regex> = LazyLock::new(|| pattern(r"%\w+:~-?\d"));

static FORMULA: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:cmd|powershell|msexcel|mshta|rundll32|regsvr32)\|\s*'|\bDDE\s*\("));

/// Refuses a value that a program would take for an option that runs something.
pub(super) fn check_option(text: &str) -> Result<(), Finding> {
    if !text.starts_with(['-', '+']) {
        return Ok(());
    }
    let lower = text.to_ascii_lowercase();
    let spaced = ["-exec ", "-execdir "].iter().any(|option| lower.starts_with(option));
    if spaced || is_listed("running-options", &lower.replacen("-o ", "-o", 1)) {
        return Err(refuse(REFUSE_OPTION));
    }
    if text.starts_with('-')
        && let Some((_, path)) = text.split_once('/')
        && text.split('/').next().is_some_and(|flag| flag.len() == 2)
        && SHELLS.iter().any(|shell| path.rsplit('/').next() == Some(*shell))
    {
        return Err(refuse(REFUSE_OPTION));
    }
    // The value of such an option is not for callers to choose: `-rf /`, `-T /etc/passwd`.
    if text.split_whitespace().skip(1).any(|value| value.starts_with(['/', '~']) && is_sensitive(value)) {
        return Err(refuse(REFUSE_OPTION));
    }
    // A short option can have a command for a value, as in `-o|program`.
    let value = text.trim_start_matches(|c: char| c == '-' || c.is_alphanumeric());
    if value.trim_start_matches(['=', ' ', '\'', '"']).starts_with(['|', '!', '`']) {
        return Err(refuse(REFUSE_OPTION));
    }
    Ok(())
}

fn is_sensitive(path: &str) -> bool {
    let place = Place::new(path, "");
    place.is_vast() || place.is_secret() || place.is_accounts()
}

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "cmd.exe"];
