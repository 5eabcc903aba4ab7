//! The crates that are linked into the programs of a target: their licences, and a bill of materials in CycloneDX.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs, iter,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{release::Release, targets::Target};
use crate::process;
use crate::workspace::{WITH_ALL_PARTS, Workspace};

/// The name and the version of a crate.
type CrateId = (String, String);

/// The crates of the programs of a target.
#[derive(Debug)]
pub(super) struct LinkedCrates {
    packages: BTreeMap<CrateId, Package>,
    uses: BTreeMap<CrateId, BTreeSet<CrateId>>,
    /// The SHA-256 of each crate as the registry has it.
    digests: BTreeMap<CrateId, String>,
}

/// The part of what `cargo metadata` prints that is read.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A crate as `cargo metadata` describes it.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for a crate of the workspace.
    source: Option<String>,
    manifest_path: PathBuf,
}

impl LinkedCrates {
    /// Asks cargo for the crates of the programs.
    pub(super) fn of(workspace: &Workspace, target: &Target) -> Result<Self> {
        let mut tree = workspace.cargo();
        tree.args(["tree", "--locked", "--target", &target.triple, "-p", "mgp-kernel", "-p", "mgp-patterns"]);
        tree.args([
            WITH_ALL_PARTS, "--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", "|{p}",
        ]);
        let uses = uses(&process::output(&mut tree)?)?;
        let mut metadata = workspace.cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", &target.triple]);
        metadata.arg(WITH_ALL_PARTS);
        let metadata: Metadata = serde_json::from_str(&process::output(&mut metadata)?)?;
        let packages = metadata.packages.into_iter().map(|p| ((p.name.clone(), p.version.clone()), p));
        let packages = packages.filter(|(id, _)| uses.contains_key(id)).collect();
        let lock = fs::read_to_string(workspace.root.join("Cargo.lock")).context("there is no Cargo.lock")?;
        Ok(Self { packages, uses, digests: digests(&lock) })
    }

    /// Returns the licences of all crates of others, each text once with the crates that have it.
    pub(super) fn licences(&self) -> Result<String> {
        let mut crates = String::new();
        let mut texts = BTreeMap::<String, Vec<String>>::new();
        for package in self.packages.values().filter(|package| package.source.is_some()) {
            let name = format!("{} {}", package.name, package.version);
            let _ = writeln!(crates, "{name}: {}", package.expression());
            let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
            for text in licence_files(folder)? {
                let owners = texts.entry(text).or_default();
                if owners.last() != Some(&name) {
                    owners.push(name.clone());
                }
            }
        }
        let mut all = format!("{}{crates}", include_str!("../../dist/linked-head.txt"));
        for (text, owners) in &texts {
            let _ = write!(all, "\n{}\n{}:\n\n{}\n", "=".repeat(80), owners.join(", "), text.trim_end());
        }
        Ok(all)
    }

    /// Returns the bill of materials in CycloneDX 1.5.
    pub(super) fn bill_of_materials(&self, release: &Release, target: &Target) -> String {
        let components: Vec<_> =
            self.packages.iter().map(|(id, package)| self.component(id, package)).collect();
        let uses = |id: String, used: Vec<String>| json!({ "ref": id, "dependsOn": used });
        let roots = self.uses.keys().filter(|(name, _)| ROOTS.contains(&name.as_str())).map(reference);
        let root = uses("mgp".to_owned(), roots.collect());
        let others =
            self.uses.iter().map(|(id, used)| uses(reference(id), used.iter().map(reference).collect()));
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "timestamp": release.date,
                "component": {
                    "type": "application",
                    "bom-ref": "mgp",
                    "name": "mgp",
                    "version": release.version,
                    "properties": [{ "name": "cdx:rustc:sbom:target:triple", "value": target.triple }],
                },
            },
            "components": components,
            "dependencies": iter::once(root).chain(others).collect::<Vec<_>>(),
        });
        format!("{bill:#}\n")
    }

    fn component(&self, id: &CrateId, package: &Package) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": reference(id),
            "name": package.name,
            "version": package.version,
            "licenses": [{ "expression": package.expression() }],
        });
        // Crates of the checkout are in no registry, and have no digest.
        if let Some(digest) = self.digests.get(id) {
            component["purl"] = reference(id).into();
            component["hashes"] = json!([{ "alg": "SHA-256", "content": digest }]);
        }
        component
    }
}

impl Package {
    /// Returns the licences as an expression of SPDX; old manifests have `/` in the place of `OR`.
    fn expression(&self) -> String {
        self.license.as_deref().unwrap_or("NOASSERTION").replace(" / ", "/").replace('/', " OR ")
    }
}

fn reference((name, version): &CrateId) -> String {
    // Addresses of packages have no plain `+`, which stands before what a version says of its build.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// Returns which crate uses which, from what `cargo tree` prints: a crate stands below the one that uses it, by a depth before
/// its name, and what it uses stands below the first place where it is named.
fn uses(tree: &str) -> Result<BTreeMap<CrateId, BTreeSet<CrateId>>> {
    let mut uses = BTreeMap::<_, BTreeSet<_>>::new();
    let mut above = Vec::<CrateId>::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (depth, package) = line.split_once('|').context("cargo tree prints no depth")?;
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let id = (name.to_owned(), version.trim_start_matches('v').to_owned());
        above.truncate(depth.parse().context("cargo tree prints a depth that is no number")?);
        if let Some(user) = above.last() {
            uses.entry(user.clone()).or_default().insert(id.clone());
        }
        uses.entry(id.clone()).or_default();
        above.push(id);
    }
    Ok(uses)
}

/// Returns the digests of crates that a lock file has.
fn digests(lock: &str) -> BTreeMap<CrateId, String> {
    let entries = lock.split("[[package]]").skip(1).filter_map(|entry| {
        let value = |name: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    entries.collect()
}

/// Returns the texts of the licence files of a crate, in the order of their names.
fn licence_files(folder: &Path) -> Result<Vec<String>> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in listed {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            paths.push(path);
        }
    }
    paths.sort();
    let texts = paths.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n")));
    texts.collect()
}

/// The crates of the workspace that have the programs.
const ROOTS: [&str; 2] = ["mgp-kernel", "mgp-patterns"];

/// How the names of licence files begin, in lower case.
const NAMES: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> CrateId {
        (name.to_owned(), "1.0.0".to_owned())
    }

    #[test]
    fn each_crate_has_those_that_stand_below_it() {
        let tree = "0|a v1.0.0 (/x)\n1|b v1.0.0\n2|c v1.0.0\n1|d v1.0.0\n2|b v1.0.0 (*)\n\n0|d v1.0.0 (*)\n";
        let uses = uses(tree).unwrap();
        assert_eq!(uses[&id("a")], BTreeSet::from([id("b"), id("d")]));
        assert_eq!(uses[&id("b")], BTreeSet::from([id("c")]));
        assert_eq!(uses[&id("d")], BTreeSet::from([id("b")]));
    }

    #[test]
    fn the_address_of_a_crate_has_its_version_with_the_mark_of_its_build() {
        let id = ("toml_parser".to_owned(), "1.1.3+spec-1.1.0".to_owned());
        assert_eq!(reference(&id), "pkg:cargo/toml_parser@1.1.3%2Bspec-1.1.0");
    }

    #[test]
    fn crates_of_a_registry_have_digests() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"1.0.0\"\ndependencies = [\n \"a\",\n]\n";
        assert_eq!(digests(lock), BTreeMap::from([(id("a"), "00ff".to_owned())]));
    }
}
