//! References to data that go from server to server, without passing through the client.

use serde::{Deserialize, Serialize};

use super::{StructuredError, written};
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::Timestamp;
use crate::{RawJson, hex};

words! {
    /// The algorithm of a checksum.
    ChecksumAlgorithm {
        /// SHA-256.
        Sha256 = "sha256",
        /// MD5, which proves nothing against somebody who wants to deceive; it is read and never written.
        Md5 = "md5",
    }

    /// The state of an import.
    ImportStatus {
        /// The data is there.
        Imported = "imported",
        /// The data is on its way.
        Pending = "pending",
        /// The data did not come.
        Failed = "failed",
    }
}

/// The checksum of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Checksum {
    /// The algorithm.
    pub algorithm: ChecksumAlgorithm,
    /// The checksum in hexadecimal digits.
    pub value: Box<str>,
}

impl Checksum {
    /// Creates a checksum by SHA-256.
    pub fn sha256(digest: &[u8; 32]) -> Self {
        let digits: [u8; 64] = hex(digest);
        Self { algorithm: ChecksumAlgorithm::Sha256, value: String::from_utf8_lossy(&digits).into() }
    }

    fn read(algorithm: &str, value: &str) -> Option<Self> {
        let algorithm = ChecksumAlgorithm::read(algorithm)?;
        let digits = match algorithm {
            ChecksumAlgorithm::Sha256 => 64,
            ChecksumAlgorithm::Md5 => 32,
        };
        let is_hex = value.len() == digits && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| Self { algorithm, value: value.to_ascii_lowercase().into() })
    }
}

/// The forms in which peers write a checksum: an object, or a text like `sha256:8557…`.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenChecksum {
    Object { algorithm: Box<str>, value: Box<str> },
    Text(Box<str>),
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match WrittenChecksum::deserialize(deserializer)? {
            WrittenChecksum::Object { algorithm, value } => Self::read(&algorithm, &value),
            WrittenChecksum::Text(text) => {
                text.split_once(':').and_then(|(algorithm, value)| Self::read(algorithm, value))
            }
        };
        read.ok_or_else(|| {
            serde::de::Error::custom("a checksum is `sha256` or `md5` and its hexadecimal digits")
        })
    }
}

record! {
    /// A reference to data that a server holds, for another server to fetch.
    pub struct DataReference shows ref_id, origin_server: Eq {
        /// The id of the reference.
        required ref_id: into Box<str>;
        /// The server that holds the data.
        required origin_server: into Box<str>;
        /// The media type of the data.
        required mime_type: into Box<str>;
        /// The size of the data in bytes.
        optional size_bytes: u64;
        /// The moment at which the reference ends.
        optional expires_at: Timestamp;
        /// The signed address of the data. Whoever has it gets the data, so it is no text for logs or models.
        optional access_url: Box<str>;
        /// The checksum of the data.
        optional checksum: Checksum;
    }

    /// The params of `mgp/data/import`: fetch this data from its server.
    pub struct ImportData: Eq {
        /// The id of the reference.
        required ref_id: into Box<str>;
        /// The server that holds the data.
        required origin_server: into Box<str>;
        /// The form that the data is to be brought into.
        optional target_format: Box<str>;
    }

    /// The result of `mgp/data/import`.
    pub struct ImportedData {
        /// The state of the import.
        required status: ImportStatus;
        /// The name of the data at the server that fetched it.
        optional imported_resource_id: Box<str>;
        /// The number of rows that were imported.
        optional rows_imported: u64;
        /// The operation whose progress tells how the import goes on.
        optional operation_id: Box<str>;
        /// The reason for which the import failed.
        optional error: StructuredError;
    }
}

impl DataReference {
    /// The member of a content block's `_meta` that holds a reference.
    pub const MEMBER: &'static str = "data_reference";
    /// The scheme of the addresses that name a reference without giving its data away.
    pub const SCHEME: &'static str = "mgp-ref";

    /// Returns the address that names the reference and gives nothing away: `mgp-ref://origin/id`.
    pub fn uri(&self) -> String {
        format!("{}://{}/{}", Self::SCHEME, self.origin_server, self.ref_id)
    }

    /// Returns the reference as JSON.
    pub fn to_raw(&self) -> RawJson {
        written(self)
    }
}

impl ImportedData {
    /// Creates the answer that the data is there under this name.
    pub fn imported(resource_id: impl Into<Box<str>>) -> Self {
        Self { imported_resource_id: Some(resource_id.into()), ..Self::new(ImportStatus::Imported) }
    }

    /// Creates the answer that the data is on its way.
    pub fn pending(operation_id: impl Into<Box<str>>) -> Self {
        Self { operation_id: Some(operation_id.into()), ..Self::new(ImportStatus::Pending) }
    }

    /// Creates the answer that the data did not come.
    pub fn failed(error: StructuredError) -> Self {
        Self { error: Some(error), ..Self::new(ImportStatus::Failed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: EXT-09-01
    #[test]
    fn a_reference_has_a_uri_and_hides_its_address() {
        let mut reference = DataReference::new("ref-01", "amplitude", "application/json");
        reference.access_url = Some("https://broker.example/data/ref-01?sig=ab&exp=1".into());
        assert_eq!(reference.uri(), "mgp-ref://amplitude/ref-01");
        assert!(!format!("{reference:?}").contains("sig="), "an address is no text for logs");
    }
}
