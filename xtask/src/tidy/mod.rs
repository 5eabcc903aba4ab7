//! `cargo xtask tidy`: what the compiler does not check. It reports every fault it finds, not only the first.

mod circles;
mod crates;
mod documents;
mod fetches;
mod modules;
mod sources;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut faults = crates::faults(workspace)?;
    faults.extend(circles::faults(workspace)?);
    faults.extend(documents::faults(workspace)?);
    faults.extend(fetches::faults(workspace)?);
    faults.extend(modules::faults(workspace)?);
    faults.extend(sources::faults(workspace)?);
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => Ok(()),
        count => bail!("the tree is not tidy: {count} faults"),
    }
}
