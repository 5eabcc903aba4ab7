//! Bundles of servers: brought whole, checked, and unpacked into a folder of their own.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mgp_security::network::Fetcher;
use mgp_types::hex;
use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use super::registry::ServerRegistry;
use crate::state_folder::users_folder;
use crate::terminal::{Failure, Result, printable, with_causes};

/// A bundle whose digest was checked.
pub(super) struct Bundle {
    bytes: Bytes,
    /// The folder of this bundle, which is there once it is unpacked.
    pub(super) folder: PathBuf,
}

impl Bundle {
    /// Brings the bundle at `url`, or the copy of it beside the documents of the registry.
    pub(super) async fn bring(
        url: &str,
        sha256: &str,
        id: &str,
        registry: &ServerRegistry,
        fetcher: &Fetcher,
    ) -> Result<Self> {
        let fault = |why: &str| Failure::usage(printable(&format!("the bundle {url} {why}")));
        let bytes = match registry.copy_of(url) {
            Some(file) => Bytes::from(fs::read(&file).map_err(|error| Failure::file(&file, error))?),
            None => {
                let fetched = fetcher.get(url, &HeaderMap::new()).await;
                let fetched = fetched.map_err(|error| {
                    fault(&format!("cannot be brought: {}", with_causes(&error.to_string(), &error)))
                })?;
                if fetched.status != StatusCode::OK {
                    return Err(fault(&format!("cannot be brought: its host answers with {}", fetched.status)));
                }
                fetched.body
            }
        };
        let digits = hex::<64>(&Sha256::digest(&bytes));
        let found = String::from_utf8_lossy(&digits);
        if found != sha256 {
            return Err(fault(&format!("is not the published one: its SHA-256 is {found} instead of {sha256}")));
        }
        let data = users_folder("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
            Failure::usage("there is no home directory for bundles").hint("set HOME or XDG_DATA_HOME")
        })?;
        let folder = data.join("bundles").join(format!("{id}-{}", &sha256[..16]));
        Ok(Self { bytes, folder })
    }

    /// Returns the text of its `manifest.json`.
    pub(super) fn manifest(&self) -> Result<String> {
        let fault = |error: io::Error| Failure::usage(format!("the bundle has no readable manifest.json: {error}"));
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes)).map_err(|error| fault(error.into()))?;
        let entry = archive.by_name("manifest.json").map_err(|error| fault(error.into()))?;
        let mut text = String::new();
        entry.take(MAX_MANIFEST).read_to_string(&mut text).map_err(fault)?;
        Ok(text)
    }

    /// Unpacks the bundle: its folder is there with all files, or not at all.
    pub(super) fn unpack(&self) -> Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        self.unpacked().map_err(|error| {
            let message = format!("the bundle is not unpacked to {}: {error}", self.folder.display());
            Failure::usage(printable(&message))
        })
    }

    fn unpacked(&self) -> io::Result<()> {
        let within = self.folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(within)?;
        let fresh = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(within)?;
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes))?;
        if archive.len() > MAX_FILES {
            return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
        }
        let mut room = MAX_UNPACKED;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index)?;
            let (name, mode) = (entry.name().to_owned(), entry.unix_mode().unwrap_or(0));
            let inner = inner_path(&name).filter(|_| [0, FILE, FOLDER].contains(&(mode & KIND)));
            let Some(path) = inner.map(|inner| fresh.path().join(inner)) else {
                return Err(io::Error::other(format!("{name} is a link, or leads out of the bundle")));
            };
            if entry.is_dir() {
                fs::create_dir_all(path)?;
                continue;
            }
            room = room.saturating_sub(extract(&mut entry, &path, room)?);
            allow_running(&path, mode)?;
        }
        fs::rename(fresh.path(), &self.folder)
    }
}

/// Writes a file, and returns its length.
fn extract(contents: &mut impl Read, path: &Path, room: u64) -> io::Result<u64> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // A name that comes twice would be two files for two readers.
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let length = io::copy(&mut contents.take(room + 1), &mut file)?;
    if length > room {
        return Err(io::Error::other(format!("its files are longer than {MAX_UNPACKED} bytes")));
    }
    Ok(length)
}

