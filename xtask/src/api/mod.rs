//! `cargo xtask api`: the public items of each library, counted or listed. A library has no more items than its maximum.

mod former;
mod listing;
mod rustdoc;

use anyhow::{Context, Result, bail};

use crate::{table::Table, workspace::Workspace};

use self::former::FormerVersion;
use self::listing::Listing;
pub(crate) use self::rustdoc::{obstacle, stand_in};

/// How many public items each library may have: types, traits, functions, macros, constants and modules.
const MAXIMA: [(&str, usize); 12] = [
    ("mgp-client-sdk", 93),
    ("mgp-discovery", 206),
    ("mgp-kernel", 11),
    ("mgp-lifecycle", 56),
    ("mgp-patterns", 1),
    ("mgp-security", 222),
    ("mgp-server-sdk", 82),
    ("mgp-store", 19),
    ("mgp-stream", 34),
    ("mgp-toolindex", 57),
    ("mgp-transport", 105),
    ("mgp-types", 694),
];

#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// List the items, a line for each
    #[arg(long)]
    list: bool,
    /// Only this crate; may be repeated
    #[arg(short = 'p', long = "package", value_name = "CRATE")]
    packages: Vec<String>,
    /// Name the items that are gone since this tag, branch or commit, if the version promises them
    #[arg(long, value_name = "TAG")]
    against: Option<String>,
}

/// Counts the public items of each library, and prints them if that is wanted.
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
    let former = args.against.as_deref().map(|tag| FormerVersion::unpack(workspace, tag)).transpose()?;
    let mut table = Table::new(["crate", "public items", "at most"]);
    let mut faults = Vec::new();
    for package in libraries {
        if !args.packages.is_empty() && !args.packages.contains(&package.name) {
            continue;
        }
        let listing = Listing::read(&rustdoc::document(workspace, package)?)?;
        if args.list {
            print!("{listing}");
        }
        if let Some(former) = &former {
            faults.extend(former.faults(package, &listing)?);
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
