//! The image for containers without a container, and the programs for other machines by emulators.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    Trial,
    place::Place,
    report::{Outcome, missing, missing_for_root},
};
use crate::{
    dist::{archive, contents::CONFIGURATION, oci, programs},
    process,
};

/// The part of what `umoci` writes for a runtime of containers that says how the program is started.
#[derive(Debug, Deserialize)]
struct Bundle {
    process: BundleProcess,
}

#[derive(Debug, Deserialize)]
struct BundleProcess {
    user: BundleUser,
    args: Vec<String>,
    env: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct BundleUser {
    uid: u32,
    gid: u32,
}

/// Unpacks the image, and uses it as its user, with its environment and a configuration as one would mount it.
pub(super) fn oci(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(left_out) = missing_for_root(&[("umoci", "umoci")]) {
        return Ok(left_out);
    }
    let folder = trial.release.empty("trial/oci")?;
    let (layout, unpacked) = (folder.join("layout"), folder.join("bundle"));
    fs::create_dir_all(&layout)?;
    let package = trial.release.folder.join(oci::name(trial.release, trial.target));
    process::run_quietly(Command::new("tar").arg("-xf").arg(package).arg("-C").arg(&layout))?;
    let image = format!("{}:{}", layout.display(), trial.release.version);
    process::run_quietly(Command::new("umoci").args(["unpack", "--image", &image]).arg(&unpacked))?;
    let bundle = fs::read_to_string(unpacked.join("config.json")).context("umoci wrote no config.json")?;
    let Bundle { process: started } = serde_json::from_str(&bundle)?;
    let root = unpacked.join("rootfs");
    let program = started.args.first().context("the image has no entry point")?;
    if needs_loader(&root.join(program.trim_start_matches('/')))? {
        return Ok(Outcome::LeftOut(
            "the program needs libraries of a system, and the image has none".to_owned(),
        ));
    }
    ensure!(started.user.uid == oci::USER, "the image runs as user {}", started.user.uid);
    let user = format!("{}:{}", started.user.uid, started.user.gid);
    let mut place = Place::root(&root, &user, program)?;
    let variables = started.env.iter().filter_map(|variable| variable.split_once('='));
    place.variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    place.starts(&trial.release.version)?;
    place.run(&["demo"])?;
    let server = format!(
        "[[servers]]\nid = \"office\"\ncommand = \"{program}\"\nargs = [\"demo-server\", \"office\"]\n"
    );
    fs::write(root.join(CONFIGURATION), server)?;
    place.answers()?;
    Ok(Outcome::Passed)
}

/// Returns whether a program is started by the loader of a system, as one is that was not built for an image.
fn needs_loader(program: &Path) -> Result<bool> {
    let mut head = Vec::new();
    File::open(program)?.take(4096).read_to_end(&mut head)?;
    Ok(head.windows(LOADER.len()).any(|window| window == LOADER))
}

/// Starts the programs for another system or processor by an emulator. What they start themselves is tried where that runs, too.
pub(super) fn emulated(trial: &Trial<'_>) -> Result<Outcome> {
    let target = trial.target;
    let (emulator, package) = match (&*target.os, &*target.architecture) {
        ("linux", "aarch64") => ("qemu-aarch64-static", "qemu-user-static"),
        ("windows", _) => ("wine", "wine64"),
        _ => return Ok(Outcome::LeftOut("no emulator of it is known".to_owned())),
    };
    let is_windows = target.os == "windows";
    let needed = [(emulator, package), ("unzip", "unzip")];
    if let Some(left_out) = missing(&needed[..=usize::from(is_windows)]) {
        return Ok(left_out);
    }
    let folder = trial.release.empty("trial/emulated")?;
    let archive = trial.release.folder.join(archive::name(trial.release, target));
    let [unpack, from, to] = if is_windows { ["unzip", "-q", "-d"] } else { ["tar", "-xf", "-C"] };
    process::run_quietly(Command::new(unpack).arg(from).arg(archive).arg(to).arg(&folder))?;
    let unpacked = folder.join(trial.release.name_for(&target.triple));
    let program = unpacked.join(format!("mgp{}", target.ending())).display().to_string();
    let mut place = Place::here(folder.join("home"), &[emulator, &program])?;
    if is_windows {
        // Wine tells much of itself otherwise.
        place.variables.insert("WINEDEBUG".to_owned(), "-all".to_owned());
        // The files of this machine are on a drive of their own.
        place.inner_home.insert_str(0, "Z:");
        place.inner_program = vec![format!("Z:{program}")];
        complete_wine(trial, &unpacked)?;
    }
    place.says_version(&trial.release.version)?;
    let binfmt = Path::new("/proc/sys/fs/binfmt_misc").join(emulator.trim_end_matches("-static"));
    if is_windows || binfmt.exists() {
        place.works(&trial.release.version)?;
    }
    Ok(Outcome::Passed)
}

/// Puts the library beside the programs that they need and that Wine has from version 9 on.
fn complete_wine(trial: &Trial<'_>, folder: &Path) -> Result<()> {
    let printed = process::output(Command::new("wine").arg("--version").stderr(Stdio::null()))?;
    let version = printed.trim().strip_prefix("wine-").and_then(|version| version.split('.').next());
    if version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version >= 9) {
        return Ok(());
    }
    let source = folder.join("bcryptprimitives.c");
    fs::write(&source, include_str!("../../../dist/wine/bcryptprimitives.c"))?;
    let mut zig = Command::new(programs::zig(trial.release)?);
    zig.args(["-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-shared", "-o"]);
    process::run_quietly(zig.arg(source.with_extension("dll")).arg(&source).arg("-ladvapi32"))
}

const LOADER: &[u8] = b"/ld-linux";
