//! The proofs by which senders show that they hold the key to which a token is bound (RFC 9449).

use std::time::Duration;

use http::Uri;
use mgp_types::Principal;
use mgp_types::mgp::Timestamp;

use super::TokenError;
use super::nonces::ProofNonces;
use super::presented::PresentedToken;
use super::replay::UsedProofs;
use crate::jose::dpop;

/// Judges the proofs of requests to one resource.
pub(super) struct ProofJudge {
    /// The scheme and host of the resource.
    pub(super) origin: Box<str>,
    /// The nonces that proofs have to carry; `None` if they need none.
    pub(super) nonces: Option<ProofNonces>,
    pub(super) used: UsedProofs,
}

impl ProofJudge {
    /// Accepts a request whose proof is fresh, was not used before, and is by the `key` to which the token is bound.
    pub(super) fn judge(
        &self,
        key: &str,
        principal: &Principal,
        shown: &PresentedToken,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        let proof = shown.proof.as_deref().ok_or(TokenError::Proof)?;
        let url: Uri = format!("{}{}", self.origin, shown.path).parse().map_err(|_| TokenError::Proof)?;
        let proof =
            dpop::verify(proof, &shown.method, &url, Some(&shown.token)).map_err(|_| TokenError::Proof)?;
        let age = now.as_millis().saturating_sub(proof.issued_at.as_millis());
        if &*proof.thumbprint != key || !(-PROOF_MILLIS..=PROOF_MILLIS).contains(&age) {
            return Err(TokenError::Proof);
        }
        if let Some(nonces) = &self.nonces
            && !proof.nonce.as_deref().is_some_and(|nonce| nonces.is_fresh(nonce, now))
        {
            return Err(TokenError::Nonce);
        }
        let over_at = now.saturating_add(Duration::from_millis(2 * PROOF_MILLIS.unsigned_abs()));
        if self.used.use_once(principal, &proof.thumbprint, &proof.id, now, over_at) {
            Ok(())
        } else {
            Err(TokenError::Replayed)
        }
    }
}

/// The age of a proof at which it is no longer accepted, and the time by which it may be ahead.
const PROOF_MILLIS: i64 = 300_000;

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::jose::SigningKey;

    const RESOURCE: &str = "https://mgp.example/mcp";

    fn judge(nonces: Option<ProofNonces>) -> ProofJudge {
        ProofJudge { origin: "https://mgp.example".into(), nonces, used: UsedProofs::default() }
    }

    fn request(key: &SigningKey, nonce: Option<&str>) -> PresentedToken {
        let url = RESOURCE.parse().unwrap();
        let proof = dpop::proof(key, &Method::POST, &url, Some("t"), nonce).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "DPoP t".parse().unwrap());
        headers.insert("dpop", proof.parse().unwrap());
        PresentedToken::read(&headers, &Method::POST, &"/mcp".parse().unwrap(), None).unwrap()
    }

    #[test]
    fn a_proof_is_fresh_for_a_while_and_counts_once() {
        let (key, ada, judge) = (SigningKey::generate().unwrap(), Principal::new("ada"), judge(None));
        let shown = request(&key, None);
        let thumbprint = key.thumbprint();
        let now = Timestamp::now().as_millis();
        let at = |millis: i64| Timestamp::from_millis(now + millis).unwrap();
        for wrong in [-PROOF_MILLIS - 2000, PROOF_MILLIS + 2000] {
            assert_eq!(judge.judge(thumbprint, &ada, &shown, at(wrong)), Err(TokenError::Proof), "{wrong}");
        }
        assert_eq!(judge.judge("another key", &ada, &shown, at(0)), Err(TokenError::Proof));
        assert_eq!(judge.judge(thumbprint, &ada, &shown, at(0)), Ok(()));
        assert_eq!(judge.judge(thumbprint, &ada, &shown, at(0)), Err(TokenError::Replayed));
    }

    #[test]
    fn where_nonces_are_demanded_a_proof_carries_one_that_was_given_here() {
        let (key, ada) = (SigningKey::generate().unwrap(), Principal::new("ada"));
        let (own, other) = (ProofNonces::new().unwrap(), ProofNonces::new().unwrap());
        let now = Timestamp::now();
        let (right, foreign) = (own.give(now), other.give(now));
        let judge = judge(Some(own));
        for wrong in [None, Some("made up"), Some(&*foreign)] {
            let judged = judge.judge(key.thumbprint(), &ada, &request(&key, wrong), now);
            assert_eq!(judged, Err(TokenError::Nonce), "{wrong:?}");
        }
        // Each proof counts once, its nonce does not.
        for _ in 0..2 {
            let judged = judge.judge(key.thumbprint(), &ada, &request(&key, Some(&right)), now);
            assert_eq!(judged, Ok(()));
        }
    }
}
