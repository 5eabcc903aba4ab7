//! The sentence encoders that `mgp model` installs for searches by meaning: as they are published, and the folder of those
//! that are installed.

mod download;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use http::StatusCode;
use mgp_types::hex;
use serde::Deserialize;

pub(crate) use self::download::Downloader;
use crate::state_folder::{digest_of, users_folder};

/// A published model.
#[derive(Debug, Deserialize)]
pub(crate) struct PublishedModel {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) licence: &'static str,
    pub(crate) files: Vec<PublishedFile>,
}

/// A file of a model, at one revision.
#[derive(Debug, Deserialize)]
pub(crate) struct PublishedFile {
    pub(crate) name: String,
    pub(crate) url: String,
    /// The length in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of the contents, in hexadecimal digits.
    pub(crate) sha256: String,
}

impl PublishedModel {
    /// Returns the length of all files in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The models that can be installed; the first one is the usual one.
pub(crate) static KNOWN: LazyLock<Vec<PublishedModel>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("known.json"))
        .expect("the file is part of the program, and its test reads it")
});

/// The folder in which each installed model has a folder of its own.
#[derive(Debug, Clone)]
pub(crate) struct ModelStore {
    pub(crate) folder: PathBuf,
}

/// The reason why a file or a model is not installed. What was brought of it stays, unless it is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(transparent)]
    Tls(#[from] mgp_types::Error),
    #[error("{0} is not an address of https")]
    NotHttps(String),
    #[error("{url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} answers with {status}")]
    Refused { url: String, status: StatusCode },
    #[error("{0} leads from one address to the next without end")]
    Redirects(String),
    #[error("the download of {url} broke off at {bytes} of {size} bytes")]
    Cut { url: String, bytes: u64, size: u64 },
    #[error("{url} is longer than the published file, which has {size} bytes")]
    TooLong { url: String, size: u64 },
    #[error(
        "{origin} is not the published file: its SHA-256 is {found} instead of {expected}; what was brought is removed"
    )]
    OtherFile { origin: String, found: String, expected: String },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
}

/// Returns the error of a file that cannot be used.
fn at(path: &Path) -> impl Fn(io::Error) -> InstallError + use<> {
    let path = path.to_owned();
    move |error| InstallError::File { path: path.clone(), error }
}

impl ModelStore {
    /// Returns the store of the user, in the directory where the system has the data of programs; `None` without a home.
    pub(crate) fn of_user() -> Option<Self> {
        Some(Self { folder: users_folder("XDG_DATA_HOME", ".local/share")?.join("models") })
    }

    /// Returns the folder of a model, whether or not it is installed.
    pub(crate) fn folder(&self, model: &PublishedModel) -> PathBuf {
        self.folder.join(model.name)
    }

    /// Returns whether all files of a model are there. What is in them was checked when they were installed.
    pub(crate) fn has(&self, model: &PublishedModel) -> bool {
        let folder = self.folder(model);
        model.files.iter().all(|file| has_length(&folder.join(&file.name), file.size))
    }

    /// Returns the first of the known models that is installed.
    pub(crate) fn installed(&self) -> Option<&'static PublishedModel> {
        KNOWN.iter().find(|model| self.has(model))
    }

    /// Installs a model from the hub. Files that are there and as they were published are kept, and a file of which a
    /// part is there is continued. `on_progress` is told how many bytes of the model are there.
    pub(crate) async fn download(
        &self,
        model: &PublishedModel,
        downloader: &Downloader,
        mut on_progress: impl FnMut(u64),
    ) -> Result<(), InstallError> {
        let folder = self.made(model)?;
        let mut done = 0;
        for file in &model.files {
            let goal = folder.join(&file.name);
            let is_there = has_length(&goal, file.size) && sha256(&goal).is_ok_and(|it| it == file.sha256);
            if !is_there {
                downloader.fetch(file, &goal, |bytes| on_progress(done + bytes)).await?;
            }
            done += file.size;
            on_progress(done);
        }
        Ok(())
    }

    /// Installs a model from a folder that has its files.
    pub(crate) fn copy(&self, model: &PublishedModel, from: &Path) -> Result<(), InstallError> {
        let folder = self.made(model)?;
        let mut files = model.files.iter();
        files.try_for_each(|file| copy(file, &from.join(&file.name), &folder.join(&file.name)))
    }

    /// Removes a model, and what there is of one that was not installed to the end. Returns whether there was anything.
    pub(crate) fn remove(&self, model: &PublishedModel) -> Result<bool, InstallError> {
        let path = self.folder(model);
        match fs::remove_dir_all(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&path)(error)),
        }
    }

    fn made(&self, model: &PublishedModel) -> Result<PathBuf, InstallError> {
        let path = self.folder(model);
        fs::create_dir_all(&path).map_err(at(&path))?;
        Ok(path)
    }
}

