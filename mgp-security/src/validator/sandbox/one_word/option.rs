//! The rules about options that run something, in places where a file or a name is expected.

use crate::Finding;

use super::super::finding::{REFUSE_OPTION, refuse};
use super::super::known::is_listed;
use super::super::place::Place;

/// Refuses a value that a program would take for such an option.
pub(super) fn check(text: &str) -> Result<(), Finding> {
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
