//! Tokens that were verified or refused before, and open questions about those that say nothing themselves.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use mgp_types::{AgentGroups, Principal, RunningCalls, Validity};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OnceCell, Semaphore};

use super::TokenError;
use super::resource_server::KnownToken;

/// A bounded number of tokens, by their digests.
#[derive(Default)]
pub(super) struct TokenCache {
    verified: Mutex<HashMap<[u8; 32], Arc<KnownToken>, RandomState>>,
    /// The tokens that issuers were asked about and that are refused, with the time until which nobody is asked again.
    refused: Mutex<HashMap<[u8; 32], (TokenError, Timestamp), RandomState>>,
}

impl TokenCache {
    pub(super) fn digest(token: &str) -> [u8; 32] {
        Sha256::digest(token).into()
    }

    /// Returns a token that was verified before, by keys that its issuer still has.
    pub(super) fn find(&self, digest: &[u8; 32], now: Timestamp) -> Option<Arc<KnownToken>> {
        self.verified.lock().get(digest).filter(|known| known.is_fresh(now)).cloned()
    }

    pub(super) fn put(&self, digest: [u8; 32], known: Arc<KnownToken>, now: Timestamp) {
        let mut tokens = self.verified.lock();
        make_room(&mut tokens, |known| known.is_fresh(now));
        tokens.insert(digest, known);
    }

    /// Returns why a token was refused of which its issuer told lately.
    pub(super) fn refusal(&self, digest: &[u8; 32], now: Timestamp) -> Option<TokenError> {
        let refused = self.refused.lock();
        refused.get(digest).filter(|(_, end)| now < *end).map(|(error, _)| *error)
    }

    /// Notes why a token is refused of which its issuer told.
    pub(super) fn refuse(&self, digest: [u8; 32], error: TokenError, now: Timestamp) {
        let mut tokens = self.refused.lock();
        make_room(&mut tokens, |(_, end)| now < *end);
        tokens.insert(digest, (error, now.saturating_add(REFUSED_FOR)));
    }
}

/// Removes what does not hold any more where there is no room, or else everything: each token can be verified again.
fn make_room<T>(tokens: &mut HashMap<[u8; 32], T, RandomState>, holds: impl Fn(&T) -> bool) {
    if tokens.len() >= MAX_TOKENS {
        tokens.retain(|_, token| holds(token));
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
    }
}

/// The questions that are open. All who come with one token wait for one answer.
pub(super) struct OpenQuestions {
    open: Mutex<HashMap<[u8; 32], Weak<Question>, RandomState>>,
    room: Semaphore,
}

type Question = OnceCell<TokenAnswer>;
/// The outcome of a question to the issuer.
type TokenAnswer = Result<Arc<KnownToken>, TokenError>;

impl OpenQuestions {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), room: Semaphore::new(MAX_QUESTIONS) }
    }

    /// Returns the answer about the token with this digest, for which `ask` asks unless somebody else does already. Where too
    /// many questions are open, nobody is asked: texts that are no tokens must not keep the issuers busy.
    pub(super) async fn answer(
        &self,
        digest: [u8; 32],
        ask: impl Future<Output = TokenAnswer>,
    ) -> TokenAnswer {
        let question = self.about(digest);
        let asked = async {
            let _room = self.room.try_acquire().map_err(|_| TokenError::Unreachable)?;
            ask.await
        };
        question.get_or_init(|| asked).await.clone()
    }

    fn about(&self, digest: [u8; 32]) -> Arc<Question> {
        let mut open = self.open.lock();
        if let Some(question) = open.get(&digest).and_then(Weak::upgrade) {
            return question;
        }
        let question = Arc::<Question>::default();
        open.retain(|_, question| question.strong_count() > 0);
        open.insert(digest, Arc::downgrade(&question));
        question
    }
}

/// The principals with tokens that hold. What a principal opened ends with the last of its tokens, and when nobody is
/// known by its subject any more.
#[derive(Default)]
pub(super) struct TokenHolders(Mutex<HashMap<Principal, TokenHolder, RandomState>>);

