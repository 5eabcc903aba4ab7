//! The code of a server, as it was inspected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ServerRegistration;

/// A file of the code of a server: the script itself, or one that it loads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "made by the inspector")]
pub struct CodeFile {
    /// The path from the folder that holds all of the code, with `/` between its parts.
    pub path: String,
    /// The digest of the contents.
    pub digest: String,
}

/// The code of a server at its inspection: the bytes that were read are the bytes that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by the inspector")]
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

impl InspectedCode {
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
        let changed: BTreeSet<String> = paths.map(|path| (*path).to_owned()).collect();
        if changed.is_empty() { vec!["the script".to_owned()] } else { changed.into_iter().collect() }
    }

    /// Returns the server with this code pinned.
    pub(super) fn with_code(self, code: Option<&InspectedCode>) -> Self {
        let digest = code.map(|code| code.digest.clone());
        Self { digest, files: code.map(InspectedCode::pinned).unwrap_or_default(), ..self }
    }
}
