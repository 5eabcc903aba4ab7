//! The key that seals and opens tokens, and tokens that are accepted once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use foldhash::fast::RandomState;
use mgp_types::random_bytes;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{TokenBinding, TokenError};

/// Seals the tokens that a client keeps for the server, and opens them again.
///
/// Instances that answer for each other need the same key. After a change of keys, tokens that an old one sealed stay
/// readable for as long as it is [`with_previous`](Self::with_previous).
///
/// ```
/// use std::time::Duration;
///
/// use mgp_transport::token::{SealingKey, TokenBinding, TokenError, TokenPurpose};
///
/// let key = SealingKey::random().for_server("docs");
/// let binding = TokenBinding::new(TokenPurpose::SessionState, None);
/// let token = key.seal(b"page 7", &binding, Duration::from_mins(30))?;
/// assert_eq!(key.open(&token, &binding)?, b"page 7");
/// assert_eq!(key.open(&token, &binding.and(b"another call")), Err(TokenError::Forged));
/// # Ok::<(), TokenError>(())
/// ```
#[derive(Clone)]
pub struct SealingKey {
    server: Arc<str>,
    current: CipherKey,
    previous: Vec<CipherKey>,
    /// The time at which the key was made, and the milliseconds since 1970 then.
    began: (Instant, u64),
}

/// One key, and the id by which tokens name it.
#[derive(Clone)]
struct CipherKey {
    id: [u8; KEY_ID],
    cipher: XChaCha20Poly1305,
}

/// The content of a token that was proved.
struct OpenedToken {
    /// A number that no other token has.
    nonce: [u8; NONCE],
    /// The end of the token's time, in milliseconds since 1970.
    expiry: u64,
    content: Vec<u8>,
}

const KEY_ID: usize = 4;
const NONCE: usize = 24;
/// The bytes of a token around its content: the key's id, the nonce, the end of its time, and the proof.
pub(super) const OVERHEAD: usize = KEY_ID + NONCE + 8 + 16;
/// The first part of what is proved with a token; another form of tokens gets another one.
const FORM: &[u8] = b"mgp token 1";

impl SealingKey {
    /// Creates a key that only this process has.
    ///
    /// # Panics
    /// The operating system gives no random bytes, so nothing secure can be done.
    pub fn random() -> Self {
        Self::new(random_bytes())
    }

    /// Creates the key of these bytes.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            server: "".into(),
            current: CipherKey::new(key),
            previous: Vec::new(),
            began: (Instant::now(), time_of_day()),
        }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Opens tokens that `previous` sealed, too. Several keys can be previous ones.
        pub fn with_previous(previous: [u8; 32]) => self.previous.push(CipherKey::new(previous));

        /// Binds all tokens to the server of this name, so that servers with the same key do not take each other's.
        pub fn for_server(name: &str) => self.server = name.into();
    }

    /// Seals `content` for the use that `binding` says; it can be opened for the time `ttl`.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`]: the token would be longer than its purpose allows.
    pub fn seal(&self, content: &[u8], binding: &TokenBinding, ttl: Duration) -> Result<String, TokenError> {
        let bytes = content.len().saturating_add(OVERHEAD);
        if base64::encoded_len(bytes, false).is_none_or(|length| length > binding.purpose.max_bytes()) {
            return Err(TokenError::TooLarge);
        }
        let nonce: [u8; NONCE] = random_bytes();
        let mut plain = self.now().saturating_add(millis(ttl)).to_be_bytes().to_vec();
        plain.extend_from_slice(content);
        let aad = self.proved(binding);
        let payload = Payload { msg: &plain, aad: &aad };
        // Encryption fails for 256 GiB and more only.
        let sealed = self.current.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| TokenError::TooLarge)?;
        Ok(URL_SAFE_NO_PAD.encode([&self.current.id[..], &nonce, &sealed].concat()))
    }

    /// Opens a token that was sealed for the use that `binding` says.
    ///
    /// # Errors
    /// The text is too long, this key did not seal it for this use, or its time is over.
    pub fn open(&self, token: &str, binding: &TokenBinding) -> Result<Vec<u8>, TokenError> {
        self.opened(token, binding).map(|opened| opened.content)
    }

    /// Opens a token whatever its time, to tell whose it was. It entitles to nothing any more.
    ///
    /// # Errors
    /// The text is too long, or this key did not seal it for this use.
    pub fn open_expired(&self, token: &str, binding: &TokenBinding) -> Result<Vec<u8>, TokenError> {
        self.proven(token, binding).map(|opened| opened.content)
    }

    fn opened(&self, token: &str, binding: &TokenBinding) -> Result<OpenedToken, TokenError> {
        let opened = self.proven(token, binding)?;
        if self.now() > opened.expiry { Err(TokenError::Expired) } else { Ok(opened) }
    }

    /// Returns the milliseconds since 1970, which never go back: the later of the time of day, and of the time since
    /// the key was made.
    pub(super) fn now(&self) -> u64 {
        let (began, began_at) = self.began;
        time_of_day().max(began_at.saturating_add(millis(began.elapsed())))
    }

    fn proven(&self, token: &str, binding: &TokenBinding) -> Result<OpenedToken, TokenError> {
        if token.len() > binding.purpose.max_bytes() {
            return Err(TokenError::TooLarge);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| TokenError::Forged)?;
        let (id, rest) = bytes.split_first_chunk::<KEY_ID>().ok_or(TokenError::Forged)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(TokenError::Forged)?;
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let key = keys.find(|key| key.id == *id).ok_or(TokenError::Forged)?;
        let aad = self.proved(binding);
        let payload = Payload { msg: sealed, aad: &aad };
        // The proof is compared in constant time.
        let plain = key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| TokenError::Forged)?;
        let (expiry, content) = plain.split_first_chunk::<8>().ok_or(TokenError::Forged)?;
        Ok(OpenedToken { nonce: *nonce, expiry: u64::from_be_bytes(*expiry), content: content.to_vec() })
    }

    /// Returns what is proved with a token and does not stand in it.
    fn proved(&self, binding: &TokenBinding) -> Vec<u8> {
        let mut proved = FORM.to_vec();
        for part in [self.server.as_bytes(), binding.purpose.word().as_bytes(), &binding.digest] {
            proved.extend_from_slice(&(part.len() as u64).to_be_bytes());
            proved.extend_from_slice(part);
        }
        proved
    }
}

