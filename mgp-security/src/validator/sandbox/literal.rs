//! The commands of a line in which every word is literal, for checks that have to know all commands.

use crate::Finding;
use crate::shell::read;
use crate::shell::syntax::{Body, Direction, Part, Script, Word};

use super::finding::{Danger, refuse, refuse_if};

/// Returns the commands of `line`, each as the words that its program gets. Patterns of paths stay as they are written.
///
/// # Errors
/// Fails with `undecidable` if a word is computed, a command depends on a condition that hides it, or the line cannot
/// be read; fails with `writes` if a command writes to a file.
pub(crate) fn literal_commands(line: &str) -> Result<Vec<Vec<String>>, Finding> {
    let reading = read(line);
    refuse_if(reading.flaw.is_some(), Danger::Undecidable)?;
    let mut commands = Vec::new();
    of_script(&reading.script, &mut commands)?;
    Ok(commands)
}

fn of_script(script: &Script, commands: &mut Vec<Vec<String>>) -> Result<(), Finding> {
    for stage in script.pipelines.iter().flat_map(|pipeline| &pipeline.stages) {
        for redirect in &stage.redirects {
            let target = literal(&redirect.target);
            if redirect.direction == Direction::Out && target.as_deref() != Some("/dev/null") {
                return Err(Finding::new(
                    "writes",
                    "write nothing to a file here: leave out the redirection",
                ));
            }
        }
        match &stage.body {
            Body::Simple(simple) if simple.assignments.is_empty() => {
                let words: Option<Vec<String>> = simple.words.iter().map(literal).collect();
                commands.push(words.ok_or_else(|| refuse(Danger::Undecidable))?);
            }
            Body::Group(scripts) => {
                scripts.iter().try_for_each(|script| of_script(script, commands))?;
            }
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
        assert_eq!(literal_commands("cat a > b").unwrap_err().rule, "writes");
    }
}
