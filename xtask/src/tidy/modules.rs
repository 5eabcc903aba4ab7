//! The modules: a file of Rust code that no other file declares is compiled by nobody and goes stale unseen.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::crates::{EXAMPLES, PARTS};
use crate::workspace::Workspace;

/// Names the files that no `mod` declares.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let mut sources = HashMap::new();
    for file in workspace.files()? {
        if file.extension().is_some_and(|extension| extension == "rs")
            && let Ok(text) = fs::read_to_string(workspace.root.join(&file))
        {
            sources.insert(file, text);
        }
    }
    Ok(undeclared(&sources))
}

fn undeclared(sources: &HashMap<PathBuf, String>) -> Vec<String> {
    let placed: HashSet<&str> = sources.values().flat_map(|text| placed_files(text)).collect();
    let mut faults: Vec<String> = sources
        .keys()
        .filter(|file| !is_root(file) && !ends_with_any(file, &placed))
        .filter(|file| {
            let (folder, parents) = (folder_of(file), parents(file));
            !sources.iter().any(|(other, text)| {
                // Each file beside `tests/support` is the root of a crate, and any of them may declare it.
                let may_declare = parents.contains(other) || is_root(other) && other.parent() == Some(folder);
                may_declare && declares(text, &module_name(file))
            })
        })
        .map(|file| format!("{}: no file declares it as a module; declare it or remove it", file.display()))
        .collect();
    faults.sort();
    faults
}

/// Returns the path of a file that lies in an example crate, or in a part of the kernel, from the folder that holds these
/// crates, and of others their own.
fn in_crate(file: &Path) -> &Path {
    let of_example = file.strip_prefix(EXAMPLES).ok().filter(|path| path.components().count() > 1);
    let of_part = file.strip_prefix(PARTS).ok().filter(|path| !OWN.iter().any(|own| path.starts_with(own)));
    of_example.or(of_part).unwrap_or(file)
}

/// The folders of the kernel's own crate.
const OWN: [&str; 4] = ["src", "tests", "examples", "benches"];

/// Says whether cargo compiles a file by itself: as the root of a library, a program, a test, an example, a bench or a build script.
fn is_root(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    name == "lib.rs"
        || name == "main.rs"
        || name == "build.rs"
        || in_crate(file).components().count() == 3
            && ["tests", "examples", "benches"].iter().any(|roots| folder == *roots)
        || file.parent().is_some_and(|folder| folder.ends_with("src/bin"))
}

/// Returns the files that may declare this one: those that stand for its folder.
fn parents(file: &Path) -> Vec<PathBuf> {
    let folder = folder_of(file);
    let mut parents = vec![folder.with_extension("rs")];
    parents.extend(["mod.rs", "lib.rs", "main.rs"].map(|name| folder.join(name)));
    parents
}

/// Returns the folder in which a module stands, as one file or as a folder with a `mod.rs`.
fn folder_of(file: &Path) -> &Path {
    let of = if file.ends_with("mod.rs") { file.parent().unwrap_or(file) } else { file };
    of.parent().unwrap_or_else(|| Path::new(""))
}

fn module_name(file: &Path) -> String {
    let of = if file.ends_with("mod.rs") { file.parent().unwrap_or(file) } else { file };
    of.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn declares(text: &str, module: &str) -> bool {
    text.lines().any(|line| {
        line.trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_prefix(module))
            .is_some_and(|rest| rest.starts_with(';') || rest.starts_with(" {"))
    })
}

/// Returns the paths that `#[path = "…"]` names, on all systems or on some.
fn placed_files(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let attribute = line.trim_start().strip_prefix("#[")?;
        let path = attribute.split_once("path = \"")?.1.split('"').next()?;
        Some(path.trim_start_matches("../").trim_start_matches("./"))
    })
}

fn ends_with_any(file: &Path, placed: &HashSet<&str>) -> bool {
    placed.iter().any(|path| file.ends_with(path.rsplit("../").next().unwrap_or(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(sources: &[(&str, &str)]) -> Vec<String> {
        undeclared(&sources.iter().map(|(file, text)| (file.into(), (*text).to_owned())).collect())
    }

    #[test]
    fn a_file_that_no_module_declares_is_named() {
        let faults = faults_of(&[
            ("a/src/lib.rs", "mod tool;\npub mod other;"),
            ("a/src/tool/mod.rs", "mod derive;\n"),
            ("a/src/tool/derive.rs", "#[cfg(test)]\nmod tests;\n"),
            ("a/src/tool/derive/tests.rs", ""),
            ("a/src/tool/profile.rs", ""),
            ("a/src/other.rs", ""),
        ]);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("a/src/tool/profile.rs: "), "{faults:?}");
    }

    #[test]
    fn any_test_beside_a_shared_folder_may_declare_it() {
        let faults = faults_of(&[
            ("a/tests/one.rs", ""),
            ("a/tests/two.rs", "mod support;\n"),
            ("a/tests/support/mod.rs", ""),
        ]);
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn roots_and_files_that_a_path_names_are_no_faults() {
        let faults = faults_of(&[
            ("a/tests/one.rs", "#[path = \"../../b/tests/support/mod.rs\"]\nmod support;\n"),
            ("a/tests/two/main.rs", "mod part;\n"),
            ("a/tests/two/part.rs", ""),
            ("b/tests/support/mod.rs", ""),
            ("a/src/lib.rs", "#[cfg_attr(windows, path = \"system_windows.rs\")]\nmod system;\n"),
            ("a/src/system.rs", ""),
            ("a/src/system_windows.rs", ""),
            ("a/build.rs", ""),
            ("a/src/bin/tool.rs", ""),
        ]);
        assert_eq!(faults, Vec::<String>::new());
    }
}
