//! The proofs that were used, none of which is accepted again.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use mgp_types::Principal;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// The proofs of each principal, by their digests, as long as they could be accepted. There are as many principals as somebody
/// configured.
#[derive(Default)]
pub(super) struct UsedProofs(Mutex<HashMap<Principal, ProofsOfPrincipal, RandomState>>);

type ProofsOfPrincipal = HashMap<[u8; 32], Timestamp, RandomState>;

impl UsedProofs {
    /// Notes the proof of a principal by a key, and returns whether it was not used before. A principal with too many proofs at
    /// once has no room for more, and takes none from others.
    pub(super) fn use_once(
        &self,
        principal: &Principal,
        key: &str,
        id: &str,
        now: Timestamp,
        over_at: Timestamp,
    ) -> bool {
        let digest = Sha256::new().chain_update(key).chain_update([0]).chain_update(id).finalize().into();
        let mut principals = self.0.lock();
        let proofs = match principals.get_mut(principal) {
            Some(proofs) => proofs,
            None => principals.entry(principal.clone()).or_default(),
        };
        if proofs.len() >= MAX_PROOFS {
            proofs.retain(|_, end| now < *end);
            if proofs.len() >= MAX_PROOFS {
                return false;
            }
        }
        match proofs.get(&digest) {
            Some(end) if now < *end => false,
            _ => {
                proofs.insert(digest, over_at);
                true
            }
        }
    }
}

const MAX_PROOFS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    #[test]
    fn a_proof_is_used_once_for_each_key() {
        let (used, ada) = (UsedProofs::default(), Principal::new("ada"));
        assert!(used.use_once(&ada, "key", "1", at(0), at(100)));
        assert!(!used.use_once(&ada, "key", "1", at(99), at(200)));
        assert!(used.use_once(&ada, "other", "1", at(99), at(200)));
        assert!(used.use_once(&ada, "key", "1", at(100), at(200)));
    }

    #[test]
    fn a_principal_with_too_many_proofs_leaves_room_for_others_whatever_keys_it_has() {
        let (used, busy, calm) = (UsedProofs::default(), Principal::new("busy"), Principal::new("calm"));
        for number in 0..MAX_PROOFS {
            assert!(used.use_once(&busy, &(number % 100).to_string(), &number.to_string(), at(0), at(100)));
        }
        assert!(!used.use_once(&busy, "new", "more", at(0), at(100)));
        assert!(used.use_once(&calm, "new", "1", at(0), at(100)));
        assert!(used.use_once(&busy, "new", "more", at(100), at(200)));
    }
}
