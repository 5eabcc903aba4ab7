//! The sealed handle that carries a client's grants in the era without sessions.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use mgp_types::mgp::{PermissionResponse, Timestamp};
use mgp_types::{Principal, random_bytes};

/// A key that seals grants into a handle. The handle can be opened only with this key, only for the principal that it
/// was made for, and only until its end. Server instances that answer for each other need the same key.
#[derive(Clone)]
pub struct HandleKey(XChaCha20Poly1305);

impl HandleKey {
    /// Returns a random key that only this process has.
    ///
    /// # Panics
    /// Panics if the system has no random numbers: a process that does not start is better than a key that can be
    /// guessed.
    pub fn random() -> Self {
        Self::new(random_bytes())
    }

    /// Returns the key made of these bytes.
    pub fn new(key: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&key.into()))
    }

    /// Returns the handle for `grants` of `principal`, which can be opened before `end`.
    pub(super) fn seal(
        &self,
        grants: &PermissionResponse,
        principal: Option<&Principal>,
        end: Timestamp,
    ) -> Option<String> {
        let mut plain = end.as_millis().to_be_bytes().to_vec();
        plain.extend(serde_json::to_vec(grants).ok()?);
        let nonce: [u8; NONCE] = random_bytes();
        let purpose = purpose(principal);
        let sealed = self.0.encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &purpose }).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Returns the grants in `handle`; `None` if it was not made for this principal, or has ended.
    pub(super) fn open(
        &self,
        handle: &str,
        principal: Option<&Principal>,
        now: Timestamp,
    ) -> Option<PermissionResponse> {
        let sealed = URL_SAFE_NO_PAD.decode(handle).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: &purpose(principal) };
        let plain = self.0.decrypt(&XNonce::from(*nonce), payload).ok()?;
        let (end, grants) = plain.split_first_chunk::<8>()?;
        if now.as_millis() >= i64::from_be_bytes(*end) {
            return None;
        }
        serde_json::from_slice(grants).ok()
    }
}

impl fmt::Debug for HandleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandleKey(***)")
    }
}

/// Returns the data to which a handle is bound. No principal differs from a principal with an empty name.
fn purpose(principal: Option<&Principal>) -> Vec<u8> {
    let mut purpose = b"mgp permission grants".to_vec();
    if let Some(principal) = principal {
        purpose.push(0);
        purpose.extend_from_slice(principal.kind().as_str().as_bytes());
        purpose.push(0);
        purpose.extend_from_slice(principal.as_str().as_bytes());
    }
    purpose
}

/// The length of the nonce, in bytes.
const NONCE: usize = 24;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    #[test]
    fn a_handle_opens_for_its_principal_until_its_end() {
        let key = HandleKey::new([7; 32]);
        let grants = PermissionResponse::new("perm-1", BTreeMap::new());
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let handle = key.seal(&grants, Some(&ada), at(100)).unwrap();
        assert_eq!(key.open(&handle, Some(&ada), at(99)), Some(grants));
        assert_eq!(key.open(&handle, Some(&ada), at(100)), None);
        assert_eq!(key.open(&handle, Some(&bob), at(99)), None);
        assert_eq!(key.open(&handle, None, at(99)), None);
        assert_eq!(HandleKey::random().open(&handle, Some(&ada), at(99)), None);
        for at_byte in 0..handle.len() {
            let mut changed = handle.clone().into_bytes();
            changed[at_byte] = if changed[at_byte] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open(std::str::from_utf8(&changed).unwrap(), Some(&ada), at(99)), None);
        }
    }
}
