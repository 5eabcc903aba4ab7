//! New versions of `mgp`: the signed list that names them, and the exchange of this program for the newest one.

mod download;

use std::env::consts::{ARCH, EXE_EXTENSION, OS};
use std::fs::{self, File};
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use mgp_discovery::config::model::DownloadSettings;
use mgp_kernel_core::install::brought;
use mgp_kernel_core::platform::set_mode;
use mgp_kernel_core::settings::pattern_servers;
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use mgp_security::network::{Fetcher, NetworkPolicy};
use minisign_verify::{PublicKey, Signature};
use serde::Deserialize;
use tar::Archive;
use url::Url;
use zip::ZipArchive;

use self::download::{DownloadError, Downloader, PublishedFile};

/// The place of the list of versions, and the key with which it is signed.
pub(crate) struct ReleaseSource {
    list: Url,
    key: PublicKey,
}

/// The newest version, with an archive for each platform.
#[derive(Debug, Deserialize)]
pub(crate) struct ReleaseList {
    pub(crate) version: String,
    archives: Vec<ReleaseArchive>,
}

/// An archive (`.tar.gz` or `.zip`) with the programs for a platform.
#[derive(Debug, Deserialize)]
struct ReleaseArchive {
    /// The system and the processor, such as `linux-x86_64`.
    platform: String,
    /// The address of the archive, seen from the list.
    file: String,
    size: u64,
    sha256: String,
}

impl ReleaseSource {
    /// Returns the source that is configured.
    ///
    /// # Errors
    /// No list or no key is known, or one of them has another form.
    pub(crate) fn new(settings: &DownloadSettings) -> Result<Self> {
        let fault = |why: String| {
            Failure::usage(why).hint(
                "if your operator publishes a list, set its URL or file as `releases` in `[downloads]`, and its public key as \
                 `releases_key`",
            )
        };
        let Some(list) = settings.releases.as_deref() else {
            return Err(fault("no list of versions is configured".to_owned()));
        };
        let path = std::path::absolute(list).unwrap_or_default();
        let url = if list.contains("://") { Url::parse(list).ok() } else { Url::from_file_path(path).ok() };
        let key = settings.releases_key.as_deref().or(option_env!("MGP_RELEASES_KEY")).unwrap_or_default();
        let key = PublicKey::from_base64(key);
        let key =
            key.map_err(|error| fault(format!("`releases_key` is no public key of minisign: {error}")))?;
        Ok(Self { list: url.ok_or_else(|| fault(format!("{list} is no address of a list")))?, key })
    }

    /// Reads the list, if its signature is right.
    ///
    /// # Errors
    /// The list cannot be read, or is not the one that was signed.
    pub(crate) async fn read(&self) -> Result<ReleaseList> {
        let fault = |what: &str| Failure::usage(format!("{} is not used: {what}", self.list));
        let list = bring(&self.list).await?;
        let mut beside = self.list.clone();
        beside.set_path(&format!("{}.minisig", self.list.path()));
        let signature = String::from_utf8(bring(&beside).await?).unwrap_or_default();
        let signature =
            Signature::decode(&signature).map_err(|_| fault("its signature is none of minisign"))?;
        let verified = self.key.verify(&list, &signature, true);
        verified.map_err(|_| fault("it is not signed with the key that this program knows"))?;
        serde_json::from_slice(&list).map_err(|error| fault(&format!("it is no list of versions: {error}")))
    }

    /// Puts the newest version in the place of `program`, and keeps the former one beside it. Returns the path of that.
    ///
    /// # Errors
    /// There is no archive for this platform, it is not the published one, or it cannot be written. The program is as it was
    /// then.
    pub(crate) async fn install(&self, list: &ReleaseList, program: &Path) -> Result<PathBuf> {
        let platform = format!("{OS}-{ARCH}");
        let archive = list.archives.iter().find(|archive| archive.platform == platform).ok_or_else(|| {
            let there: Vec<_> = list.archives.iter().map(|archive| archive.platform.as_str()).collect();
            Failure::usage(format!("mgp {} is not there for {platform}", list.version))
                .hint(format!("it is there for {}; or build it from its sources", there.join(", ")))
        })?;
        let folder = program.parent().unwrap_or_else(|| Path::new("."));
        let unwritable = |error: io::Error| {
            let hint = "the folder of the program has to be writable, and its disk to have room";
            Failure::usage(format!("nothing was changed: {}: {error}", folder.display())).hint(hint)
        };
        let fresh = tempfile::Builder::new().prefix(".mgp-").tempdir_in(folder).map_err(unwritable)?;
        let goal = fresh.path().join("archive");
        self.bring_archive(archive, &goal).await.map_err(|error| {
            let exit =
                if matches!(error, DownloadError::File { .. }) { Exit::Usage } else { Exit::Unreachable };
            Failure::new(exit, format!("nothing was changed: {error}"))
        })?;
        unpack(&goal, fresh.path()).map_err(unwritable)?;
        exchange(fresh.path(), program).map_err(unwritable)
    }

