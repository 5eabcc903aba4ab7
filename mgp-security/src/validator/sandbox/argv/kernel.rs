//! The rules about power: that of the kernel itself, with the decisions of its operators, its files, its sockets and its
//! process, and that over the system.

use regex::RegexBuilder;

use crate::Finding;

use super::super::{
    Danger, Kind, Marks, Reading, Trait, facts, is_bare_shell, is_listed, refuse_if, stranger,
};
use super::Call;

pub(super) fn check(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
    refuse_if(call.args.iter().any(|arg| is_own_file(&arg.text)) && !speaks_only(reading), Danger::Decision)?;
    let Some(reading) = reading else { return Ok(()) };
    let decides = reading.program.has(Trait::Decides) && !only_shows(call, reading)
        // The arguments behind `--` go to the program that cargo builds.
        || call.program == "cargo" && stranger::decides(call.halves().1);
    let ended = |arg: &super::Arg| arg.marks.has(Marks::KERNEL) || fits_kernel(&arg.text);
    let ends = reading.program.has(Trait::Ends) && call.operands().any(ended);
    refuse_if(decides || ends, Danger::Decision)
}

/// Returns whether a program of the kernel is called in a way that changes nothing.
fn only_shows(call: &Call<'_>, reading: &Reading<'_>) -> bool {
    let asks = call.args.iter().any(|arg| matches!(arg.text.as_str(), "--help" | "-h" | "--version" | "-V"));
    asks || call.args.is_empty() || reading.facts.every == Some(Kind::Text)
}

/// Returns whether the arguments are texts, or only names of files.
fn speaks_only(reading: Option<&Reading<'_>>) -> bool {
    reading.is_some_and(|reading| {
        [reading.program, reading.facts].iter().any(|facts| facts.has(Trait::Texts))
            || matches!(reading.facts.every, Some(Kind::Text)) && !reading.program.has(Trait::Client)
    })
}

/// Returns whether `text` names the process of the kernel.
pub(in super::super) fn is_named(text: &str) -> bool {
    // A pattern such as `[m]gp` is used so that it does not match its own process.
    let plain: String = text.chars().filter(|c| !matches!(c, '[' | ']')).collect();
    plain.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "mgp")
}

/// Returns whether a pattern of process names matches the kernel.
fn fits_kernel(pattern: &str) -> bool {
    if is_named(pattern) {
        return true;
    }
    let built = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
    pattern.len() <= MAX_PATTERN
        && built.is_ok_and(|built| built.is_match("mgp") || built.is_match("mgp serve"))
}

/// Returns whether `text` contains the path of a file that only the kernel and its operators touch.
pub(in super::super) fn is_own_file(text: &str) -> bool {
    let mut pieces = text.split(|c: char| c.is_whitespace() || "=:,@'\"()<>;".contains(c));
    pieces.any(|piece| is_listed("kernel-files", piece.rsplit(['/', '\\']).next().unwrap_or("")))
}

/// Judges whether a call gains privileges: by the shell of another user, or by a socket that controls the system.
pub(super) fn check_privileges(call: &Call<'_>) -> Result<(), Finding> {
    let gains = match call.program {
        // With other options, these programs enter what the table says. Without a command, they start a shell of
        // another user.
        "sudo" | "doas" | "run0" | "pkexec" | "runuser" => enters_shell(call),
        program => !only_names(program) && reaches_control(call),
    };
    refuse_if(gains, Danger::Privilege)
}

/// Returns whether an argument names the socket of a service that gives its clients the rights of root.
fn reaches_control(call: &Call<'_>) -> bool {
    let names = |text: &str| {
        text.split(['=', ':', ',', ' ', '/', '"', '\'', ')']).any(|piece| is_listed("sockets", piece))
    };
    call.args.iter().any(|arg| names(&arg.text))
}

fn only_names(program: &str) -> bool {
    facts(program).is_some_and(|facts| facts.has(Trait::Looks) || facts.has(Trait::Texts))
        || matches!(program, "grep" | "rg")
}

/// Returns whether the call starts a shell of another user, without a written command for it to run.
fn enters_shell(call: &Call<'_>) -> bool {
    let Some(reading) = Reading::of(call) else { return false };
    match reading.command {
        Some((command, _)) => {
            let words: Vec<&str> = command.iter().map(|arg| arg.text.as_str()).collect();
            is_bare_shell(&words.join(" ")) && !call.input.is_fed()
        }
        None => call.program == "run0" && call.args.is_empty(),
    }
}

const MAX_PATTERN: usize = 256;
const MAX_PATTERN_BYTES: usize = 1 << 16;
