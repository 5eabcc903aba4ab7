//! Sealed state: text that a client keeps for the server and can neither read nor change, and its binding.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use mgp_types::{Method, Params, Principal};
use sha2::{Digest, Sha256};

/// Seals the text that a client keeps for the server, so that the client can neither read nor change it.
///
/// Instances that answer for each other need the same key. After a change of keys, text that the old one sealed stays
/// readable for as long as it is [`with_previous`](Self::with_previous).
#[derive(Clone)]
pub struct SealingKey {
    current: XChaCha20Poly1305,
    previous: Option<XChaCha20Poly1305>,
}

/// The reasons why a text is not one that this server sealed for this purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsealError {
    /// The text was changed, sealed by another key, or sealed for another purpose.
    #[error("the state was not sealed by this server for this request")]
    Forged,
    /// The time of the text is over.
    #[error("the state has expired")]
    Expired,
}

const NONCE: usize = 24;

impl SealingKey {
    /// Creates a key that only this process has.
    ///
    /// # Panics
    /// The operating system gives no random bytes, so nothing secure can be done.
    pub fn random() -> Self {
        let mut key = [0; 32];
        fill(&mut key);
        Self::new(key)
    }

    /// Creates the key of these bytes.
    pub fn new(key: [u8; 32]) -> Self {
        Self { current: XChaCha20Poly1305::new(&key.into()), previous: None }
    }

    /// Also opens texts that `previous` sealed.
    #[must_use]
    pub fn with_previous(mut self, previous: [u8; 32]) -> Self {
        self.previous = Some(XChaCha20Poly1305::new(&previous.into()));
        self
    }

    /// Seals `content` for `purpose`; it can be opened for the time `ttl`.
    pub fn seal(&self, content: &[u8], purpose: &[u8], ttl: Duration) -> String {
        self.seal_until(content, purpose, now().saturating_add(millis(ttl)))
    }

    fn seal_until(&self, content: &[u8], purpose: &[u8], expiry: u64) -> String {
        let mut nonce = [0; NONCE];
        fill(&mut nonce);
        let mut plain = expiry.to_be_bytes().to_vec();
        plain.extend_from_slice(content);
        let mut sealed = nonce.to_vec();
        let payload = Payload { msg: &plain, aad: purpose };
        let cipher = self.current.encrypt(&XNonce::from(nonce), payload);
        sealed.extend(cipher.expect("encrypting less than 256 GiB into memory does not fail"));
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens a text that was sealed for `purpose`.
    ///
    /// # Errors
    /// This key did not seal the text for this purpose, or its time is over.
    pub fn open(&self, sealed: &str, purpose: &[u8]) -> Result<Vec<u8>, UnsealError> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| UnsealError::Forged)?;
        let (nonce, cipher) = sealed.split_first_chunk::<NONCE>().ok_or(UnsealError::Forged)?;
        let nonce = XNonce::from(*nonce);
        let open = |key: &XChaCha20Poly1305| key.decrypt(&nonce, Payload { msg: cipher, aad: purpose }).ok();
        let plain =
            open(&self.current).or_else(|| open(self.previous.as_ref()?)).ok_or(UnsealError::Forged)?;
        let (expiry, content) = plain.split_first_chunk::<8>().ok_or(UnsealError::Forged)?;
        if now() > u64::from_be_bytes(*expiry) {
            return Err(UnsealError::Expired);
        }
        Ok(content.to_vec())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(***)")
    }
}

fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

/// Returns the milliseconds since 1970.
fn now() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The parameters that may differ in each round: the answers themselves, and the members that MCP and MGP add.
const PER_ROUND: [&str; 5] = ["_meta", "_mgp", "trace_id", "inputResponses", "requestState"];

/// Returns the value that the state of a request with several rounds is bound to: a digest of the principal, the method
/// and the parameters. It is the same in every round.
pub fn binding(principal: Option<&Principal>, method: &Method, params: &Params) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    part(principal.map_or("", |principal| principal.kind().as_str()).as_bytes());
    part(principal.map_or("", Principal::as_str).as_bytes());
    part(method.as_str().as_bytes());
    for (name, value) in params.iter() {
        if !PER_ROUND.contains(&&*name) {
            part(name.as_bytes());
            part(value.as_bytes());
        }
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn what_was_sealed_opens_for_its_purpose_only() {
        let key = SealingKey::random();
        let sealed = key.seal(b"content", b"purpose", MINUTE);
        assert_eq!(key.open(&sealed, b"purpose").unwrap(), b"content");
        assert_eq!(key.open(&sealed, b"another"), Err(UnsealError::Forged));
        assert_eq!(SealingKey::random().open(&sealed, b"purpose"), Err(UnsealError::Forged));
    }

    #[test]
    fn a_change_of_any_byte_is_noticed() {
        let key = SealingKey::random();
        let sealed = key.seal(b"content", b"", MINUTE);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(key.open(std::str::from_utf8(&changed).unwrap(), b"").is_err(), "byte {at}");
        }
        assert!(key.open(&(sealed + "-TAMPERED"), b"").is_err());
        assert!(key.open("", b"").is_err());
    }

    #[test]
    fn the_previous_key_still_opens() {
        let old = SealingKey::new([1; 32]).seal(b"x", b"", MINUTE);
        assert!(SealingKey::new([2; 32]).open(&old, b"").is_err());
        assert!(SealingKey::new([2; 32]).with_previous([1; 32]).open(&old, b"").is_ok());
    }

    #[test]
    fn time_runs_out() {
        let key = SealingKey::random();
        let sealed = key.seal_until(b"x", b"", 1);
        assert_eq!(key.open(&sealed, b""), Err(UnsealError::Expired));
        assert!(key.open(&key.seal(b"x", b"", Duration::MAX), b"").is_ok());
    }

    fn of(principal: &'static str, method: &Method, params: &'static str) -> [u8; 32] {
        binding(Some(&Principal::new(principal)), method, &Params::parse(params).unwrap())
    }

    #[test]
    fn rounds_of_one_request_have_one_binding_and_others_have_others() {
        let first = of("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#);
        let next = of(
            "a",
            &Method::TOOLS_CALL,
            r#"{"name":"t","arguments":{"x":1},"_meta":{},"_mgp":{"deadline_ms":1},"trace_id":"t","inputResponses":{},"requestState":"s"}"#,
        );
        assert_eq!(first, next);
        for other in [
            of("b", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::PROMPTS_GET, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":2}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t"}"#),
            binding(None, &Method::TOOLS_CALL, &Params::new()),
        ] {
            assert_ne!(first, other);
        }
    }
}