/// Returns the path of a file that is not complete yet.
fn part(goal: &Path) -> PathBuf {
    goal.with_added_extension("part")
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
fn sha256(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&hex::<64>(&digest_of(path)?)).into_owned())
}

fn has_length(path: &Path, size: u64) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.len() == size)
}

/// Copies a file if it is the published one. It takes its place when it is complete.
pub(crate) fn copy(file: &PublishedFile, from: &Path, goal: &Path) -> Result<(), InstallError> {
    let part = part(goal);
    let unwritable = at(&part);
    let source = File::open(from).map_err(at(from))?;
    let mut written = File::create(&part).map_err(&unwritable)?;
    // A file that is longer than the published one is another one, and need not be copied to its end.
    io::copy(&mut source.take(file.size.saturating_add(1)), &mut written).map_err(&unwritable)?;
    let found = sha256(&part).map_err(&unwritable)?;
    if found != file.sha256 {
        let _gone = fs::remove_file(&part);
        let origin = from.display().to_string();
        return Err(InstallError::OtherFile { origin, found, expected: file.sha256.clone() });
    }
    written.sync_all().map_err(&unwritable)?;
    fs::rename(&part, goal).map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use super::*;

    static MODEL: LazyLock<PublishedModel> = LazyLock::new(|| PublishedModel {
        name: "small",
        about: "",
        licence: "",
        files: vec![
            PublishedFile {
                name: "one".to_owned(),
                url: "https://localhost/one".to_owned(),
                size: 3,
                sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
            },
            PublishedFile {
                name: "none".to_owned(),
                url: "https://localhost/none".to_owned(),
                size: 0,
                sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned(),
            },
        ],
    });

    fn source(one: &str) -> tempfile::TempDir {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("one"), one).unwrap();
        fs::write(from.path().join("none"), "").unwrap();
        from
    }

    #[test]
    fn a_model_is_installed_from_a_folder_while_its_files_are_whole_and_removed() {
        let (root, from) = (tempfile::tempdir().unwrap(), source("abc"));
        let store = ModelStore { folder: root.path().join("models") };
        assert!(!store.has(&MODEL));
        store.copy(&MODEL, from.path()).unwrap();
        assert!(store.has(&MODEL));
        assert_eq!(fs::read(store.folder(&MODEL).join("one")).unwrap(), b"abc");
        fs::write(store.folder(&MODEL).join("one"), "ab").unwrap();
        assert!(!store.has(&MODEL), "a file is cut");
        assert!(store.remove(&MODEL).unwrap());
        assert!(!store.folder(&MODEL).exists());
        assert!(!store.remove(&MODEL).unwrap());
    }

    #[test]
    fn files_that_are_not_the_published_ones_are_not_installed() {
        let root = tempfile::tempdir().unwrap();
        let store = ModelStore { folder: root.path().into() };
        for other in ["abd", "ab", "abcd", ""] {
            let error = store.copy(&MODEL, source(other).path()).unwrap_err();
            assert!(matches!(error, InstallError::OtherFile { .. }), "{error}");
            assert_eq!(fs::read_dir(store.folder(&MODEL)).unwrap().count(), 0);
        }
        let error = store.copy(&MODEL, root.path()).unwrap_err();
        assert!(error.to_string().contains("one"), "{error}");
        assert!(!store.has(&MODEL));
    }

    #[test]
    fn names_are_names_of_files_and_addresses_are_pinned() {
        let is_name = |name: &str| {
            !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        };
        for model in &*KNOWN {
            assert!(is_name(model.name), "{}", model.name);
            for file in &model.files {
                assert!(is_name(&file.name), "{}", file.name);
                assert!(file.url.starts_with("https://") && file.url.ends_with(&file.name), "{}", file.url);
                let revision = file.url.split('/').rev().nth(1).unwrap();
                assert!(
                    revision.len() == 40 && revision.chars().all(|c| c.is_ascii_hexdigit()),
                    "{revision}"
                );
                assert_eq!(file.sha256.len(), 64);
            }
        }
    }
}
