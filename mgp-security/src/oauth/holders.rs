//! How long those who came with tokens are let in.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, RunningCalls, Validity};
use parking_lot::Mutex;

/// The principals with tokens that hold. What a principal opened ends with the last of its tokens.
#[derive(Default)]
pub(super) struct TokenHolders(Mutex<HashMap<Principal, TokenHolder, RandomState>>);

struct TokenHolder {
    validity: Validity,
    ends_at: Timestamp,
}

impl TokenHolders {
    /// Returns the validity of a principal that came with a token until `ends_at`.
    pub(super) fn let_in(&self, principal: &Principal, ends_at: Timestamp) -> Validity {
        let mut holders = self.0.lock();
        let holder = holders
            .entry(principal.clone())
            .or_insert_with(|| TokenHolder { validity: Validity::new(), ends_at });
        holder.ends_at = holder.ends_at.max(ends_at);
        holder.validity.clone()
    }

    /// Ends what principals opened whose tokens are over.
    pub(super) fn end_expired(&self, now: Timestamp, calls: RunningCalls) {
        let over: Vec<Validity> = {
            let mut holders = self.0.lock();
            holders.extract_if(|_, holder| now >= holder.ends_at).map(|(_, holder)| holder.validity).collect()
        };
        for validity in over {
            validity.end(calls);
        }
    }
}
