//! The models that can be installed, as they are published.

use std::sync::LazyLock;

use serde::Deserialize;

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
    pub(crate) name: &'static str,
    pub(crate) url: &'static str,
    /// The length in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of the contents, in hexadecimal digits.
    pub(crate) sha256: &'static str,
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

/// Returns the model of this name.
pub(crate) fn known(name: &str) -> Option<&'static PublishedModel> {
    KNOWN.iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_files_and_addresses_are_pinned() {
        let is_name = |name: &str| {
            !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        };
        for model in &*KNOWN {
            assert!(is_name(model.name), "{}", model.name);
            for file in &model.files {
                assert!(is_name(file.name), "{}", file.name);
                assert!(file.url.starts_with("https://") && file.url.ends_with(file.name), "{}", file.url);
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