/// Lets a file be run if the bundle does, and gives it no other mode: nobody else may write it.
fn allow_running(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    if mode & 0o111 != 0 {
        use std::os::unix::fs::PermissionsExt as _;
        return fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    }
    Ok(())
}

/// Returns the path of a file in the folder of its bundle, unless it leads elsewhere.
fn inner_path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let is_inner = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_inner && !name.is_empty() && !name.contains(['\\', '\0', ':'])).then_some(path)
}

/// The bits of a mode that say what kind of file it is, and the kinds that are unpacked.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// The largest length of a manifest; a longer one is cut, and then no JSON.
const MAX_MANIFEST: u64 = 1 << 20;
/// The largest number of files in a bundle, and of bytes in all of them.
const MAX_FILES: usize = 50_000;
const MAX_UNPACKED: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    fn options() -> SimpleFileOptions {
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored)
    }

    fn zipped(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, contents, mode) in files {
            writer.start_file(*name, options().unix_permissions(*mode)).unwrap();
            writer.write_all(contents).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// Unpacks a bundle, and returns the outcome and the folder in which its own one should be.
    fn unpacked(bytes: Vec<u8>) -> (Result<()>, tempfile::TempDir) {
        let within = tempfile::tempdir().unwrap();
        let bundle = Bundle { bytes: bytes.into(), folder: within.path().join("w-1") };
        (bundle.unpack(), within)
    }

    /// Replaces a name that was written by another one of its length.
    fn renamed(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
        for at in 0..=bytes.len() - from.len() {
            if &bytes[at..at + from.len()] == from.as_bytes() {
                bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
            }
        }
        bytes
    }

    #[test]
    fn a_bundle_is_unpacked_with_its_programs() {
        let bytes = zipped(&[("manifest.json", b"{}", 0o644), ("bin/run", b"#!/bin/sh", 0o755)]);
        let (outcome, within) = unpacked(bytes.clone());
        outcome.unwrap();
        assert_eq!(fs::read(within.path().join("w-1/bin/run")).unwrap(), b"#!/bin/sh");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |name: &str| fs::metadata(within.path().join(name)).unwrap().permissions().mode();
            assert_eq!((mode("w-1/bin/run") & 0o111, mode("w-1/manifest.json") & 0o111), (0o111, 0));
        }
        let bundle = Bundle { bytes: bytes.into(), folder: PathBuf::new() };
        assert_eq!(bundle.manifest().unwrap(), "{}");
    }

    #[test]
    fn nothing_is_left_of_a_bundle_that_leads_out_of_its_folder() {
        let out = |to: &str| renamed(zipped(&[("a", b"1", 0o644), ("00/evil", b"x", 0o644)]), "00/evil", to);
        let mut linked = ZipWriter::new(Cursor::new(Vec::new()));
        linked.add_symlink("link", "/etc", options()).unwrap();
        let linked = linked.finish().unwrap().into_inner();
        for bytes in [out("../evil"), out("/0/evil"), out("a/../vi"), out("C:\\evil"), linked] {
            let (outcome, within) = unpacked(bytes);
            let refused = outcome.unwrap_err();
            assert!(refused.message().contains("leads out of the bundle"), "{}", refused.message());
            assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
        }
        let (outcome, within) = unpacked(b"no archive".to_vec());
        assert!(outcome.is_err() && fs::read_dir(within.path()).unwrap().count() == 0);
    }

    #[test]
    fn files_that_are_too_long_together_are_not_written_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let refused = extract(&mut &b"12345"[..], &folder.path().join("a"), 4).unwrap_err();
        assert!(refused.to_string().contains("longer than"), "{refused}");
        assert_eq!(extract(&mut &b"12345"[..], &folder.path().join("b"), 5).unwrap(), 5);
        assert!(extract(&mut &b"1"[..], &folder.path().join("b"), 5).is_err(), "a name comes twice");
    }
}
