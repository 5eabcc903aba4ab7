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

mod key;

use mgp_types::{Method, Params, Principal};
use sha2::{Digest, Sha256};

pub use self::key::{SealingKey, SingleUseTokens};

#[cfg(test)]
mod tests;

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
