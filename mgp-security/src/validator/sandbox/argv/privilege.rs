//! The rules about privileges: set-user-id bits, shells of other users, and sockets that control the system.

use crate::Finding;

use super::super::finding::{Danger, refuse_if};
use super::super::known::{Reading, Trait, facts};
use super::super::lists::is_listed;
use super::super::unwrap::is_bare_shell;
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
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
