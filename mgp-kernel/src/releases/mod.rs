//! New versions of `mgp`: the signed list that names them, and the exchange of this program for the newest one.

mod exchange;
mod package_manager;

use std::env::consts::{ARCH, OS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use http::{HeaderMap, StatusCode};
use mgp_discovery::config::model::DownloadSettings;
use mgp_security::network::{Fetcher, NetworkPolicy};
use minisign_verify::{PublicKey, Signature};
use serde::Deserialize;
use url::Url;

pub(crate) use self::package_manager::upgrade_command;
use crate::models::{self, Downloader, InstallError, PublishedFile};
use crate::terminal::{Exit, Failure, Result, with_causes};

/// The place of the list of versions, and the key with which it is signed.
pub(crate) struct ReleaseSource {
    list: String,
    key: PublicKey,
}

/// The newest version, with an archive for each platform.
#[derive(Debug, Deserialize)]
pub(crate) struct ReleaseList {
    pub(crate) version: String,
    archives: Vec<ReleaseArchive>,
}

/// An archive (`.tar.gz`) with the programs for a platform.
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
    /// No list or no key is known, or the key is none of minisign.
    pub(crate) fn new(settings: &DownloadSettings) -> Result<Self> {
        let hint = "`[downloads]` has `releases`, the address of the list, and `releases_key`, its public key";
        let Some(list) = settings.releases.clone() else {
            return Err(Failure::usage("no list of versions is configured").hint(hint));
        };
        let Some(key) = settings.releases_key.as_deref().or(option_env!("MGP_RELEASES_KEY")) else {
            return Err(Failure::usage("the key with which the list of versions is signed is not known").hint(hint));
        };
        let key = PublicKey::from_base64(key)
            .map_err(|error| Failure::usage(format!("`releases_key` is no public key of minisign: {error}")))?;
        Ok(Self { list, key })
    }

    /// Reads the list, if its signature is right.
    ///
    /// # Errors
    /// The list cannot be read, or is not the one that was signed.
    pub(crate) async fn read(&self) -> Result<ReleaseList> {
        let list = self.bring("").await?;
        let signature = self.bring(".minisig").await?;
        let fault = |what: &str| Failure::usage(format!("{} is not used: {what}", self.list));
        let signature = Signature::decode(&String::from_utf8_lossy(&signature))
            .map_err(|error| fault(&format!("its signature is none of minisign: {error}")))?;
        self.key
            .verify(&list, &signature, true)
            .map_err(|_| fault("it is not signed with the key that this program knows"))?;
        serde_json::from_slice(&list).map_err(|error| fault(&format!("it is no list of versions: {error}")))
    }

    /// Puts the newest version in the place of `program`, and keeps the former one beside it. Returns the path of that.
    ///
    /// # Errors
    /// There is no archive for this platform, or it is not the published one, does not run here or cannot be written. The
    /// program is as it was then.
    pub(crate) async fn install(&self, list: &ReleaseList, program: &Path) -> Result<PathBuf> {
        let archive = list.archive_for(&format!("{OS}-{ARCH}"))?;
        let folder = program.parent().unwrap_or(Path::new("."));
        let unwritable = |error: io::Error| {
            Failure::file(folder, error).hint("the folder of the program has to be writable, and its disk to have room")
        };
        let fresh = tempfile::Builder::new().prefix(".mgp-").tempdir_in(folder).map_err(unwritable)?;
        let goal = fresh.path().join("archive");
        self.bring_archive(archive, &goal).await?;
        exchange::unpack(&goal, fresh.path()).map_err(|error| {
            Failure::usage(format!("{} cannot be unpacked: {error}", archive.file))
        })?;
        exchange::check(fresh.path(), &list.version)?;
        exchange::exchange(fresh.path(), program).map_err(unwritable)
    }

    async fn bring_archive(&self, archive: &ReleaseArchive, goal: &Path) -> Result<()> {
        let url = self.url(&archive.file)?;
        let (size, sha256) = (archive.size, archive.sha256.clone());
        let file = PublishedFile { name: archive.file.clone(), url: url.to_string(), size, sha256 };
        let brought = match url.to_file_path() {
            Ok(path) if url.scheme() == "file" => models::copy(&file, &path, goal),
            _ => match Downloader::new() {
                Ok(downloader) => downloader.fetch(&file, goal, |_| ()).await,
                Err(error) => Err(error),
            },
        };
        brought.map_err(|error| {
            let exit = if matches!(error, InstallError::File { .. }) { Exit::Usage } else { Exit::Unreachable };
            Failure::new(exit, format!("nothing was changed: {error}"))
        })
    }

    /// Returns the bytes of the list, or of the file beside it whose name ends so as well.
    async fn bring(&self, ending: &str) -> Result<Vec<u8>> {
        let place = format!("{}{ending}", self.list);
        if !place.contains("://") {
            return fs::read(&place).map_err(|error| Failure::file(Path::new(&place), error));
        }
        let fetched = Fetcher::new(NetworkPolicy::default())?.get(&place, &HeaderMap::new()).await;
        let failed = |why: String| Failure::unreachable(format!("{place} gives no list of versions: {why}"));
        let fetched = fetched.map_err(|error| failed(with_causes(&error.to_string(), &error)))?;
        if fetched.status != StatusCode::OK {
            return Err(failed(format!("it answers with {}", fetched.status)));
        }
        Ok(fetched.body.to_vec())
    }

    /// Returns the address of a file that the list names.
    fn url(&self, file: &str) -> Result<Url> {
        let list = if self.list.contains("://") {
            Url::parse(&self.list).ok()
        } else {
            std::path::absolute(&self.list).ok().and_then(|path| Url::from_file_path(path).ok())
        };
        let url = list.and_then(|list| list.join(file).ok());
        url.ok_or_else(|| Failure::usage(format!("{file} has no address beside {}", self.list)))
    }
}

impl ReleaseList {
    fn archive_for(&self, platform: &str) -> Result<&ReleaseArchive> {
        self.archives.iter().find(|archive| archive.platform == platform).ok_or_else(|| {
            let there: Vec<_> = self.archives.iter().map(|archive| archive.platform.as_str()).collect();
            Failure::usage(format!("mgp {} is not there for {platform}", self.version))
                .hint(format!("it is there for {}; or build it from its sources", there.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests;
