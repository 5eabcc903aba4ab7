//! The check that a command only reads, by the lines `reads PROGRAM` of the table.

use crate::Finding;
use crate::validator::path::ProtectedPaths;

use super::super::argv::call::Call;
use super::super::argv::files::Files;
use super::super::value::{Arg, Flow};
use super::{Kind, Reading, TABLE, Trait, check_value};

/// Checks that a command, split into its words, only reads: its program and all its arguments must be known to read.
///
/// The words are those that the program receives; the operators of the shell must have been removed before. A program
/// that starts another one, such as `env`, `xargs` or `sudo`, does not count as reading.
pub(in crate::validator) fn check_command_reads(words: &[&str]) -> Result<(), Finding> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(writes("there is no command: name a program that reads"));
    };
    let (directory, name) = program.rsplit_once('/').unwrap_or(("/bin", program));
    if !matches!(directory, "/bin" | "/usr/bin") {
        return Err(writes("the program is not one of the system's: name it without its directory"));
    }
    let facts = TABLE.reading.get(name).ok_or_else(|| unknown(name))?;
    let args: Vec<Arg> = arguments.iter().copied().map(Arg::new).collect();
    let reading = Reading::by(facts, &args, true);
    let refused = reading.refused_though_asked().is_some();
    if refused || !(reading.facts.has(Trait::Any) || reading.facts.has(Trait::Plain)) {
        return Err(unknown(&words.join(" ")));
    }
    let (input, protected) = (Flow::default(), ProtectedPaths::default());
    let files = Files { protected: &protected, directory: "" };
    let call = Call { program: name, head: program, args: &args, input: &input, directory: "", files };
    // A script in an option takes the place of the first operand.
    let scripted = reading.values(Kind::Sed).next().is_some();
    if reading.facts.first == Some(Kind::Sed) && !scripted && reading.operands.is_empty() {
        return Err(unknown(name));
    }
    let operands = reading.kinds().filter(|(_, kind)| !scripted || *kind != Some(Kind::Sed));
    let values = reading.given.iter().map(|given| (&given.value, Some(given.kind)));
    for (value, kind) in operands.chain(values) {
        kind.map_or(Ok(()), |kind| check_value(&call, kind, &value.text))
            .map_err(|_| unknown(&value.text))?;
    }
    Ok(())
}

fn writes(message: impl Into<std::borrow::Cow<'static, str>>) -> Finding {
    Finding::new("writes", message)
}

fn unknown(part: &str) -> Finding {
    let shown: String = part.chars().take(40).collect();
    writes(format!(
        "nothing says that {shown} only reads: leave it out, or use what does, like cat, grep or ls"
    ))
}
