//! The copy of inspected code from which a server runs, so that exactly the inspected code runs.

use std::io;
use std::path::{Path, PathBuf};

use mgp_discovery::registry::InspectedCode;
use tempfile::TempDir;

/// The copy of a server's code. The copy is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct CodeCopy {
    folder: TempDir,
    script: PathBuf,
}

impl CodeCopy {
    /// Writes the code as it was read for inspection into a new folder of the kernel's own. May block.
    pub(crate) fn new(state: &Path, code: &InspectedCode) -> io::Result<Self> {
        let copies = copies(state);
        std::fs::create_dir_all(&copies)?;
        let folder = tempfile::Builder::new().prefix("code-").tempdir_in(copies)?;
        for (file, content) in &code.files {
            let path = folder.path().join(&file.path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, content)?;
        }
        let script = folder.path().join(&code.script);
        Ok(Self { folder, script })
    }

    /// Returns the folder of the copy.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the script within the copy.
    pub(crate) fn script(&self) -> &Path {
        &self.script
    }
}

/// Returns the folder of the copies.
pub(crate) fn copies(state: &Path) -> PathBuf {
    state.join("inspected")
}
