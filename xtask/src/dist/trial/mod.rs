//! `cargo xtask dist --try`: each package is installed in a place without Rust, used, and removed.

mod debian;
mod installers;
mod manifests;
mod others;
mod place;
mod report;

use anyhow::Result;

use self::report::{Outcome, Report};
use super::{
    release::Release,
    targets::{self, Kind, Target},
};

/// The packages of a target, which are tried.
#[derive(Debug)]
struct Trial<'a> {
    release: &'a Release,
    target: &'a Target,
}

/// Tries a package.
type Try = fn(&Trial<'_>) -> Result<Outcome>;

/// Tries the packages of targets, and prints what came of it.
///
/// # Errors
/// Fails if a package does not work.
pub(super) fn run(release: &Release, targets: &[Target], is_short: bool) -> Result<()> {
    let mut report = Report::default();
    for target in targets {
        let trial = Trial { release, target };
        if target.runs_here() {
            let tries = match &*target.os {
                _ if is_short => &SHORT[..],
                "linux" => &FULL[..],
                _ => &IN_FOLDERS[..],
            };
            for (_, name, run) in tries.iter().filter(|(kind, ..)| target.packages.contains(kind)) {
                report.add(name, || run(&trial));
            }
            let untried =
                target.packages.iter().filter(|kind| tries.iter().all(|(tried, ..)| tried != *kind));
            for kind in untried {
                let reason = "it is no part of the short form".to_owned();
                report.add(&format!("the package {kind:?}"), || Ok(Outcome::LeftOut(reason)));
            }
        } else {
            report.add(&format!("the programs for {}", target.triple), || others::emulated(&trial));
        }
    }
    let is_made = |triple: &str| targets.iter().any(|target| target.triple == triple);
    for target in targets::all().into_iter().filter(|target| !is_made(&target.triple)) {
        let reason = "it was not built in this run".to_owned();
        report.add(&format!("the programs for {}", target.triple), || Ok(Outcome::LeftOut(reason)));
    }
    for (name, run) in TEXTS {
        report.add(name, || run(release));
    }
    report.close()
}

const FULL: [(Kind, &str, Try); 8] = [
    (Kind::Archive, "the archive, in a fresh Debian", debian::archive),
    (Kind::Deb, "the package of Debian, in a fresh Debian: installed, removed, purged", debian::deb),
    (Kind::Rpm, "the package of Fedora, by rpm into a fresh root: installed, erased", debian::rpm),
    (Kind::Oci, "the image, unpacked and run as its user", others::oci),
    NPM,
    WHEEL,
    UV,
    MCPB,
];

/// The trials on systems other than Linux.
const IN_FOLDERS: [(Kind, &str, Try); 5] = [ARCHIVE, NPM, WHEEL, UV, MCPB];

const SHORT: [(Kind, &str, Try); 5] =
    [ARCHIVE, (Kind::Deb, "the package of Debian, in a folder", installers::deb), NPM, WHEEL, UV];

const ARCHIVE: (Kind, &str, Try) = (Kind::Archive, "the archive, in a folder", installers::archive);
const NPM: (Kind, &str, Try) =
    (Kind::Npm, "the package of npm, in a prefix: installed, uninstalled", installers::npm);
const WHEEL: (Kind, &str, Try) =
    (Kind::Wheel, "the wheel, in an environment of Python: installed, uninstalled", installers::wheel);
const UV: (Kind, &str, Try) = (Kind::Wheel, "the wheel, by uv: installed, uninstalled", installers::uv);
const MCPB: (Kind, &str, Try) =
    (Kind::Mcpb, "the bundle of Claude Desktop: validated, unpacked", installers::mcpb);

type TextTry = fn(&Release) -> Result<Outcome>;

/// What does not depend on a target.
const TEXTS: [(&str, TextTry); 4] = [
    ("the checksums", manifests::checksums),
    ("a signature: verified, and refused for a changed file", manifests::signature),
    ("the formula of Homebrew", manifests::formula),
    ("the flake of Nix", manifests::flake),
];
