//! New versions of `mgp`: the signed list that names them, and the exchange of this program for the newest one.

mod exchange;
mod package_manager;

use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::{fs, io};

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
    list: Url,
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
    /// No list or no key is known, or one of them has another form.
    pub(crate) fn new(settings: &DownloadSettings) -> Result<Self> {
        let fault = |why: String| {
            let keys =
                "`[downloads]` has `releases`, the address of the list, and `releases_key`, its public key";
            Failure::usage(why).hint(keys)
        };
        let list = settings
            .releases
            .as_deref()
            .ok_or_else(|| fault("no list of versions is configured".to_owned()))?;
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
        let folder = program.parent().unwrap_or(Path::new("."));
        let unwritable = |error: io::Error| {
            let hint = "the folder of the program has to be writable, and its disk to have room";
            Failure::usage(format!("nothing was changed: {}: {error}", folder.display())).hint(hint)
        };
        let fresh = tempfile::Builder::new().prefix(".mgp-").tempdir_in(folder).map_err(unwritable)?;
        let goal = fresh.path().join("archive");
        self.bring_archive(archive, &goal).await.map_err(|error| {
            let exit =
                if matches!(error, InstallError::File { .. }) { Exit::Usage } else { Exit::Unreachable };
            Failure::new(exit, format!("nothing was changed: {error}"))
        })?;
        exchange::unpack(&goal, fresh.path()).map_err(unwritable)?;
        exchange::exchange(fresh.path(), program).map_err(unwritable)
    }

    async fn bring_archive(&self, archive: &ReleaseArchive, goal: &Path) -> Result<(), InstallError> {
        let url = self.list.join(&archive.file).map_err(|_| InstallError::NotHttps(archive.file.clone()))?;
        let (name, size, sha256) = (archive.file.clone(), archive.size, archive.sha256.clone());
        let file = PublishedFile { name, url: url.to_string(), size, sha256 };
        match url.to_file_path() {
            Ok(path) if url.scheme() == "file" => models::copy(&file, &path, goal),
            _ => Downloader::new()?.fetch(&file, goal, |_| ()).await,
        }
    }
}

/// Returns the bytes of a list of versions, or of its signature.
async fn bring(url: &Url) -> Result<Vec<u8>> {
    let failed = |why: String| Failure::unreachable(format!("{url} cannot be read: {why}"));
    if let Ok(path) = url.to_file_path() {
        return fs::read(path).map_err(|error| failed(error.to_string()));
    }
    let fetched = Fetcher::new(NetworkPolicy::default())?.get(url.as_str(), &HeaderMap::new()).await;
    let fetched = fetched.map_err(|error| failed(with_causes(&error.to_string(), &error)))?;
    if fetched.status == StatusCode::OK {
        Ok(fetched.body.to_vec())
    } else {
        Err(failed(fetched.status.to_string()))
    }
}

#[cfg(test)]
mod tests;
