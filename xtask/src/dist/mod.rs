//! `cargo xtask dist`: the packages of `mgp`, made from one checkout, and whether each works where there is no Rust.
//!
//! The packages lie in `target/dist/packages`. Two checkouts of a commit make the same bytes of each: files have the time of the
//! commit and stand in the order of their names, and programs hold no path of the machine. Packages of a named target are added to
//! those that are there, so that the manifests name archives of other machines as well.

mod archive;
mod checksums;
mod contents;
mod deb;
mod linked;
mod manifests;
mod mcpb;
mod names;
mod npm;
mod oci;
mod programs;
mod release;
mod rpm;
mod targets;
mod tree;
mod trial;
mod wheel;

use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::Compression;

use self::{
    contents::{Contents, OwnTexts},
    programs::Programs,
    release::Release,
    targets::{Compiler, Kind, Target},
};
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A target; by default those that any Linux builds for
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// The profile of cargo that the programs are built with
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Pack this program and the `mgp-patterns` beside it instead of building: packages to be tried, not handed out
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Sign the checksums with this secret key of minisign, and have the programs trust the public one beside it (`.pub`)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Install each package that can be installed here in a place without Rust, use it, and remove it
    #[arg(long = "try")]
    tries: bool,
    /// Make no packages: ask the registries whether the names of packages are free, and whether what documents have people fetch is
    /// there
    #[arg(long)]
    names: bool,
    /// Only the archive and the packages of Debian, npm and Python for this machine, tried without a system of their own
    #[arg(long)]
    short: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if args.names {
        return names::run(workspace);
    }
    let level = if args.short { Compression::fast() } else { Compression::default() };
    let release = Release::of(workspace, level)?;
    let targets = match &*args.targets {
        [] if args.short || args.program.is_some() => vec![targets::host()?],
        [] => targets::all().into_iter().filter(|target| target.compiler == Compiler::Zig).collect(),
        named => named.iter().map(|triple| targets::named(triple)).collect::<Result<_>>()?,
    };
    let public_key = args.key.as_deref().map(checksums::public_key).transpose()?;
    if args.targets.is_empty() {
        release::empty(&release.folder)?;
    }
    let mut built = Vec::new();
    for target in &targets {
        built.push(match &args.program {
            Some(program) => Programs::read(target, program)?,
            None => Programs::build(workspace, &release, target, &args.profile, public_key.as_deref())?,
        });
    }
    let runnable = targets.iter().zip(&built).find(|(target, _)| target.runs_here());
    let own = match runnable {
        Some((_, programs)) => OwnTexts::of(&programs.path, &release)?,
        None => OwnTexts::of(&workspace.build_mgp()?, &release)?,
    };
    for (target, programs) in targets.iter().zip(&built) {
        let contents = Contents::of(workspace, &release, target, programs, &own)?;
        for kind in target.packages.iter().filter(|kind| !args.short || SHORT.contains(kind)) {
            write(*kind, &release, target, &contents)?;
        }
    }
    manifests::write(&release)?;
    checksums::write(&release.folder)?;
    if let (Some(key), Some(public)) = (&args.key, &public_key) {
        checksums::sign(&release, &release.folder, key)?;
        checksums::verify_signatures(&release.folder, public)?;
    }
    println!("the packages lie in {}", shown(&release.folder, &workspace.root));
    if args.tries { trial::run(&release, &targets, args.short) } else { Ok(()) }
}

fn write(kind: Kind, release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    match kind {
        Kind::Archive => archive::write(release, target, contents),
        Kind::Deb => deb::write(release, target, contents),
        Kind::Rpm => rpm::write(release, target, contents),
        Kind::Oci => oci::write(release, target, contents),
        Kind::Npm => npm::write(release, target, contents),
        Kind::Wheel => wheel::write(release, target, contents),
        Kind::Mcpb => mcpb::write(release, target, contents),
    }
}

/// Returns a path from the root of the workspace on, if it lies there.
fn shown<'p>(path: &'p Path, root: &Path) -> std::path::Display<'p> {
    path.strip_prefix(root).unwrap_or(path).display()
}

/// The packages of the short form.
const SHORT: [Kind; 4] = [Kind::Archive, Kind::Deb, Kind::Npm, Kind::Wheel];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_same_contents_make_the_same_packages() {
        let target = targets::named("x86_64-unknown-linux-musl").unwrap();
        let made = ["one", "other"].map(|name| {
            let release = Release::sample(name);
            for kind in [Kind::Archive, Kind::Deb, Kind::Oci, Kind::Npm, Kind::Wheel, Kind::Mcpb] {
                write(kind, &release, &target, &Contents::sample()).unwrap();
            }
            release.folder
        });
        let mut compared = 0;
        for entry in fs::read_dir(&made[0]).unwrap() {
            let name = entry.unwrap().file_name();
            let same = made.each_ref().map(|folder| fs::read(folder.join(&name)).unwrap());
            assert!(same[0] == same[1], "{}", name.display());
            compared += 1;
        }
        assert_eq!(compared, 6);
        for folder in made {
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
