//! The sources of a result.

use super::written;
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::Timestamp;
use crate::{Object, RawJson};

words! {
    /// The nearness of a value to its source.
    Confidence {
        /// The value stands in the source.
        Exact = "exact",
        /// The value was computed from the source.
        Derived = "derived",
        /// The value is an approximation.
        Estimated = "estimated",
        /// The value may be wrong.
        Uncertain = "uncertain",
    }
}

record! {
    /// The place in a source.
    pub struct SourceLocation as exhaustive: Default, Eq {
        /// The page.
        optional page: u64;
        /// The paragraph.
        optional paragraph: u64;
        /// The line.
        optional line: u64;
        /// The cell of a table, like `B14`.
        optional cell: Box<str>;
        /// The path in a JSON document.
        optional json_path: Box<str>;
        /// The fragment of an address.
        optional url_fragment: Box<str>;
    }

    /// The source of a value, as the server tells it.
    pub struct Provenance: Eq {
        /// The document, the database or the system.
        required source: into Box<str>;
        /// The place in the source.
        optional location: SourceLocation;
        /// The moment at which the value was read.
        optional retrieved_at: Timestamp;
        /// The version of the source.
        optional version: Box<str>;
        /// The nearness of the value to the source.
        optional confidence: Confidence;
        /// The way in which the value was made from the source.
        optional transformation: Box<str>;
        /// The licence of the source.
        optional license: Box<str>;
        /// The sources of the source.
        list derived_from: Box<str>;
    }
}

/// The most sources that are read from one result.
pub const MAX_SOURCES: usize = 64;

/// The most bytes of the sources of one result.
const MAX_SOURCES_BYTES: usize = 16 * 1024;

impl Provenance {
    /// Reads the sources in the metadata of a result or of a block of its content: one object or an array of them.
    ///
    /// Sources beyond [`MAX_SOURCES`] or 16 KiB are not read; those that have no name are left out.
    pub fn read(meta: &Object) -> Unverified<Vec<Self>> {
        let sources = meta.get("provenance").filter(|raw| raw.as_bytes().len() <= MAX_SOURCES_BYTES);
        let read = sources.map_or_else(Vec::new, |raw| match raw.to::<Vec<RawJson>>() {
            Ok(list) => list.iter().take(MAX_SOURCES).filter_map(|one| one.to().ok()).collect(),
            Err(_) => raw.to().into_iter().collect(),
        });
        Unverified(read)
    }

    /// Returns the sources as JSON: an object for one, an array for more.
    pub fn to_raw(sources: &[Self]) -> RawJson {
        match sources {
            [one] => written(one),
            more => written(more),
        }
    }
}

/// A value that a peer claims and nobody has checked: good for a citation, and no proof.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unverified<T>(T);

impl<T> Unverified<T> {
    /// Returns the claim.
    pub const fn claim(&self) -> &T {
        &self.0
    }

    /// Returns the claim, without the mark that nobody has checked it.
    pub fn into_claim(self) -> T {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(provenance: &str) -> Vec<Provenance> {
        Provenance::read(&Object::parse(format!(r#"{{"provenance":{provenance}}}"#)).unwrap()).into_claim()
    }

    // covers: EXT-07-01..05, EXT-07-08
    #[test]
    fn sources_are_one_object_or_an_array_with_place_time_version_and_confidence() {
        let one = concat!(
            r#"{"source":"invoice_v2.pdf","location":{"page":3,"paragraph":2,"line":1,"cell":"B14","json_path":"$.a","#,
            r#""url_fragment":"t"},"retrieved_at":"2026-03-10T14:22:00.000Z","version":"v2.1","#,
            r#""confidence":"derived","transformation":"SUM of rows","license":"CC-BY-4.0","derived_from":["a"]}"#
        );
        let sources = read(one);
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].confidence, Some(Confidence::Derived));
        assert_eq!(Provenance::to_raw(&sources).as_bytes(), one.as_bytes());
        let two = format!(r#"[{one},{{"source":"x"}},{{"page":1}},7]"#);
        let sources = read(&two);
        assert_eq!(sources.iter().map(|source| &*source.source).collect::<Vec<_>>(), ["invoice_v2.pdf", "x"]);
        assert!(Provenance::to_raw(&sources).as_bytes().starts_with(b"["));
        assert!(read(r#"{"location":{"page":3}}"#).is_empty(), "a source has a name");
    }

    // covers: EXT-07-07
    #[test]
    fn sources_are_a_claim_and_bounded() {
        let claim: Unverified<Vec<Provenance>> =
            Provenance::read(&Object::parse(r#"{"provenance":{"source":"x"}}"#).unwrap());
        assert_eq!(&*claim.claim()[0].source, "x");
        assert_eq!(read(&format!("[{}]", vec![r#"{"source":"x"}"#; 100].join(","))).len(), MAX_SOURCES);
        assert!(read(&format!(r#"{{"source":"{}"}}"#, "x".repeat(MAX_SOURCES_BYTES))).is_empty());
    }
}
