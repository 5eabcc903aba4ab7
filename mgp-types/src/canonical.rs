//! The canonical form of a JSON value (RFC 8785) and the SHA-256 digest of it.
//!
//! Two values that mean the same have the same digest, whatever the order of their members, their white space, their
//! escapes, or the way their numbers are written. Numbers that no double holds exactly as they are written, like
//! 9007199254740993 or the largest signed 64-bit integer, which many schemas contain, have no form in RFC 8785;
//! rounding them would give two different values the same digest. They keep all their digits instead, in a canonical
//! spelling that no double is ever written in.

mod tree;

use std::str::FromStr;

use sha2::Digest as _;

use crate::macros::text_traits;
use crate::{RawJson, hex};

pub use self::tree::CanonicalTree;

/// The SHA-256 digest of a JSON value in its canonical form; its text form is hexadecimal.
///
/// ```
/// use mgp_types::RawJson;
/// use mgp_types::canonical::{Digest, digest};
///
/// let digest = digest(&RawJson::parse(r#"{"b": 1.0, "a": "\u0078"}"#)?)?;
/// assert_eq!(digest, mgp_types::canonical::digest(&RawJson::parse(r#"{"a":"x","b":1}"#)?)?);
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of bytes that are in canonical form already.
    pub fn of_canonical(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Returns the digest of a list of parts. The boundaries of the parts count, so that no two lists have one digest.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = sha2::Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Returns the 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

crate::convert!([u8; 32] => Digest, bytes => Self(bytes));

crate::write_as!(
    Display of Digest, self => "{}", std::str::from_utf8(&hex::<64>(&self.0)).unwrap_or_default()
);

crate::write_as!(Debug of Digest, self => "Digest({self})");

impl FromStr for Digest {
    type Err = CanonicalError;

    fn from_str(text: &str) -> Result<Self, CanonicalError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.bytes().all(is_digit) {
            return Err(CanonicalError::NotADigest);
        }
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| CanonicalError::NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

text_traits!(Digest: SerializeDisplay, DeserializeFromStr);

/// Returns the digest of `value`.
///
/// # Errors
/// Fails if the value has no canonical form: see [`CanonicalError`].
pub fn digest(value: &RawJson) -> Result<Digest, CanonicalError> {
    CanonicalTree::read(value).map(|tree| Digest::of_canonical(&tree.to_bytes()))
}

/// The reason why a value has no digest, or a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The value is not JSON that this crate accepts: it is malformed, nested too deep, or has a repeated member.
    #[error("the value is not JSON that can be hashed")]
    NotJson,
    /// The exponent of a number does not fit into 64 bits.
    #[error("a number has an exponent beyond 64 bits")]
    NumberTooLarge,
    /// The text is not 64 hexadecimal digits in lower case.
    #[error("a digest is 64 hexadecimal digits in lower case")]
    NotADigest,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(json: &str) -> Digest {
        digest(&RawJson::parse(json.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_bytes() {
        let known = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(of(" { } ").to_string(), known, "SHA-256 of the two bytes of an empty object");
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        assert_eq!(of(r#"{"a":1,"b":[2,"é"]}"#), of("{ \"b\" : [2.0, \"\\u00e9\"],\n\"a\": 1e0 }"));
        for other in [r#"{"a":1,"b":["é",2]}"#, r#"{"a":1,"b":[2,"e"]}"#, r#"{"a":"1","b":[2,"é"]}"#] {
            assert_ne!(of(r#"{"a":1,"b":[2,"é"]}"#), of(other));
        }
    }

    #[test]
    fn the_boundaries_of_parts_count() {
        let of = |parts: &[&str]| Digest::of_parts(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        for other in [&["ab"][..], &["", "ab"], &["a", "b", ""], &["b", "a"], &[]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
    }

    #[test]
    fn a_hex_digest_is_read_in_one_spelling() {
        let hex = of("{}").to_string();
        assert_eq!(hex.parse::<Digest>().unwrap(), of("{}"));
        for wrong in
            [hex.to_uppercase(), hex[1..].to_owned(), format!("{hex}0"), String::new(), "é".repeat(32)]
        {
            assert_eq!(wrong.parse::<Digest>(), Err(CanonicalError::NotADigest), "{wrong}");
        }
        assert_eq!(serde_json::to_string(&of("{}")).unwrap(), format!("\"{hex}\""));
        assert_eq!(serde_json::from_str::<Digest>(&format!("\"{hex}\"")).unwrap(), of("{}"));
    }

    #[test]
    fn what_was_not_scanned_is_refused_rather_than_hashed() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for json in [deep.as_str(), r#"{"a":1,"a":2}"#] {
            let unscanned: RawJson = serde_json::from_str(json).unwrap();
            assert_eq!(digest(&unscanned), Err(CanonicalError::NotJson));
        }
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// The value with its members the other way round and white space everywhere.
    fn respelled(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::Array(items) => {
                format!("[ {} ]", items.iter().map(respelled).collect::<Vec<_>>().join(" ,\t"))
            }
            serde_json::Value::Object(members) => {
                let member =
                    |(name, value): (&String, _)| format!("{} :\n{}", escaped(name), respelled(value));
                format!("{{ {} }}", members.iter().rev().map(member).collect::<Vec<_>>().join(", "))
            }
            serde_json::Value::String(text) => escaped(text),
            serde_json::Value::Number(number) => {
                let text = number.to_string();
                if text.contains(['.', 'e']) { text } else { format!("{text}.000E+0") }
            }
            other => other.to_string(),
        }
    }

    fn escaped(text: &str) -> String {
        let units: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{}\"", units.concat())
    }

    proptest! {
        #[test]
        fn the_order_of_members_and_all_spelling_leave_the_digest_as_it_is(value in value()) {
            prop_assert_eq!(of(&value.to_string()), of(&respelled(&value)));
        }

        #[test]
        fn different_integers_have_different_digests(a: i128, b: i128) {
            prop_assert_eq!(of(&a.to_string()) == of(&b.to_string()), a == b);
            prop_assert_ne!(of(&a.to_string()), of(&(a ^ 1).to_string()));
        }

        #[test]
        fn what_rfc_8785_can_write_is_written_so(value in value()) {
            // Only integers beyond 2^53 differ; this makes every number a double.
            let doubles: serde_json::Value = serde_json::from_slice(
                &serde_json_canonicalizer::to_vec(&value).unwrap()).unwrap();
            let raw = RawJson::from_value(&doubles).unwrap();
            let ours = CanonicalTree::read(&raw).unwrap().to_bytes();
            let theirs = serde_json_canonicalizer::to_vec(&doubles).unwrap();
            prop_assert_eq!(String::from_utf8(ours).unwrap(), String::from_utf8(theirs).unwrap());
        }

        #[test]
        fn a_digest_is_read_as_it_is_written(bytes: [u8; 32]) {
            let digest = Digest::from(bytes);
            prop_assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        }
    }
}
