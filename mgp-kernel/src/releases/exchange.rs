//! The exchange of the program: the new one takes its place in one step, after it has shown that it runs here.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use flate2::read::GzDecoder;
use tar::Archive;

use crate::pattern_servers;
use crate::terminal::{Failure, Result};

/// Writes the programs of an archive to a folder.
pub(super) fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        // Completions are called so, too.
        let is_program = entry.header().entry_type().is_file() && entry.header().mode()? & 0o111 != 0;
        let named = [PROGRAM, pattern_servers::PROGRAM].into_iter().find(|name| path.ends_with(name));
        let Some(name) = named.filter(|_| is_program) else { continue };
        let mut file = File::create(folder.join(name))?;
        io::copy(&mut entry.take(MAX_PROGRAM), &mut file)?;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
        file.sync_all()?;
    }
    Ok(())
}

/// Checks that the new program runs here, and is of the version that it should be.
pub(super) fn check(folder: &Path, version: &str) -> Result<()> {
    let program = folder.join(PROGRAM);
    let said = match said_version(&program) {
        Ok(ran) => String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
        Err(error) => {
            return Err(Failure::usage(format!("nothing was changed: the new program does not run here: {error}")));
        }
    };
    if said == format!("{PROGRAM} {version}") {
        return Ok(());
    }
    let said = crate::terminal::printable(&said);
    Err(Failure::usage(format!("nothing was changed: the new program says that it is `{said}`, not {version}")))
}

fn said_version(program: &Path) -> io::Result<Output> {
    let mut attempts = 0;
    loop {
        match Command::new(program).arg("--version").output() {
            // A process that was started meanwhile can hold the file open for an instant.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && attempts < 100 => attempts += 1,
            ran => return ran,
        }
        sleep(Duration::from_millis(10));
    }
}

/// Puts the new programs of a folder in the places of the present ones. Returns the path of the former `mgp`.
pub(super) fn exchange(folder: &Path, program: &Path) -> io::Result<PathBuf> {
    let former = program.with_added_extension("former");
    let copy = folder.join("former");
    fs::copy(program, &copy)?;
    fs::rename(&copy, &former)?;
    let servers = [folder, program.parent().unwrap_or(folder)].map(|folder| folder.join(pattern_servers::PROGRAM));
    if servers.iter().all(|file| file.is_file()) {
        fs::rename(&servers[0], &servers[1])?;
    }
    fs::rename(folder.join(PROGRAM), program)?;
    Ok(former)
}

/// The name of the program in archives, and in what it says of its version.
const PROGRAM: &str = "mgp";

/// The largest length of a program.
const MAX_PROGRAM: u64 = 1 << 30;
