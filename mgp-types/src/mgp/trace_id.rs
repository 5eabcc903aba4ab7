//! The id that ties the events of one request together (§6.5).

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU128;
use std::str::FromStr;

use crate::hex;
use crate::macros::text_traits;

/// The id that ties together the events of one request across servers (§6.5): a UUID.
///
/// The 128 bits are those of the trace id of W3C Trace Context, so either form can be made of the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// The error of a text that is no trace id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a trace id: expected a UUID or 32 hexadecimal digits, not all zero")]
pub struct TraceIdError;

impl TraceId {
    /// Returns a new id, for a chain of requests that begins here. It differs from all others, and is no secret.
    pub fn random() -> Self {
        let hash = || RandomState::new().hash_one(());
        Self::from_random((u128::from(hash()) << 64 | u128::from(hash())).to_ne_bytes())
    }

    /// Creates an id of these random bytes, marked as a random UUID (version 4).
    pub fn from_random(bytes: [u8; 16]) -> Self {
        let bits = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62);
        let marked = bits | (0x4 << 76) | (0b10 << 62);
        Self(NonZeroU128::new(marked).unwrap_or(NonZeroU128::MIN))
    }

    /// Returns the id with these bits; `None` if no bit is set.
    pub const fn from_u128(bits: u128) -> Option<Self> {
        match NonZeroU128::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// Returns the bits.
    pub const fn as_u128(self) -> u128 {
        self.0.get()
    }

    /// Returns the id within a `traceparent` of W3C Trace Context; `None` for any other text.
    pub fn from_traceparent(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let (version, id, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, len| {
            text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let well_formed = is_hex(version, 2) && is_hex(id, 32) && is_hex(span, 16) && is_hex(flags, 2);
        // Version ff is forbidden, and version 00 has exactly four parts.
        let is_known = version != "ff" && (version != "00" || parts.next().is_none());
        (well_formed && is_known && span.bytes().any(|b| b != b'0')).then(|| id.parse().ok()).flatten()
    }

    /// Returns a `traceparent` of W3C Trace Context with this id and the given span, not sampled.
    pub fn to_traceparent(self, span: u64) -> String {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        text.push_str(as_text(&hex::<32>(&self.0.get().to_be_bytes())));
        text.push('-');
        text.push_str(as_text(&hex::<16>(&span.max(1).to_be_bytes())));
        text.push_str("-00");
        text
    }

    /// Returns the characters of the UUID.
    pub fn to_uuid(self) -> [u8; 36] {
        let digits = hex::<32>(&self.0.get().to_be_bytes());
        let mut uuid = [b'-'; 36];
        for (to, from) in [(0..8, 0..8), (9..13, 8..12), (14..18, 12..16), (19..23, 16..20), (24..36, 20..32)]
        {
            uuid[to].copy_from_slice(&digits[from]);
        }
        uuid
    }
}

/// The places of the dashes in a UUID.
const DASHES: [usize; 4] = [8, 13, 18, 23];

fn as_text(ascii: &[u8]) -> &str {
    std::str::from_utf8(ascii).unwrap_or_default()
}

crate::write_as!(Display of TraceId, self => "{}", as_text(&self.to_uuid()));

impl FromStr for TraceId {
    type Err = TraceIdError;

    fn from_str(text: &str) -> Result<Self, TraceIdError> {
        let bytes = text.as_bytes();
        let dashed = bytes.len() == 36 && DASHES.iter().all(|&place| bytes[place] == b'-');
        if !dashed && bytes.len() != 32 {
            return Err(TraceIdError);
        }
        let mut digits = text.bytes().enumerate().filter(|(place, _)| !dashed || !DASHES.contains(place));
        let bits = digits.try_fold(0_u128, |bits, (_, byte)| {
            let digit = char::from(byte).to_digit(16)?;
            Some(bits << 4 | u128::from(digit))
        });
        bits.and_then(Self::from_u128).ok_or(TraceIdError)
    }
}

text_traits!(TraceId: DebugAsDisplay, SerializeDisplay, DeserializeFromStr);

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-6.3-04
    #[test]
    fn an_id_is_a_uuid_on_the_wire() {
        let text = "550e8400-e29b-41d4-a716-446655440000";
        let id: TraceId = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!("550E8400E29B41D4A716446655440000".parse(), Ok(id));
        let minted = TraceId::from_random([0xff; 16]).to_string();
        assert_eq!(&minted[14..15], "4");
        assert_eq!(&minted[19..20], "b");
    }

    #[test]
    fn a_traceparent_holds_the_same_id() {
        let id: TraceId = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736".parse().unwrap();
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceId::from_traceparent(header), Some(id));
        assert_eq!(id.to_traceparent(0x00f0_67aa_0ba9_02b7), header.replace("-01", "-00"));
        for bad in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(TraceId::from_traceparent(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for bad in
            ["", "trace", "550e8400-e29b-41d4-a716-44665544000g", "00000000-0000-0000-0000-000000000000"]
        {
            assert!(bad.parse::<TraceId>().is_err(), "{bad}");
        }
    }
}
