//! The code of a server, as it was inspected.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ServerRegistration;

/// A file of the code of a server: the script itself, or one that it loads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeFile {
    /// The path from the folder that holds all of the code, with `/` between its parts.
    pub path: String,
    /// The digest of the contents.
    pub digest: String,
}

/// The code of a server at its inspection: the bytes that were read are the bytes that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedCode {
    /// The digest of all files, of their paths and their contents.
    pub digest: String,
    /// The script, by its path among the files.
    pub script: String,
    /// The files, each with its contents, in the order of their paths.
    pub files: Vec<(CodeFile, Arc<[u8]>)>,
}

/// The code that a server may be started with, and the argument that names the script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovedCode {
    /// The code.
    pub code: InspectedCode,
    /// The index of the argument, from 0.
    pub argument: usize,
}

impl CodeFile {
    /// Creates a file of this path and digest.
    pub fn new(path: impl Into<String>, digest: impl Into<String>) -> Self {
        Self { path: path.into(), digest: digest.into() }
    }
}

impl InspectedCode {
    /// Creates the code of these files, with one digest of them all.
    pub fn new(
        digest: impl Into<String>,
        script: impl Into<String>,
        files: Vec<(CodeFile, Arc<[u8]>)>,
    ) -> Self {
        Self { digest: digest.into(), script: script.into(), files }
    }

    pub(super) fn pinned(&self) -> Vec<CodeFile> {
        self.files.iter().map(|(file, _)| file.clone()).collect()
    }
}

impl ServerRegistration {
    /// Returns the paths of files that are new, gone or changed in the code that was found now.
    pub(super) fn changes(&self, found: Option<&InspectedCode>) -> Vec<String> {
        if self.digest.as_deref() == found.map(|code| code.digest.as_str()) {
            return Vec::new();
        }
        let before: BTreeMap<_, _> = self.files.iter().map(|file| (&*file.path, &*file.digest)).collect();
        let files = found.map(|code| code.files.as_slice()).unwrap_or_default();
        let now: BTreeMap<_, _> = files.iter().map(|(file, _)| (&*file.path, &*file.digest)).collect();
        let paths = before.keys().chain(now.keys()).filter(|path| before.get(**path) != now.get(**path));
        let mut changed: Vec<String> = paths.map(|path| (*path).to_owned()).collect();
        changed.sort();
        changed.dedup();
        if changed.is_empty() {
            changed.push("the script".to_owned());
        }
        changed
    }

    /// Returns the server with this code pinned.
    pub(super) fn with_code(self, code: Option<&InspectedCode>) -> Self {
        let digest = code.map(|code| code.digest.clone());
        Self { digest, files: code.map(InspectedCode::pinned).unwrap_or_default(), ..self }
    }
}
