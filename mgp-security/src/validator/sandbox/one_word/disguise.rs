//! The detection of disguised commands, of shells that are given their commands, and of options that run something in
//! places where a file or a name is expected.

use crate::Finding;

use super::super::finding::{Danger, refuse_if};
use super::super::known::matched;
use super::super::lists::is_listed;
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

/// The largest length in bytes of a name in pieces; longer names are not program names.
const MAX_TOKEN: usize = 64;

/// Refuses a value that a program would take for an option that runs something.
pub(super) fn check_option(text: &str) -> Result<(), Finding> {
    if !text.starts_with(['-', '+']) {
        return Ok(());
    }
    let lower = text.to_ascii_lowercase();
    refuse_if(is_listed("running-options", &lower.replacen("-o ", "-o", 1)), Danger::OptionInjection)?;
    // The value of such an option is not for callers to choose: `-rf /`, `-T /etc/passwd`.
    refuse_if(
        text.split_whitespace().skip(1).any(|value| value.starts_with(['/', '~']) && is_sensitive(value)),
        Danger::OptionInjection,
    )?;
    matched("option", text)
}

fn is_sensitive(path: &str) -> bool {
    let place = Place::new(path, "");
    place.is_vast() || place.is_secret() || place.is_accounts()
}
