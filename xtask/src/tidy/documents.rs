//! The documents that describe the code: the files and types that they name exist.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::workspace::Workspace;

/// Names the files and types that the documents name and that do not exist.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let files = workspace.files()?;
    let mut words = HashSet::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(workspace.root.join(file)).unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        words.extend(
            code.flat_map(|line| line.split(is_between)).filter(|word| is_type(word)).map(str::to_owned),
        );
    }
    let mut faults = Vec::new();
    for document in DOCUMENTS {
        let text = fs::read_to_string(workspace.root.join(document))?;
        faults.extend(unknown(&text, &files, &words).map(|(line, name)| {
            format!("{document}:{line}: there is no `{name}`; write the name that the code has now")
        }));
    }
    Ok(faults)
}

/// Returns the names in `text` that no file and no type has, each with the number of its line.
fn unknown<'t>(
    text: &'t str,
    files: &[PathBuf],
    words: &HashSet<String>,
) -> impl Iterator<Item = (usize, &'t str)> {
    let named = text
        .lines()
        .zip(1..)
        .flat_map(|(line, number)| line.split('`').skip(1).step_by(2).map(move |name| (number, name)));
    named.filter(|(_, name)| {
        if is_path(name) {
            !files.iter().any(|file| file.ends_with(name))
        } else {
            is_type(name) && !words.contains(*name)
        }
    })
}

/// Returns whether a name is that of a file of code or data, with the folder it lies in.
fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let is_code = Path::new(name).extension().is_some_and(|ending| ending == "rs" || ending == "txt");
    is_plain && name.contains('/') && is_code
}

/// Returns whether a name is written like that of a type: `CallRecord`, not `MGP` or `If`.
fn is_type(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && name.chars().skip(1).filter(char::is_ascii_uppercase).count() > 0
        && name.contains(|c: char| c.is_ascii_lowercase())
}

fn is_between(character: char) -> bool {
    !character.is_ascii_alphanumeric()
}

/// The documents that are held to the code.
const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_code_does_not_have_is_found() {
        let files = [PathBuf::from("mgp-kernel/src/call/resolve.rs")];
        let words = HashSet::from(["CallRecord".to_owned()]);
        let text = "`CallRecord` (`call/resolve.rs`)\n`CallTrail`, `MGP`, `None` and `call/trail.rs`\n";
        let found: Vec<_> = unknown(text, &files, &words).collect();
        assert_eq!(found, [(2, "CallTrail"), (2, "call/trail.rs")]);
    }
}
