//! How long those who came with tokens are let in.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, RunningCalls, Validity};
use parking_lot::Mutex;

use super::resource_server::KnownToken;

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
    pub(super) fn let_in(
        &self,
        principal: &Principal,
        token: &KnownToken,
        text: Option<&str>,
        opaque: Option<&str>,
    ) -> Validity {
        let mut holders = self.0.lock();
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
        holder.validity.clone()
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

    /// Ends what was opened by principals that `is_over` says of.
    pub(super) fn end(&self, calls: RunningCalls, is_over: impl Fn(&Principal, &TokenHolder) -> bool) {
        let over: Vec<Validity> = {
            let mut holders = self.0.lock();
            let over = holders.extract_if(|principal, holder| is_over(principal, holder));
            over.map(|(_, holder)| holder.validity).collect()
        };
        for validity in over {
            validity.end(calls);
        }
    }
}
