//! `cargo xtask package`: the packages of the crates that an index may have, and whether each builds from packages alone.
//!
//! `cargo package --workspace` makes them in the order of their dependencies, and lays those that it has made over the
//! index. So each is built as a user of the index would build it, and nothing is uploaded.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::{process, table::Table, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Make and check the packages without building them
    #[arg(long)]
    no_verify: bool,
    /// List names, versions, sizes and numbers of files, and check nothing
    #[arg(long)]
    list: bool,
}

/// Packages the crates, and fails with all that is wrong with them.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let metadata = ["metadata", "--format-version", "1", "--no-deps"];
    let metadata: Value = serde_json::from_str(&process::output(workspace.cargo().args(metadata))?)
        .context("cargo metadata wrote JSON of an unknown form")?;
    let members = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    // `publish` is the list of the indexes that may have the crate, or null for all of them.
    let (published, private): (Vec<_>, Vec<_>) =
        members.iter().partition(|member| member["publish"].is_null());

    let mut cargo = workspace.cargo();
    cargo.args(["package", "--workspace", "--allow-dirty"]);
    cargo.args(private.iter().flat_map(|member| ["--exclude", text(member, "name")]));
    if args.list || args.no_verify {
        process::run_quietly(cargo.arg("--no-verify"))?;
    } else {
        // As docs.rs does.
        process::run(cargo.arg("--all-features"))?;
    }

    let mut table = Table::new(["crate", "version", "KiB", "files"]);
    let mut faults = Vec::new();
    for member in published {
        let (name, version) = (text(member, "name"), text(member, "version"));
        let file = workspace.target.join("package").join(format!("{name}-{version}.crate"));
        let package = CratePackage::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let kib = package.bytes.div_ceil(1024).to_string();
        table.row([name.to_owned(), version.to_owned(), kib, package.files.len().to_string()]);
        let found = manifest_faults(member).into_iter().chain(package.faults(&workspace.root));
        faults.extend(found.map(|fault| format!("{name}: {fault}")));
    }
    print!("{table}");
    if !args.list && !faults.is_empty() {
        bail!("the packages are not fit for an index:\n{}", faults.join("\n"));
    }
    Ok(())
}

fn text<'a>(member: &'a Value, key: &str) -> &'a str {
    member[key].as_str().unwrap_or_default()
}

