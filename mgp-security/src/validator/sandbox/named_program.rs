//! The rules about values that name one program, such as an editor, a pager or a compiler.

use super::argv::Call;
use super::known::{Kind, Reading, Trait, facts, is_shell};
use super::unwrap::{command_name, command_separators, is_for_everybody};
use super::value::{Arg, Flow, HOLE};

/// Returns whether `value` is an ordinary choice of an editor, a pager or a compiler: one program of the system or of a
/// package that is no shell, does not talk to other machines and takes no code.
pub(super) fn is_plain(call: &Call<'_>, value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() || value.chars().all(|c| c == HOLE) {
        return true;
    }
    // A list is one way to write the words of a command.
    if command_separators(value) || value.contains(HOLE) || value.starts_with(['[', '!', '(']) {
        return false;
    }
    let mut words = value.split_whitespace().map(|word| Arg::new(word.trim_matches(['"', '\''])));
    let Some(first) = words.next() else { return true };
    let name = command_name(&first.text).to_ascii_lowercase();
    let args: Vec<Arg> = words.collect();
    let known = facts(&name);
    let talks =
        known.is_some_and(|facts| facts.has(Trait::Client)) && !matches!(name.as_str(), "ssh" | "plink");
    let placed = first.text.contains('/')
        && (is_for_everybody(call, &first.text) || known.is_none() && !call.place(&first.text).is_system());
    let alone = args.iter().all(Arg::is_option);
    !is_shell(&name)
        && !talks
        && !placed
        && !takes_code(call, &name, &args)
        && (known.is_some() || alone || !first.text.contains('/'))
}

/// Returns whether the program deletes, or is an interpreter that is given code or a file of code.
fn takes_code(call: &Call<'_>, name: &str, args: &[Arg]) -> bool {
    if matches!(name, "rm" | "shred" | "dd" | "eval" | "source") {
        return true;
    }
    let input = Flow::default();
    let inner = Call { program: name, head: name, args, input: &input, ..*call };
    Reading::of(&inner).is_some_and(|reading| {
        reading.values(Kind::Code).chain(reading.values(Kind::Script)).next().is_some()
            || reading.kinds().any(|(_, kind)| matches!(kind, Some(Kind::Code | Kind::Script)))
            || reading.refused().is_some()
    })
}
