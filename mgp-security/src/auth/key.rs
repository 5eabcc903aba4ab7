use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{StoreError, random};

/// A key as its owner sends it: `mgp_`, the key's number, `_`, and 256 random bits. It is shown once, when it is
/// issued, and kept nowhere.
#[derive(Clone)]
pub struct SecretKey(Box<str>);

/// Which key; no secret. It finds the key and proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u64);

/// What is kept of a key: its SHA-256.
///
/// A slow hash, made for passwords, would buy nothing: it makes guessing dear where there is little to guess, and of
/// 256 random bits nothing can be guessed. It would cost every request milliseconds that anybody can make us spend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyDigest([u8; 32]);

impl SecretKey {
    /// A new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn random() -> Result<(KeyId, Self), StoreError> {
        let bytes: [u8; ID_BYTES + SECRET_BYTES] = random::bytes()?;
        let (id, secret) = bytes.split_at(ID_BYTES);
        let id = KeyId(id.iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)));
        let text = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret));
        Ok((id, Self(text.into())))
    }

    /// The key that somebody was given before, as from the environment.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The key itself, for its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(***)")
    }
}

impl KeyId {
    /// The id within a key, and its secret, if `key` has the form of one.
    pub(super) fn of_key(key: &str) -> Option<(Self, &str)> {
        let (id, secret) = key.strip_prefix(PREFIX).filter(|_| key.len() == KEY_LEN)?.split_once('_')?;
        Some((Self::read(id)?, secret))
    }

    /// The id written as `text`; each id is written in one way only.
    pub fn read(text: &str) -> Option<Self> {
        let digit = |byte| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let digits: &[u8; 2 * ID_BYTES] = text.as_bytes().try_into().ok()?;
        digits.iter().try_fold(0, |bits, byte| Some((bits << 4) | u64::from(digit(*byte)?))).map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl KeyDigest {
    /// What is kept of `key`.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// What a store kept.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// What a store keeps.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are the same, in a time that does not tell how much of them is.
    pub(super) fn matches(&self, other: &Self) -> bool {
        let words = |digest: &Self| {
            let (words, _) = digest.0.as_chunks::<8>();
            [0, 1, 2, 3].map(|at| u64::from_ne_bytes(words[at]))
        };
        words(self).ct_eq(&words(other)).into()
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(***)")
    }
}

const PREFIX: &str = "mgp_";
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// The prefix, 16 digits, `_`, and 43 letters for 32 bytes.
const KEY_LEN: usize = 64;
