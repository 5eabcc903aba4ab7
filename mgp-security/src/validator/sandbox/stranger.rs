//! The rules about unknown programs: their arguments are judged as far as they can be a command or code.

use crate::Finding;
use crate::named::Named as _;

use super::{Arg, Call, Danger, Flow, Judge, begins_command, facts, interpreter, is_listed, refuse_if};

/// Judges the arguments of a program that the table does not know.
pub(super) fn check(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<(), Finding> {
    refuse_if(decides(call.args), Danger::Decision)?;
    for (at, arg) in call.args.iter().enumerate().take(MAX_ARGUMENTS) {
        let text = arg.text.as_str();
        let (name, attached) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if is_running(name) {
            let value = attached.or_else(|| call.args.get(at + 1).map(|next| next.text.as_str()));
            if let Some(value) = value {
                tolerate(judge.text(value, &Flow::default()))?;
                interpreter::scan(value)?;
            }
        } else if let Some(first) = text.split_whitespace().next().filter(|first| first.len() < text.len()) {
            if facts(first.rsplit('/').next().unwrap_or("")).is_some() {
                tolerate(judge.text(text, &Flow::default()))?;
            }
        } else if begins_command(call.args, at) && at + 1 < call.args.len() {
            let rest = &call.args[at..];
            tolerate(judge.deeper(|judge| judge.command(rest, &Flow::default())))?;
            return Ok(());
        }
    }
    Ok(())
}

/// Returns whether `args` begin with a command for the kernel's operators. A program with another name may be the
/// kernel's program too.
pub(super) fn decides(args: &[Arg]) -> bool {
    let mut words = args.iter().filter(|arg| !arg.is_option()).map(|arg| arg.text.as_str());
    let (Some(what), Some(how)) = (words.next(), words.next()) else { return false };
    is_listed("deciding", &format!("{what}:{how}"))
}

/// Turns an `undecidable` finding into a pass: a text that may not be a command at all often cannot be decided.
pub(super) fn tolerate(judged: Result<Flow, Finding>) -> Result<(), Finding> {
    match judged {
        Err(finding) if finding.rule != Danger::Undecidable.name() => Err(finding),
        _ => Ok(()),
    }
}

/// Returns whether an option with this name takes a command or code in most programs.
fn is_running(name: &str) -> bool {
    let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-').filter(|bare| bare.len() > 1));
    let Some(bare) = bare else { return matches!(name, "-e" | "-c" | "-x") };
    is_listed("running-names", &bare.to_ascii_lowercase())
}

const MAX_ARGUMENTS: usize = 64;
