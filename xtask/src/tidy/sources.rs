//! The files: how long they are and what must not stand in them.

use std::{fs, path::Path};

use anyhow::Result;

use crate::workspace::Workspace;

/// Says what is wrong with the files of the project.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for file in workspace.files()? {
        let name = file.to_string_lossy().into_owned();
        if let Some(fault) = misplaced(&name) {
            faults.push(fault);
            continue;
        }
        // A file that is not text has neither lines nor words.
        let Ok(text) = fs::read_to_string(workspace.root.join(&file)) else { continue };
        faults.extend(content(&name, &text));
    }
    faults.extend(test_command(&workspace.root));
    Ok(faults)
}

/// Returns the reason why a file does not belong into the tree: package managers make such files anew where they are
/// needed.
fn misplaced(name: &str) -> Option<String> {
    let left_behind = name.contains("node_modules/")
        || name.contains("__pycache__/")
        || ["package-lock.json", "pnpm-lock.yaml", "yarn.lock"].iter().any(|lock| name.ends_with(lock));
    left_behind.then(|| format!("{name}: belongs under target/, not into the tree"))
}

fn content(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let rust = Path::new(name).extension().is_some_and(|e| e == "rs");
    let lines = text.lines().count();
    if rust && lines > MAX_LINES {
        faults.push(format!("{name}: {lines} lines; split it by idea, {MAX_LINES} at most"));
    }
    // Cargo.lock is cargo's own and names where packages come from.
    let everywhere = if name == "Cargo.lock" { &[][..] } else { &FORBIDDEN_EVERYWHERE[..] };
    let in_rust = if rust { &FORBIDDEN_IN_RUST[..] } else { &[][..] };
    // Code that judges paths has to name the paths that attacks are after.
    let judges = name.starts_with("mgp-security/src/") || name.starts_with("testdata/guard/");
    let homes = if judges { &[][..] } else { &HOMES[..] };
    for (number, line) in text.lines().enumerate() {
        for (word, reason) in everywhere.iter().chain(in_rust).chain(homes) {
            if line.contains(word) {
                faults.push(format!("{name}:{}: `{word}`: {reason}", number + 1));
            }
        }
    }
    faults
}

/// The README and `.ci/run` name the same command, so that what a reader runs is what is checked.
fn test_command(root: &Path) -> Vec<String> {
    ["README.md", ".ci/run"]
        .into_iter()
        .filter(|file| {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            !text.lines().any(|line| line.trim().starts_with(TEST_COMMAND))
        })
        .map(|file| format!("{file}: must have a line that begins with `{TEST_COMMAND}`"))
        .collect()
}

const MAX_LINES: usize = 500;

const TEST_COMMAND: &str = "cargo test --workspace";

/// Written in two halves, because this file is read like any other.
const FORBIDDEN_IN_RUST: [(&str, &str); 5] = [
    (concat!("to", "do!("), "finish it or leave it out"),
    (concat!("unimple", "mented!("), "finish it or leave it out"),
    (concat!("#[ig", "nore"), "a test runs or is not there"),
    (concat!("TO", "DO"), "open an issue instead"),
    (concat!("FIX", "ME"), "open an issue instead"),
];

const HOMES: [(&str, &str); 2] = [(concat!("/ho", "me/"), MACHINE), (concat!("/ro", "ot/"), MACHINE)];

const FORBIDDEN_EVERYWHERE: [(&str, &str); 8] = [
    (concat!("/wo", "rk/"), MACHINE),
    (concat!("/tmp", "/wt"), MACHINE),
    (concat!("registry.", "npmjs"), REGISTRY),
    (concat!("registry.", "yarnpkg"), REGISTRY),
    (concat!("python", "hosted"), REGISTRY),
    (concat!("pypi", ".org"), REGISTRY),
    (concat!("static.", "crates.io"), REGISTRY),
    (concat!("index.", "crates.io"), REGISTRY),
];

const MACHINE: &str = "a path of one machine";
const REGISTRY: &str = "package managers know their registries themselves";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_with_their_line() {
        let text = format!("fn f() {{\n    {}\n}}\n", FORBIDDEN_IN_RUST[0].0);
        assert!(content("a/src/b.rs", &text)[0].starts_with("a/src/b.rs:2: "));
        assert!(content("a/notes.md", &text).is_empty());
    }

    #[test]
    fn only_what_judges_paths_names_homes() {
        assert_eq!(content("a/src/b.rs", HOMES[0].0).len(), 1);
        assert!(content("mgp-security/src/b.rs", HOMES[0].0).is_empty());
    }

    #[test]
    fn only_the_lock_file_may_name_registries() {
        let text = format!("source = \"https://{}.io\"", FORBIDDEN_EVERYWHERE[2].0);
        assert!(content("Cargo.lock", &text).is_empty());
        assert_eq!(content("docs/a.md", &text).len(), 1);
    }

    #[test]
    fn long_files_are_named() {
        assert!(content("a.rs", &"\n".repeat(MAX_LINES)).is_empty());
        assert_eq!(content("a.rs", &"\n".repeat(MAX_LINES + 1)).len(), 1);
    }

    #[test]
    fn what_package_managers_leave_is_misplaced() {
        assert!(misplaced("xtask/interop/node_modules/x.js").is_some());
        assert!(misplaced("package-lock.json").is_some());
        assert!(misplaced("Cargo.lock").is_none());
    }
}