pub(super) struct TokenHolder {
    validity: Validity,
    pub(super) ends_at: Timestamp,
    /// The issuer and the subject of the token that the principal came with last.
    pub(super) issuer: Box<str>,
    pub(super) subject: Box<str>,
    /// The token of the holder, where tokens are kept.
    token: Option<Box<str>>,
    /// The token that only its issuer can tell about, if the principal came with one, and when the issuer is asked again.
    pub(super) asked: Option<(Box<str>, Timestamp)>,
}

impl TokenHolders {
    /// Returns the validity of a principal that comes with a token. Keeps its `text` if that is given, and the text of a
    /// token that only its issuer can tell about.
    ///
    /// # Errors
    /// Fails for one more principal than there may be at once.
    pub(super) fn let_in(
        &self,
        principal: &Principal,
        token: &KnownToken,
        text: Option<&str>,
        opaque: Option<&str>,
    ) -> Result<Validity, TokenError> {
        let mut holders = self.0.lock();
        if holders.len() >= MAX_HOLDERS && !holders.contains_key(principal) {
            return Err(TokenError::TooMany);
        }
        let holder = holders.entry(principal.clone()).or_insert_with(|| TokenHolder {
            validity: Validity::new(),
            ends_at: token.ends_at,
            issuer: token.issuer.of.name.clone(),
            subject: token.subject.clone(),
            token: None,
            asked: None,
        });
        match (opaque, &mut holder.asked) {
            (Some(now), Some((before, again))) if **before == *now => *again = token.fresh_until,
            (now, asked) => *asked = now.map(|text| (text.into(), token.fresh_until)),
        }
        holder.ends_at = holder.ends_at.max(token.ends_at);
        let issuer = &token.issuer.of.name;
        if holder.issuer != *issuer || holder.subject != token.subject {
            (holder.issuer, holder.subject) = (issuer.clone(), token.subject.clone());
        }
        if text != holder.token.as_deref() {
            holder.token = text.map(Into::into);
        }
        Ok(holder.validity.clone())
    }

    /// Returns the kept token with which a principal came last.
    pub(super) fn token_of(&self, principal: &Principal) -> Option<Box<str>> {
        self.0.lock().get(principal)?.token.clone()
    }

    /// Returns the tokens by which something is open and about which their issuers have to be asked again.
    pub(super) fn to_ask(&self, now: Timestamp) -> Vec<Box<str>> {
        let holders = self.0.lock();
        let asked = holders.values().filter(|holder| holder.validity.is_watched());
        let asked = asked.filter_map(|holder| holder.asked.as_ref());
        asked.filter(|(_, again)| now >= *again).map(|(token, _)| token.clone()).collect()
    }

    /// Notes that the issuer of a token is asked again at `again`.
    pub(super) fn ask_again(&self, token: &str, again: Timestamp) {
        for (asked, at) in self.0.lock().values_mut().filter_map(|holder| holder.asked.as_mut()) {
            if **asked == *token {
                *at = again;
            }
        }
    }

    /// Ends what was opened by principals that `is_over` says of, and their memberships in `groups` by token.
    pub(super) fn end(
        &self,
        calls: RunningCalls,
        groups: &AgentGroups,
        is_over: impl Fn(&Principal, &TokenHolder) -> bool,
    ) {
        let over: Vec<_> = {
            let mut holders = self.0.lock();
            holders.extract_if(|principal, holder| is_over(principal, holder)).collect()
        };
        for (principal, holder) in over {
            holder.validity.end(calls);
            groups.forget_token(principal.as_str());
        }
    }
}

const MAX_TOKENS: usize = 10_000;

/// The number of principals with tokens that hold at once.
const MAX_HOLDERS: usize = 65_536;

/// The time for which no issuer is asked again about a token that is refused.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// The number of tokens about which issuers are asked at once.
const MAX_QUESTIONS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_loses_first_what_does_not_hold_any_more() {
        let mut tokens = HashMap::default();
        let digest = |number: usize| TokenCache::digest(&number.to_string());
        tokens.extend((0..MAX_TOKENS).map(|number| (digest(number), number)));
        make_room(&mut tokens, |number| number % 2 == 0);
        assert_eq!(tokens.len(), MAX_TOKENS / 2);
        tokens.extend((0..MAX_TOKENS).map(|number| (digest(number), number)));
        make_room(&mut tokens, |_| true);
        assert!(tokens.is_empty());
    }
}
