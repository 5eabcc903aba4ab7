//! The folders in which kernels keep their state.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Returns the state directory of the kernel of a folder whose `mgp.toml` is `file`, in canonical form, within that of its user.
pub(crate) fn folder_state(users: &Path, file: &Path) -> PathBuf {
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let name: [u8; 16] = mgp_types::hex(&digest[..8]);
    users.join(FOLDER_KERNELS).join(String::from_utf8_lossy(&name).as_ref())
}

/// Returns the state directory of the user whose kernel keeps its state in `state`: the same, unless the kernel is that
/// of a folder.
pub(crate) fn users_state(state: &Path) -> &Path {
    state.parent().filter(|above| above.ends_with(FOLDER_KERNELS)).and_then(Path::parent).unwrap_or(state)
}

/// Returns the state directories within that of a user: its own, and those of the kernels of folders.
pub(crate) fn states_of(users: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(users.join(FOLDER_KERNELS)).into_iter().flatten().flatten();
    std::iter::once(users.to_owned()).chain(folders.map(|entry| entry.path())).collect()
}

/// The folder within a user's state directory with the states of the kernels of folders.
const FOLDER_KERNELS: &str = "kernels";
