//! The check that a command line only reads, by the lines `reads PROGRAM` of the table. Every word has to be literal.

use crate::Finding;
use crate::path::ProtectedPaths;
use crate::shell::read;
use crate::shell::syntax::{Body, Part, Script, Word};
use crate::validator::readonly::writes;

use super::super::{Arg, Call, Danger, Files, Flow, refuse, refuse_if};
use super::{Kind, Reading, TABLE, Trait, check_value};

/// Checks that every command of a command line only reads.
pub(in crate::validator) fn check_line_reads(line: &str) -> Result<(), Finding> {
    for command in literal_commands(line)? {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        check_command_reads(&words)?;
    }
    Ok(())
}

/// Returns the commands of `line`, each as the words that its program gets.
///
/// # Errors
/// Fails with `undecidable` if a word is computed, a command depends on a condition that hides it, or the line cannot
/// be read; fails with `writes` if a command writes to a file.
fn literal_commands(line: &str) -> Result<Vec<Vec<String>>, Finding> {
    let reading = read(line);
    refuse_if(reading.flaw.is_some(), Danger::Undecidable)?;
    let mut commands = Vec::new();
    of_script(&reading.script, &mut commands)?;
    Ok(commands)
}

/// Adds the commands of `script`, each as the words that its program gets. Patterns of paths stay as they are written.
fn of_script(script: &Script, commands: &mut Vec<Vec<String>>) -> Result<(), Finding> {
    for stage in script.pipelines.iter().flat_map(|pipeline| &pipeline.stages) {
        for redirect in &stage.redirects {
            let target = literal(&redirect.target);
            if redirect.direction.writes() && target.as_deref() != Some("/dev/null") {
                return Err(writes("write nothing to a file here: leave out the redirection"));
            }
        }
        match &stage.body {
            Body::Simple(simple) if simple.assignments.is_empty() => {
                let words: Option<Vec<String>> = simple.words.iter().map(literal).collect();
                commands.push(words.ok_or_else(|| refuse(Danger::Undecidable))?);
            }
            Body::Group(script) => of_script(script, commands)?,
            _ => return Err(refuse(Danger::Undecidable)),
        }
    }
    Ok(())
}

fn literal(word: &Word) -> Option<String> {
    let computed = |part: &Part| match part {
        Part::Bare(text) => text.contains('{'),
        Part::Ansi { .. } => true,
        _ => false,
    };
    word.text().filter(|_| !word.parts.iter().any(computed))
}

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
    let call = Call { program: name, head: program, args: &args, input: &input, files };
    // A script in an option takes the place of the first operand.
    let scripted = reading.values(Kind::Sed).next().is_some();
    if reading.facts.first == Some(Kind::Sed) && !scripted && reading.operands.is_empty() {
        return Err(unknown(name));
    }
    let operands = reading.kinds().filter(|(_, kind)| !scripted || *kind != Some(Kind::Sed));
    let values = reading.given.iter().map(|given| (&given.value, Some(given.kind)));
    for (value, kind) in operands.chain(values) {
        let judged = kind.map_or(Ok(()), |kind| check_value(&call, kind, &value.text));
        judged.map_err(|_| unknown(&value.text))?;
    }
    Ok(())
}

fn unknown(part: &str) -> Finding {
    let shown: String = part.chars().take(40).collect();
    writes(format!(
        "nothing says that {shown} only reads: leave it out, or use what does, like cat, grep or ls"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_line_are_found_with_their_words() {
        let commands =
            literal_commands(r#"git log --grep "a b" | head -n 3; (ls 'x y' && wc -l) 2> /dev/null"#)
                .unwrap();
        assert_eq!(
            commands,
            [
                vec!["git", "log", "--grep", "a b"],
                vec!["head", "-n", "3"],
                vec!["ls", "x y"],
                vec!["wc", "-l"]
            ]
        );
    }

    #[test]
    fn what_is_computed_or_written_is_refused() {
        for line in [
            "$CMD x", "ls $(cat x)", "A=1 ls", "cat {a,b}", "for f in *; do cat $f; done", "cat <(ls)",
            "ls 'x",
        ] {
            assert!(literal_commands(line).is_err(), "{line}");
        }
        for line in ["cat a > b", "cat a 1<> b"] {
            assert_eq!(literal_commands(line).unwrap_err().rule, "writes", "{line}");
        }
    }
}