    async fn bring_archive(&self, archive: &ReleaseArchive, goal: &Path) -> Result<(), DownloadError> {
        let url = self.list.join(&archive.file).map_err(|_| DownloadError::NotHttps(archive.file.clone()))?;
        let (size, sha256) = (archive.size, archive.sha256.clone());
        let file = PublishedFile { url: url.to_string(), size, sha256 };
        match url.to_file_path() {
            Ok(path) if url.scheme() == "file" => download::copy(&file, &path, goal),
            _ => Downloader::new()?.fetch(&file, goal).await,
        }
    }
}

/// Returns the bytes of a list of versions, or of its signature.
async fn bring(url: &Url) -> Result<Vec<u8>> {
    let bytes = match url.to_file_path() {
        Ok(path) => fs::read(path).map_err(|error| error.to_string()),
        Err(()) => brought(&Fetcher::new(NetworkPolicy::default())?, url.as_str()).await.map(Vec::from),
    };
    bytes.map_err(|why| Failure::unreachable(format!("{url} cannot be read: {why}")))
}

/// Writes the programs of an archive to a folder.
fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let mut file = File::open(archive)?;
    if let Ok(mut archive) = ZipArchive::new(&file) {
        for index in 0..archive.len() {
            let entry = archive.by_index(index)?;
            let (path, mode) = (PathBuf::from(entry.name()), entry.unix_mode().unwrap_or(0));
            put_program(folder, &path, mode, entry)?;
        }
        return Ok(());
    }
    file.rewind()?;
    let mut archive = Archive::new(GzDecoder::new(file));
    for entry in archive.entries()? {
        let entry = entry?;
        let mode = if entry.header().entry_type().is_file() { entry.header().mode()? } else { 0 };
        let path = entry.path()?.into_owned();
        put_program(folder, &path, mode, entry)?;
    }
    Ok(())
}

/// Writes a file of an archive to a folder if it is a program. Completions are called so, too, but cannot be run.
fn put_program(folder: &Path, path: &Path, mode: u32, content: impl Read) -> io::Result<()> {
    let named = PROGRAMS.map(file_name).into_iter().find(|name| path.ends_with(name));
    let Some(name) = named.filter(|_| mode & 0o111 != 0) else { return Ok(()) };
    let path = folder.join(name);
    let mut file = File::create(&path)?;
    io::copy(&mut content.take(MAX_PROGRAM), &mut file)?;
    set_mode(&path, 0o755)?;
    file.sync_all()
}

/// Puts the new programs of a folder in the places of the present ones. Returns the path of the former `mgp`.
fn exchange(folder: &Path, program: &Path) -> io::Result<PathBuf> {
    let [new, servers] = PROGRAMS.map(file_name);
    let new = folder.join(new);
    if !new.is_file() {
        return Err(io::Error::other("the archive has no program in it"));
    }
    let (copy, former) = (folder.join("former"), program.with_added_extension("former"));
    fs::copy(program, &copy)?;
    let servers = [folder, program.parent().unwrap_or(folder)].map(|folder| folder.join(&servers));
    if servers.iter().all(|file| file.is_file()) {
        fs::rename(&servers[0], &servers[1])?;
    }
    // On Windows a program that runs can get another name, but not be replaced.
    fs::rename(if cfg!(windows) { program } else { copy.as_path() }, &former)?;
    fs::rename(new, program)?;
    Ok(former)
}

fn file_name(program: &str) -> PathBuf {
    Path::new(program).with_extension(EXE_EXTENSION)
}

/// Returns the command that upgrades `program`, if a package manager owns the file.
pub(crate) fn upgrade_command(program: &Path) -> Option<&'static str> {
    let path = program.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
    let lines = include_str!("package_managers.txt").lines().filter(|line| !line.starts_with('#'));
    let is_in_venv = program.parent()?.parent()?.join("pyvenv.cfg").is_file();
    let mut rows = lines.filter_map(|line| line.split_once(": "));
    let owner = rows.find(|(sign, _)| match sign.split_once(' ') {
        // A program that tells who owns a file.
        Some((manager, option)) => {
            let asked = Command::new(manager).arg(option).arg(program).output();
            asked.is_ok_and(|asked| asked.status.success())
        }
        None => path.contains(sign) || (is_in_venv && *sign == "pyvenv.cfg"),
    });
    owner.map(|(_, command)| command)
}

/// The names of the programs in archives.
const PROGRAMS: [&str; 2] = ["mgp", pattern_servers::PROGRAM];

/// The largest length of a program.
const MAX_PROGRAM: u64 = 1 << 30;

#[cfg(test)]
mod tests;
