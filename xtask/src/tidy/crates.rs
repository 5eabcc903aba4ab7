//! The crates: which there are, which may know which, and what each must have.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::workspace::{Package, Workspace};

/// Says what is wrong with the crates of the workspace.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for entry in fs::read_dir(&workspace.root)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.join("Cargo.toml").exists() && layer(&name).is_none() {
            faults.push(format!("{name}/: no crate of this name belongs to the workspace"));
        }
    }
    for package in workspace.members() {
        let inner = match layer(&package.name) {
            Some(Layer::Example) => Some(EXAMPLES),
            Some(Layer::Part | Layer::Core) => Some(PARTS),
            _ => None,
        };
        let name = if inner.is_some() {
            package.name.trim_start_matches("mgp-").trim_start_matches("kernel-")
        } else {
            &package.name
        };
        if package.folder() != workspace.root.join(inner.unwrap_or_default()).join(name) {
            faults.push(format!("{}: a crate lies in a top-level folder of its own name", package.name));
        }
        faults.extend(arrows(package));
        faults.extend(manifest(package)?);
        faults.extend(first_page(package)?);
    }
    let root = fs::read_to_string(workspace.root.join("Cargo.toml"))?;
    if !root.lines().any(|l| l == "unsafe_code = \"forbid\"") {
        faults.push("Cargo.toml: the workspace lints must say unsafe_code = \"forbid\"".into());
    }
    Ok(faults)
}

/// Every dependency points to a lower layer; only tests may also look sideways.
fn arrows(package: &Package) -> Vec<String> {
    let Some(own) = layer(&package.name) else { return Vec::new() };
    let mut faults = Vec::new();
    for dependency in &package.dependencies {
        let Some(other) = layer(&dependency.name) else { continue };
        let for_tests = dependency.kind.as_deref() == Some("dev");
        let allowed = match (own, other) {
            (Layer::Chores, _) | (_, Layer::Chores) => false,
            (Layer::Sdk, Layer::Sdk) | (_, Layer::Example) => for_tests,
            _ => other < own || (for_tests && dependency.name == package.name),
        };
        if !allowed {
            faults.push(format!(
                "{}: must not depend on {}, which is not in a lower layer (ARCHITECTURE.md, \"Crates\")",
                package.name, dependency.name
            ));
        }
    }
    faults
}

fn manifest(package: &Package) -> Result<Option<String>> {
    let text = read(&package.manifest_path)?;
    let lints =
        text.split("[lints]").nth(1).is_some_and(|rest| rest.trim_start().starts_with("workspace = true"));
    Ok((!lints).then(|| format!("{}/Cargo.toml: add `[lints]` with `workspace = true`", package.name)))
}

/// The first page of a crate says what it is for and shows it at work.
fn first_page(package: &Package) -> Result<Option<String>> {
    let library = package.folder().join("src/lib.rs");
    let page = if library.exists() { library } else { package.folder().join("src/main.rs") };
    let text = read(&page)?;
    let docs: Vec<_> = text.lines().take_while(|l| l.starts_with("//!")).collect();
    let shown = docs.iter().filter(|l| l.starts_with("//! ```")).count() >= 2;
    Ok((!shown)
        .then(|| format!("{}: begin with `//!` docs that hold a fenced example", short(package, &page))))
}

fn short(package: &Package, path: &Path) -> String {
    format!("{}/src/{}", package.name, path.file_name().unwrap_or_default().to_string_lossy())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The folder of the example programs that are crates of their own.
pub(super) const EXAMPLES: &str = "mgp-server-sdk/examples";

/// The folder of the parts of the program `mgp` that are crates of their own.
pub(super) const PARTS: &str = "mgp-kernel";

/// From the bottom up; a crate may depend on every layer below its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Types,
    /// The database of the sections.
    Store,
    Transport,
    Section,
    Sdk,
    /// A program on the SDKs, which only tests know.
    Example,
    /// A part of the program `mgp` that stands alone.
    Part,
    /// The kernel as a library.
    Core,
    Kernel,
    /// Outside of the graph: it knows none of the others and none knows it.
    Chores,
}

/// The layer of one of our crates, nothing for a crate of others.
fn layer(name: &str) -> Option<Layer> {
    Some(match name {
        "mgp-types" => Layer::Types,
        "mgp-store" => Layer::Store,
        "mgp-transport" => Layer::Transport,
        "mgp-security" | "mgp-lifecycle" | "mgp-stream" | "mgp-discovery" | "mgp-toolindex" => Layer::Section,
        "mgp-server-sdk" | "mgp-client-sdk" => Layer::Sdk,
        "mgp-patterns" => Layer::Example,
        "mgp-conform" => Layer::Part,
        "mgp-kernel-core" => Layer::Core,
        "mgp-kernel" => Layer::Kernel,
        "xtask" => Layer::Chores,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use super::*;
    use crate::workspace::Dependency;

    fn allowed(from: &str, to: &str, kind: Option<&str>) -> bool {
        let package = Package {
            name: from.into(),
            version: String::new(),
            description: None,
            publish: None,
            manifest_path: PathBuf::new(),
            dependencies: vec![Dependency { name: to.into(), kind: kind.map(String::from) }],
            features: BTreeMap::new(),
            targets: Vec::new(),
        };
        arrows(&package).is_empty()
    }

    #[test]
    fn dependencies_point_down() {
        assert!(allowed("mgp-kernel", "mgp-types", None));
        assert!(allowed("mgp-client-sdk", "mgp-stream", None));
        assert!(allowed("mgp-types", "serde", None));
        assert!(!allowed("mgp-types", "mgp-transport", None));
        assert!(!allowed("mgp-types", "mgp-transport", Some("dev")));
    }

    #[test]
    fn siblings_do_not_know_each_other() {
        assert!(!allowed("mgp-stream", "mgp-security", None));
        assert!(!allowed("mgp-client-sdk", "mgp-server-sdk", None));
        assert!(allowed("mgp-client-sdk", "mgp-server-sdk", Some("dev")));
        assert!(!allowed("mgp-client-sdk", "mgp-server-sdk", Some("build")));
        assert!(allowed("mgp-kernel", "mgp-patterns", Some("dev")));
        assert!(!allowed("mgp-kernel", "mgp-patterns", None));
    }

    #[test]
    fn chores_stand_outside() {
        assert!(!allowed("xtask", "mgp-types", None));
        assert!(!allowed("mgp-kernel", "xtask", Some("dev")));
        assert!(allowed("xtask", "clap", None));
    }
}
