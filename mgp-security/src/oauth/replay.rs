//! The proofs that were used, none of which is accepted again.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;

/// The ids of proofs, for each key as long as its proofs could be accepted.
#[derive(Default)]
pub(super) struct UsedProofs(Mutex<HashMap<Box<str>, ProofsOfKey, RandomState>>);

type ProofsOfKey = HashMap<Box<str>, Timestamp, RandomState>;

impl UsedProofs {
    /// Notes the proof of a key, and returns whether it was not used before. A key with too many proofs at once has no room
    /// for more, and takes none from others.
    pub(super) fn use_once(&self, key: &str, id: &str, now: Timestamp, over_at: Timestamp) -> bool {
        let mut keys = self.0.lock();
        if !keys.contains_key(key) && keys.len() >= MOST_KEYS {
            keys.retain(|_, proofs| proofs.values().any(|end| now < *end));
            if keys.len() >= MOST_KEYS {
                return false;
            }
        }
        let proofs = keys.entry(key.into()).or_default();
        if proofs.len() >= MOST_PROOFS {
            proofs.retain(|_, end| now < *end);
            if proofs.len() >= MOST_PROOFS {
                return false;
            }
        }
        match proofs.get(id) {
            Some(end) if now < *end => false,
            _ => {
                proofs.insert(id.into(), over_at);
                true
            }
        }
    }
}

const MOST_KEYS: usize = 10_000;
const MOST_PROOFS: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    #[test]
    fn a_proof_is_used_once_for_each_key() {
        let used = UsedProofs::default();
        assert!(used.use_once("key", "1", at(0), at(100)));
        assert!(!used.use_once("key", "1", at(99), at(200)));
        assert!(used.use_once("other", "1", at(99), at(200)));
        assert!(used.use_once("key", "1", at(100), at(200)));
    }

    #[test]
    fn a_key_with_too_many_proofs_leaves_room_for_others() {
        let used = UsedProofs::default();
        for number in 0..MOST_PROOFS {
            assert!(used.use_once("busy", &number.to_string(), at(0), at(100)));
        }
        assert!(!used.use_once("busy", "more", at(0), at(100)));
        assert!(used.use_once("calm", "1", at(0), at(100)));
        assert!(used.use_once("busy", "more", at(100), at(200)));
    }
}