/// Says what the manifest of a crate lacks for a page on an index.
fn manifest_faults(member: &Value) -> Vec<String> {
    let lacking = TEXTS.iter().filter(|key| text(member, key).is_empty());
    let mut faults: Vec<_> =
        lacking.map(|key| format!("add `{}` to its Cargo.toml", key.replace('_', "-"))).collect();
    for (key, known) in [("keywords", None), ("categories", Some(&CATEGORIES[..]))] {
        let words: Vec<_> = member[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !(1..=5).contains(&words.len()) {
            faults.push(format!("give it one to five `{key}` in its Cargo.toml"));
        }
        let unknown = words.iter().filter(|word| known.is_some_and(|known| !known.contains(word)));
        faults.extend(unknown.map(|word| {
            format!("`{word}` is not among `CATEGORIES` in xtask/src/package.rs: choose one, or add the slug")
        }));
    }
    if member["metadata"]["docs"]["rs"]["all-features"] != true {
        faults.push("add `[package.metadata.docs.rs]` with `all-features = true` to its Cargo.toml".into());
    }
    faults
}

/// A package as cargo wrote it.
struct CratePackage {
    /// The size of the packed file.
    bytes: u64,
    /// The content of each file, by its path in the crate.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl CratePackage {
    fn read(file: &Path) -> Result<Self> {
        let packed = fs::read(file)?;
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(GzDecoder::new(&packed[..])).entries()? {
            let mut entry = entry?;
            // The first part of the path is the name of the package.
            let path = entry.path()?.components().skip(1).collect();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            files.insert(path, content);
        }
        Ok(Self { bytes: packed.len() as u64, files })
    }

    /// Says what the package has too much of, lacks, or must not name.
    fn faults(&self, checkout: &Path) -> Vec<String> {
        let mut faults = Vec::new();
        if self.bytes > MAX_BYTES {
            faults.push(format!("{} bytes, {MAX_BYTES} at most: leave files out by `include`", self.bytes));
        }
        let lacking = REQUIRED.iter().filter(|file| !self.files.contains_key(Path::new(file)));
        faults.extend(lacking.map(|file| format!("link {file} of the workspace into the crate's folder")));
        let checkout = checkout.to_string_lossy();
        for (path, content) in &self.files {
            let (shown, content) = (path.display(), String::from_utf8_lossy(content));
            if content.contains(&*checkout) {
                faults.push(format!("{shown} names {checkout}: packages are read on other machines"));
            }
            if path.extension().is_some_and(|extension| extension == "rs") && !is_test(path) {
                let lacking = included(path, &content).filter(|data| !self.files.contains_key(data));
                faults.extend(lacking.map(|data| {
                    format!(
                        "{shown} reads {}, which is not in the package: move it into the crate",
                        data.display()
                    )
                }));
            }
        }
        faults
    }
}

/// Returns whether a file of a crate is compiled for its tests alone.
fn is_test(file: &Path) -> bool {
    file.with_extension("").iter().any(|part| part.to_string_lossy().ends_with("tests"))
}

/// Returns the files that a source reads while it is compiled, as paths in the crate. Those of its tests, which stand below
/// the rest, are left out.
fn included(source: &Path, text: &str) -> impl Iterator<Item = PathBuf> {
    let end = TESTS.iter().filter_map(|attribute| text.find(attribute)).min().unwrap_or(text.len());
    let literals = MACROS.iter().flat_map(move |name| text[..end].split(name).skip(1));
    literals.filter_map(|rest| rest.split('"').next()).map(|literal| {
        let mut path = PathBuf::new();
        for part in source.parent().unwrap_or(source).join(literal).components() {
            match part {
                // A path that leaves the crate keeps its `..`, and so is no file of the package.
                Component::ParentDir if path.file_name().is_some() => {
                    path.pop();
                }
                part => path.push(part),
            }
        }
        path
    })
}

/// The texts of a manifest that a page on an index shows.
const TEXTS: [&str; 4] = ["description", "license", "readme", "rust_version"];

/// The categories of our crates: an index refuses a slug that it does not know.
const CATEGORIES: [&str; 10] = [
    "api-bindings", "asynchronous", "authentication", "command-line-utilities", "config", "data-structures",
    "database", "encoding", "network-programming", "text-processing",
];

/// The files that each package has beside its sources.
const REQUIRED: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// How many bytes an index takes.
const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// The lines below which a source has only tests, or documents that are run as tests. The attribute alone stands at single
/// items and at tests in files of their own, too, with other code below.
const TESTS: [&str; 2] = ["#[cfg(test)]\nmod tests {", "#[cfg(doctest)]"];

/// Written in two halves, because this file is read like any other.
const MACROS: [&str; 2] = [concat!("include_", "str!(\""), concat!("include_", "bytes!(\"")];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member() -> Value {
        let mut member = json!({ "keywords": ["mcp"], "categories": ["config"] });
        member["metadata"]["docs"]["rs"]["all-features"] = true.into();
        for key in TEXTS {
            member[key] = "x".into();
        }
        member
    }

    fn package(files: &[(&str, &str)]) -> CratePackage {
        let files = files.iter().copied().chain(REQUIRED.map(|file| (file, "")));
        CratePackage { bytes: 1, files: files.map(|(path, text)| (path.into(), text.into())).collect() }
    }

    #[test]
    fn a_manifest_with_everything_has_no_fault() {
        assert_eq!(manifest_faults(&member()), Vec::<String>::new());
    }

    #[test]
    fn what_a_manifest_lacks_is_named() {
        for (key, value, fault) in [
            ("rust_version", Value::Null, "add `rust-version`"),
            ("readme", "".into(), "add `readme`"),
            ("keywords", json!([]), "one to five `keywords`"),
            ("keywords", json!(["a", "b", "c", "d", "e", "f"]), "one to five `keywords`"),
            ("categories", json!(["agents"]), "`agents` is not among"),
            ("metadata", Value::Null, "`all-features = true`"),
        ] {
            let mut member = member();
            member[key] = value;
            let faults = manifest_faults(&member);
            assert!(faults.len() == 1 && faults[0].contains(fault), "{key}: {faults:?}");
        }
    }

    #[test]
    fn a_package_has_what_its_sources_read() {
        let source = format!("{}../data/a.txt\")", MACROS[0]);
        let whole = package(&[("src/lib.rs", &source), ("data/a.txt", "")]);
        assert_eq!(whole.faults(Path::new("/checkout")), Vec::<String>::new());
        let faults = package(&[("src/lib.rs", &source)]).faults(Path::new("/checkout"));
        assert!(faults[0].contains("src/lib.rs reads data/a.txt"), "{faults:?}");
        let above = format!("{}../../data/a.txt\")", MACROS[1]);
        let faults = package(&[("src/lib.rs", &above), ("data/a.txt", "")]).faults(Path::new("/checkout"));
        assert!(faults[0].contains("src/lib.rs reads ../data/a.txt"), "{faults:?}");
    }

    #[test]
    fn what_only_tests_read_may_be_missing() {
        let read = format!("{}../../a.md\")", MACROS[0]);
        let below = format!("{}\nmod tests {{ {read} }}", TESTS[0]);
        let package =
            package(&[("src/lib.rs", &below), ("src/a/tests.rs", &read), ("src/tests/b.rs", &read)]);
        assert_eq!(package.faults(Path::new("/checkout")), Vec::<String>::new());
    }

    #[test]
    fn a_package_names_no_path_of_the_checkout_has_its_licences_and_is_not_too_large() {
        let mut package = package(&[("src/a.txt", "see /checkout/src/a.txt")]);
        package.files.remove(Path::new(REQUIRED[1]));
        package.bytes = MAX_BYTES + 1;
        let faults = package.faults(Path::new("/checkout"));
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].starts_with("10485761 bytes") && faults[1].contains("LICENSE-MIT"), "{faults:?}");
        assert!(faults[2].starts_with("src/a.txt names /checkout"), "{faults:?}");
    }
}
