//! The exchange of the program: the new one takes its place in one step, when it is there as a whole.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tar::Archive;

use crate::pattern_servers;

/// Writes the programs of an archive to a folder.
pub(super) fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        // Completions are called so, too, and are no programs.
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

/// Puts the new programs of a folder in the places of the present ones. Returns the path of the former `mgp`.
pub(super) fn exchange(folder: &Path, program: &Path) -> io::Result<PathBuf> {
    let new = folder.join(PROGRAM);
    if !new.is_file() {
        return Err(io::Error::other("the archive has no program in it"));
    }
    let (copy, former) = (folder.join("former"), program.with_added_extension("former"));
    fs::copy(program, &copy)?;
    fs::rename(&copy, &former)?;
    let servers =
        [folder, program.parent().unwrap_or(folder)].map(|folder| folder.join(pattern_servers::PROGRAM));
    if servers.iter().all(|file| file.is_file()) {
        fs::rename(&servers[0], &servers[1])?;
    }
    fs::rename(new, program)?;
    Ok(former)
}

/// The name of the program in archives.
const PROGRAM: &str = "mgp";

/// The largest length of a program.
const MAX_PROGRAM: u64 = 1 << 30;