mgp_types::partial_debug!(SealingKey);

impl CipherKey {
    fn new(key: [u8; 32]) -> Self {
        let digest = Sha256::new().chain_update(b"mgp key id").chain_update(key).finalize();
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&digest[..KEY_ID]);
        Self { id, cipher: XChaCha20Poly1305::new(&key.into()) }
    }
}

/// Seals tokens that are accepted once, by the process that sealed them: which ones were used is remembered nowhere
/// else, so that another process with the same key, or this one after a restart, takes none of them.
pub struct SingleUseTokens {
    key: SealingKey,
    process: [u8; 16],
    /// The numbers of the used tokens, with the end of their time.
    spent: Mutex<HashMap<[u8; NONCE], u64, RandomState>>,
}

/// The number of used tokens that are remembered; more can be used once the time of these is over.
const MAX_SPENT: usize = 65_536;

impl SingleUseTokens {
    /// Creates tokens that `key` seals.
    ///
    /// # Panics
    /// The operating system gives no random bytes, so nothing secure can be done.
    pub fn new(key: SealingKey) -> Self {
        Self { key, process: random_bytes(), spent: Mutex::default() }
    }

    /// Seals `content` for one use within the time `ttl`.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`]: the token would be longer than its purpose allows.
    pub fn seal(&self, content: &[u8], binding: &TokenBinding, ttl: Duration) -> Result<String, TokenError> {
        self.key.seal(content, &binding.and(&self.process), ttl)
    }

    /// Uses up a token that was sealed for the use that `binding` says. Of several simultaneous uses one succeeds.
    ///
    /// # Errors
    /// The errors of [`SealingKey::open`], and [`TokenError::Spent`] for a token that was used before.
    pub fn take(&self, token: &str, binding: &TokenBinding) -> Result<Vec<u8>, TokenError> {
        let opened = self.key.opened(token, &binding.and(&self.process))?;
        let mut spent = self.spent.lock();
        if spent.len() >= MAX_SPENT {
            let now = self.key.now();
            spent.retain(|_, expiry| now <= *expiry);
        }
        if spent.len() >= MAX_SPENT || spent.insert(opened.nonce, opened.expiry).is_some() {
            return Err(TokenError::Spent);
        }
        Ok(opened.content)
    }
}

mgp_types::partial_debug!(SingleUseTokens, self => spent: self.spent.lock().len());

fn time_of_day() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
