//! `cargo xtask api`: what each library offers to those who use it, a line for each item, in `api.txt` beside its
//! manifest, so that a change of it is seen where the change is read. A library has no more items than its maximum.

mod listing;
mod rustdoc;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{table::Table, workspace::Workspace};

use self::listing::Listing;
pub(crate) use self::rustdoc::{obstacle, stand_in};

/// How many public items each library may have: types, traits, functions, macros, constants and modules.
const MAXIMA: [(&str, usize); 11] = [
    ("mgp-client-sdk", 92),
    ("mgp-discovery", 216),
    ("mgp-kernel", 15),
    ("mgp-lifecycle", 68),
    ("mgp-patterns", 1),
    ("mgp-security", 247),
    ("mgp-server-sdk", 81),
    ("mgp-stream", 40),
    ("mgp-toolindex", 63),
    ("mgp-transport", 114),
    ("mgp-types", 678),
];

const FILE: &str = "api.txt";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with what is committed, and write nothing
    #[arg(long)]
    check: bool,
    /// Only this crate; may be repeated
    #[arg(short = 'p', long = "package", value_name = "CRATE")]
    packages: Vec<String>,
}

impl Args {
    /// The arguments of the check that a change must pass.
    pub(crate) const fn check() -> Self {
        Self { check: true, packages: Vec::new() }
    }
}

/// Writes or compares the listing of each library.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if let Some(obstacle) = obstacle()? {
        bail!(obstacle);
    }
    let libraries: Vec<_> = workspace.members().into_iter().filter(|package| package.has_library()).collect();
    if let Some(unknown) =
        args.packages.iter().find(|name| libraries.iter().all(|library| library.name != **name))
    {
        bail!("the workspace has no library `{unknown}`");
    }
    let mut table = Table::new(["crate", "public items", "at most"]);
    let mut faults = Vec::new();
    for package in libraries {
        if !args.packages.is_empty() && !args.packages.contains(&package.name) {
            continue;
        }
        let listing = Listing::read(&rustdoc::document(workspace, package)?)?;
        let file = package.folder().join(FILE);
        let name = format!("{}/{FILE}", package.name);
        if args.check {
            let committed = fs::read_to_string(&file).unwrap_or_default();
            let differences = listing.differences(&committed);
            for line in &differences {
                println!("{name}: {line}");
            }
            if !differences.is_empty() {
                faults.push(format!("{name} differs in {} lines: run `cargo xtask api`", differences.len()));
            }
        } else {
            fs::write(&file, listing.to_string())
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let maximum = maximum(&package.name)?;
        table.row([package.name.clone(), listing.items().to_string(), maximum.to_string()]);
        faults.extend(excess(&package.name, listing.items(), maximum));
    }
    print!("{table}");
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

fn maximum(name: &str) -> Result<usize> {
    let found = MAXIMA.iter().find(|(of, _)| *of == name).map(|(_, maximum)| *maximum);
    found.with_context(|| format!("`MAXIMA` in xtask/src/api/mod.rs has no line for {name}"))
}

fn excess(name: &str, items: usize, maximum: usize) -> Option<String> {
    (items > maximum).then(|| {
        format!(
            "{name} has {items} public items, {maximum} at most: make what serves nobody outside `pub(crate)`, or raise \
             `MAXIMA` in xtask/src/api/mod.rs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_may_have_as_many_items_as_its_maximum_and_no_more() {
        assert!(excess("mgp-x", 5, 5).is_none());
        assert!(
            excess("mgp-x", 6, 5).is_some_and(|fault| fault.contains("mgp-x has 6 public items, 5 at most"))
        );
    }

    #[test]
    fn a_library_without_a_maximum_is_named() {
        assert!(maximum("mgp-security").is_ok());
        assert!(maximum("mgp-x").is_err_and(|error| error.to_string().contains("no line for mgp-x")));
    }
}
