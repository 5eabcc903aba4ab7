//! Bundles of servers: brought whole, checked, and unpacked into a folder of their own.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use mgp_security::network::Fetcher;
use mgp_types::canonical::Digest;
use zip::ZipArchive;

use super::brought;
use super::registry::ServerRegistry;
use crate::platform::set_mode;
use crate::state::folder::users_folder;

/// A bundle whose digest was checked.
pub(super) struct Bundle {
    bytes: Bytes,
    pub(super) folder: PathBuf,
}

impl Bundle {
    /// Brings the bundle at `url`, or the copy of it beside the documents of the registry.
    ///
    /// # Errors
    /// The bundle cannot be brought, or is not the published one, with the reason.
    pub(super) async fn bring(
        url: &str,
        sha256: &str,
        id: &str,
        registry: &ServerRegistry,
        fetcher: &Fetcher,
    ) -> Result<Self, String> {
        let bytes = match registry.copy_of(url) {
            Some(file) => fs::read(file).map(Bytes::from).map_err(|error| error.to_string()),
            None => brought(fetcher, url).await,
        };
        let bytes = bytes.map_err(|why| format!("the bundle {url} cannot be brought: {why}"))?;
        let found = Digest::of_canonical(&bytes).to_string();
        if found != sha256 {
            return Err(format!(
                "the bundle {url} is not the published one: its SHA-256 is {found}, not {sha256}"
            ));
        }
        let data =
            users_folder("XDG_DATA_HOME", ".local/share").ok_or("bundles need a home directory: set HOME")?;
        Ok(Self { bytes, folder: data.join("bundles").join(format!("{id}-{}", &sha256[..16])) })
    }

    /// Returns the folder of this bundle, which is there once it is unpacked.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the text of its `manifest.json`.
    pub(super) fn manifest(&self) -> Result<String, String> {
        let read = || {
            let mut text = String::new();
            let mut archive = ZipArchive::new(Cursor::new(&self.bytes))?;
            archive.by_name("manifest.json")?.take(MAX_MANIFEST).read_to_string(&mut text)?;
            Ok(text)
        };
        read()
            .map_err(|error: io::Error| format!("the bundle has no manifest.json that can be read: {error}"))
    }

    /// Unpacks the bundle: its folder is there with all files, or not at all.
    pub(super) fn unpack(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let within = self.folder.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(within)?;
        let fresh = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(within)?;
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes))?;
        let mut room = MAX_UNPACKED;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index)?;
            let (path, mode) = (PathBuf::from(entry.name()), entry.unix_mode().unwrap_or(0));
            let is_inner = path.components().all(|part| matches!(part, Component::Normal(_)));
            let is_plain = is_inner && !entry.name().contains(['\\', '\0', ':']);
            if !is_plain || index > MAX_FILES || ![0, FILE, FOLDER].contains(&(mode & KIND)) {
                let why =
                    format!("{} is a link, leads out of the bundle, or is one of too many", entry.name());
                return Err(io::Error::other(why));
            }
            let path = fresh.path().join(path);
            if entry.is_dir() {
                fs::create_dir_all(path)?;
            } else {
                room -= extract(&mut entry, &path, mode, room)?;
            }
        }
        fs::rename(fresh.path(), &self.folder)
    }
}

/// Writes a file that may be run if the bundle says so, and returns its length.
fn extract(contents: &mut impl Read, path: &Path, mode: u32, room: u64) -> io::Result<u64> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    // A name that comes twice would be two files for two readers.
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let length = io::copy(&mut contents.take(room + 1), &mut file)?;
    if length > room {
        return Err(io::Error::other(format!("its files are longer than {MAX_UNPACKED} bytes")));
    }
    if mode & 0o111 != 0 {
        set_mode(path, 0o755)?;
    }
    Ok(length)
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
    use crate::test_disk::SmallDisk;

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
    fn unpacked(bytes: Vec<u8>) -> (io::Result<()>, tempfile::TempDir) {
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
            assert!(refused.to_string().contains("leads out of the bundle"), "{refused}");
            assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
        }
        let (outcome, within) = unpacked(b"no archive".to_vec());
        assert!(outcome.is_err() && fs::read_dir(within.path()).unwrap().count() == 0);
    }

    #[test]
    fn nothing_is_left_of_a_bundle_on_a_disk_that_has_no_room() {
        let within = tempfile::tempdir().unwrap();
        let Some(_disk) = SmallDisk::mounted(within.path(), "64k") else {
            println!("no disk can be mounted here: a full one is not tested");
            return;
        };
        let large = vec![7; 1 << 20];
        let bytes = zipped(&[("manifest.json", b"{}", 0o644), ("large", large.as_slice(), 0o644)]);
        let bundle = Bundle { bytes: bytes.into(), folder: within.path().join("w-1") };
        bundle.unpack().unwrap_err();
        assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_that_are_too_long_together_are_not_written_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let refused = extract(&mut &b"12345"[..], &folder.path().join("a"), 0, 4).unwrap_err();
        assert!(refused.to_string().contains("longer than"), "{refused}");
        assert_eq!(extract(&mut &b"12345"[..], &folder.path().join("b"), 0, 5).unwrap(), 5);
        assert!(extract(&mut &b"1"[..], &folder.path().join("b"), 0, 5).is_err(), "a name comes twice");
    }
}
