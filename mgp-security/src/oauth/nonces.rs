//! The nonces that proofs have to carry, so that none can be made before it is needed (RFC 9449, section 8).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mgp_types::Error;
use mgp_types::mgp::Timestamp;
use ring::hmac;
use ring::rand::SystemRandom;

/// The nonces of this process. Nothing is kept of those that were given: each says when that was, and is signed.
pub(super) struct ProofNonces(hmac::Key);

impl ProofNonces {
    /// Creates nonces that nobody else can make.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new() -> Result<Self, Error> {
        hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map(Self)
            .map_err(|_| Error::internal("the system has no random numbers"))
    }

    /// Returns the nonce of this moment.
    pub(super) fn give(&self, now: Timestamp) -> String {
        let given_at = now.as_millis().to_be_bytes();
        let tag = hmac::sign(&self.0, &given_at);
        URL_SAFE_NO_PAD.encode([&given_at, tag.as_ref()].concat())
    }

    /// Returns whether a nonce was given here a short time ago.
    pub(super) fn is_fresh(&self, nonce: &str, now: Timestamp) -> bool {
        let mut bytes = [0; MAX_BYTES];
        let Ok(length) = URL_SAFE_NO_PAD.decode_slice(nonce, &mut bytes) else { return false };
        let Some((given_at, tag)) = bytes[..length].split_first_chunk() else { return false };
        let age = now.as_millis().saturating_sub(i64::from_be_bytes(*given_at));
        hmac::verify(&self.0, given_at, tag).is_ok() && (-SKEW_MILLIS..=NONCE_MILLIS).contains(&age)
    }
}

/// The length of a time and its signature.
const MAX_BYTES: usize = 8 + 32;
/// The time for which a nonce can be used.
const NONCE_MILLIS: i64 = 300_000;
/// The time by which the clock may have gone back.
const SKEW_MILLIS: i64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    #[test]
    fn a_nonce_holds_for_a_while_at_the_process_that_gave_it() {
        let nonces = ProofNonces::new().unwrap();
        let nonce = nonces.give(at(1_000_000));
        assert!(nonces.is_fresh(&nonce, at(1_000_000)) && nonces.is_fresh(&nonce, at(1_300_000)));
        assert!(!nonces.is_fresh(&nonce, at(1_300_001)), "it is over");
        assert!(!nonces.is_fresh(&nonce, at(900_000)), "it is not given yet");
        assert!(!ProofNonces::new().unwrap().is_fresh(&nonce, at(1_000_000)), "another process gave it");
    }

    #[test]
    fn a_nonce_that_somebody_made_up_is_none() {
        let nonces = ProofNonces::new().unwrap();
        let right = nonces.give(at(0));
        let later = URL_SAFE_NO_PAD.encode([&[0, 0, 0, 0, 0, 0, 0, 1][..], &[7; 32]].concat());
        let longer = format!("{right}AAAA");
        for wrong in ["", "AAAA", "%%%", &right[..20], &longer, &later] {
            assert!(!nonces.is_fresh(wrong, at(0)), "{wrong}");
        }
    }
}
