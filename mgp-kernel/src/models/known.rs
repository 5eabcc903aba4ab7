//! The models that can be installed, as they are published.

/// A published model.
#[derive(Debug)]
pub(crate) struct PublishedModel {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) licence: &'static str,
    pub(crate) files: &'static [PublishedFile],
}

/// A file of a model, at one revision.
#[derive(Debug)]
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
pub(crate) const KNOWN: &[PublishedModel] = &[PublishedModel {
    name: "all-MiniLM-L6-v2",
    about: "English sentences, 384 numbers a vector, 6 layers",
    licence: "Apache-2.0",
    files: &[
        PublishedFile {
            name: "config.json",
            url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf/config.json",
            size: 612,
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        },
        PublishedFile {
            name: "tokenizer.json",
            url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf/tokenizer.json",
            size: 466_247,
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        PublishedFile {
            name: "model.safetensors",
            url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf/model.safetensors",
            size: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
    ],
}];

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
        for model in KNOWN {
            assert!(is_name(model.name), "{}", model.name);
            for file in model.files {
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
