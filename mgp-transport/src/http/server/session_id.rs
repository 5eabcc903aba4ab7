//! The random ids of HTTP sessions.

use std::hash::{Hash, Hasher};

use http::HeaderValue;
use mgp_types::hex;

/// The id of a session: 128 random bits, as the hexadecimal digits that travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionId([u8; DIGITS]);

impl SessionId {
    /// Creates a random id.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bits = [0; DIGITS / 2];
        getrandom::fill(&mut bits)?;
        Ok(Self(hex(&bits)))
    }

    /// Returns the id with these digits; `None` if their number is wrong.
    pub(super) fn parse(digits: &[u8]) -> Option<Self> {
        digits.try_into().ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn to_header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).unwrap_or(HeaderValue::from_static(""))
    }

    pub(super) fn last_byte(self) -> u8 {
        self.0[DIGITS - 1]
    }
}

impl Hash for SessionId {
    /// Hashes eight of the digits: they are random, and a map only ever holds ids that this server made.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (parts, _) = self.0.as_chunks::<8>();
        state.write_u64(parts.first().map_or(0, |part| u64::from_le_bytes(*part)));
    }
}

const DIGITS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_travel() {
        let (one, other) = (SessionId::random().unwrap(), SessionId::random().unwrap());
        assert_ne!(one, other);
        assert!(one.as_str().bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_eq!(SessionId::parse(one.to_header().as_bytes()), Some(one));
        assert_eq!(SessionId::parse(b"short"), None);
    }
}
