//! The folders in which kernels keep their state.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use mgp_discovery::{AtomicFile, FileReaders};
use mgp_store::disk_room;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Returns the user's folder for what this program keeps of a kind: in the one that `variable` names, or else the usual one, which
/// lies in `otherwise` in the home directory where systems have that; `None` without a home.
pub fn users_folder(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || match set("LOCALAPPDATA").filter(|_| cfg!(windows)) {
        Some(local) => Some(local.join("mgp").join(Path::new(otherwise).file_name()?)),
        None => Some(std::env::home_dir()?.join(otherwise).join("mgp")),
    };
    set(variable).map(|folder| folder.join("mgp")).or_else(usual)
}

/// Returns the state directory of the kernel of a folder whose `mgp.toml` is `file`, in canonical form, within that of its user.
pub fn folder_state(users: &Path, file: &Path) -> PathBuf {
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let name: [u8; 16] = mgp_types::hex(&digest[..8]);
    users.join(FOLDER_KERNELS).join(String::from_utf8_lossy(&name).as_ref())
}

/// Returns the state directory of the user whose kernel keeps its state in `state`: the same, unless the kernel is that
/// of a folder.
pub fn users_state(state: &Path) -> &Path {
    state.parent().filter(|above| above.ends_with(FOLDER_KERNELS)).and_then(Path::parent).unwrap_or(state)
}

/// Returns the state directories within that of a user: its own, and those of the kernels of folders.
pub fn states_of(users: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(users.join(FOLDER_KERNELS)).into_iter().flatten().flatten();
    std::iter::once(users.to_owned()).chain(folders.map(|entry| entry.path())).collect()
}

/// Reads a file of the state, which is JSON; `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    match std::fs::read(file) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file of the state as JSON, which only its owner may read.
pub(crate) fn write_json(file: &Path, value: &impl Serialize) -> io::Result<()> {
    AtomicFile::put(file, &serde_json::to_string(value)?, FileReaders::Owner)
}

/// Returns the SHA-256 of the contents of a file.
pub fn digest_of(file: &Path) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(file)?, &mut digest)?;
    Ok(digest.finalize().into())
}

/// The room on the disk that holds a state, in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DiskSpace {
    /// The bytes that the kernel may still write.
    pub free: u64,
    /// The size of the disk, in bytes.
    pub total: u64,
}

impl DiskSpace {
    /// Returns the room on the disk of `state`; `None` if the system does not tell it.
    pub(crate) fn of(state: &Path) -> Option<Self> {
        disk_room(state).map(|(free, total)| Self { free, total })
    }
}

/// The folder within a user's state directory with the states of the kernels of folders.
const FOLDER_KERNELS: &str = "kernels";
