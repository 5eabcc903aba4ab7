//! Sealed tokens: texts that a client keeps for the server and can neither read, change, nor use for something else.
//!
//! Each token is sealed (XChaCha20-Poly1305) for one server, one [purpose](TokenPurpose), one principal, the facts that its
//! [`TokenBinding`] names, and a time. A token of another purpose, principal or fact does not open, and neither does one
//! of another server, whose key it may share. The length is checked before anything is decoded, and nothing is read
//! before all of it is proved.
//!
//! | | |
//! |---|---|
//! | [`SealingKey`] | seals and opens tokens, and opens those of keys before it |
//! | [`TokenBinding`] | the facts that a token is bound to |
//! | [`SingleUseTokens`] | tokens that are accepted once |

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use foldhash::fast::RandomState;
use mgp_types::{Method, Params, Principal, random_bytes};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// The use of a token. A token of one purpose is none of any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenPurpose {
    /// The answers of a request with several rounds.
    RequestState,
    /// The number of a call that waits at a gateway for the answers of its client.
    ParkedCall,
    /// The confirmation of one call by a person.
    Confirmation,
    /// The place in a long call from which another call can go on.
    Checkpoint,
    /// The state of a conversation, carried from call to call.
    SessionState,
}

impl TokenPurpose {
    /// Returns the word that keeps the purpose apart from others.
    const fn word(self) -> &'static str {
        match self {
            Self::RequestState => "request_state",
            Self::ParkedCall => "parked_call",
            Self::Confirmation => "confirmation",
            Self::Checkpoint => "checkpoint",
            Self::SessionState => "session_state",
        }
    }

    /// Returns the length in bytes that a token has at most. A longer text is refused before it is read.
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::RequestState => 8 << 20,
            Self::ParkedCall | Self::Confirmation => 1 << 10,
            Self::Checkpoint => 8 << 10,
            Self::SessionState => 64 << 10,
        }
    }
}

/// The reasons why a text is no token that may be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The text was changed, or sealed by another key, for another purpose, or for another principal or call.
    #[error("the state was not sealed by this server for this request")]
    Forged,
    /// The time of the token is over.
    #[error("the state has expired")]
    Expired,
    /// The token is longer than its purpose allows.
    #[error("the state is longer than it may be")]
    TooLarge,
    /// The token was used before, or too many tokens were used in its time.
    #[error("the state was used before")]
    Spent,
}

/// The facts that a token is bound to, as a digest: its purpose, its principal, and whatever is added.
///
/// ```
/// use mgp_transport::token::{TokenBinding, TokenPurpose};
/// use mgp_types::Principal;
///
/// let ada = Principal::new("ada");
/// let binding = TokenBinding::new(TokenPurpose::Checkpoint, Some(&ada)).and(b"export").and(b"{}");
/// assert_ne!(binding, TokenBinding::new(TokenPurpose::Checkpoint, Some(&ada)).and(b"export{}"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenBinding {
    purpose: TokenPurpose,
    digest: [u8; 32],
}

/// The parameters that may differ in each round: the answers themselves, and the members that MCP and MGP add.
const PER_ROUND: [&str; 5] = ["_meta", "_mgp", "trace_id", "inputResponses", "requestState"];

impl TokenBinding {
    /// Binds a token of `purpose` to `principal`. A token for nobody known is none for anybody known.
    pub fn new(purpose: TokenPurpose, principal: Option<&Principal>) -> Self {
        let nothing = Self { purpose, digest: [0; 32] };
        nothing
            .and(principal.map_or("", |principal| principal.kind().as_str()).as_bytes())
            .and(principal.map_or("", Principal::as_str).as_bytes())
    }

    /// Binds a token of `purpose` to a request with several rounds: to its principal, its method and its parameters. The
    /// binding is the same in every round.
    pub fn of_request(
        purpose: TokenPurpose,
        principal: Option<&Principal>,
        method: &Method,
        params: &Params,
    ) -> Self {
        let mut binding = Self::new(purpose, principal).and(method.as_str().as_bytes());
        for (name, value) in params.iter() {
            if !PER_ROUND.contains(&&*name) {
                binding = binding.and(name.as_bytes()).and(value.as_bytes());
            }
        }
        binding
    }

    /// Binds the token to `fact`, too. The order of facts and the borders between them count.
    #[must_use]
    pub fn and(self, fact: &[u8]) -> Self {
        // The digest so far has a fixed length, so that no two lists of facts are hashed as the same bytes.
        let digest = Sha256::new().chain_update(self.digest).chain_update(fact).finalize();
        Self { digest: digest.into(), ..self }
    }
}

mgp_types::partial_debug!(TokenBinding, self => purpose: self.purpose);

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

/// A key, and the id by which tokens name it.
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
const OVERHEAD: usize = KEY_ID + NONCE + 8 + 16;
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
    fn now(&self) -> u64 {
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
