//! The proofs by which senders show that they hold the key to which a token is bound (RFC 9449).

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foldhash::quality::RandomState;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, Method, Uri};
use mgp_types::mgp::Timestamp;
use mgp_types::{PeerCertificate, Principal, random_bytes};
use parking_lot::Mutex;
use ring::hmac;
use sha2::{Digest as _, Sha256};

use super::TokenError;
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
        let is_first = self.used.use_once(principal, &proof.thumbprint, &proof.id, now, over_at);
        if is_first { Ok(()) } else { Err(TokenError::Replayed) }
    }
}

/// The age of a proof at which it is no longer accepted, and the time by which it may be ahead.
const PROOF_MILLIS: i64 = 300_000;

/// The nonces of this process. Nothing is kept of those that were given: each says when that was, and is signed.
pub(super) struct ProofNonces(hmac::Key);

impl ProofNonces {
    /// Creates nonces that nobody else can make.
    pub(super) fn new() -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &random_bytes::<32>()))
    }

    /// Returns the nonce of this moment.
    pub(super) fn give(&self, now: Timestamp) -> String {
        let given_at = now.as_millis().to_be_bytes();
        let tag = hmac::sign(&self.0, &given_at);
        URL_SAFE_NO_PAD.encode([&given_at, tag.as_ref()].concat())
    }

    /// Returns whether a nonce was given here a short time ago.
    pub(super) fn is_fresh(&self, nonce: &str, now: Timestamp) -> bool {
        let mut bytes = [0; MAX_NONCE_BYTES];
        let Ok(length) = URL_SAFE_NO_PAD.decode_slice(nonce, &mut bytes) else { return false };
        let Some((given_at, tag)) = bytes[..length].split_first_chunk() else { return false };
        let age = now.as_millis().saturating_sub(i64::from_be_bytes(*given_at));
        hmac::verify(&self.0, given_at, tag).is_ok() && (-SKEW_MILLIS..=NONCE_MILLIS).contains(&age)
    }
}

/// The length of a time and its signature.
const MAX_NONCE_BYTES: usize = 8 + 32;
/// The time for which a nonce can be used.
const NONCE_MILLIS: i64 = 300_000;
/// The time by which the clock may have gone back.
const SKEW_MILLIS: i64 = 5_000;

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
        let is_new = proofs.get(&digest).is_none_or(|end| now >= *end);
        if is_new {
            proofs.insert(digest, over_at);
        }
        is_new
    }
}

const MAX_PROOFS: usize = 100_000;

/// The token of a request, with what proves that its sender may use it.
pub(crate) struct PresentedToken {
    /// The token as its sender showed it; it may be an API key.
    pub(crate) token: Box<str>,
    pub(crate) scheme: TokenScheme,
    /// The proof of possession, if there is one.
    pub(super) proof: Option<Box<str>>,
    pub(super) method: Method,
    /// The path of the request.
    pub(super) path: Box<str>,
    pub(super) certificate: Option<PeerCertificate>,
}

/// The scheme of `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenScheme {
    Bearer,
    Dpop,
}

/// Returns the scheme and the credential of `Authorization`; `None` without that header.
///
/// # Errors
/// The header is malformed, or there are several.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<Option<(&str, &str)>, TokenError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    let (scheme, credential) = text.and_then(|text| text.split_once(' ')).ok_or(TokenError::Malformed)?;
    Ok(Some((scheme, credential.trim_matches(' '))))
}

impl PresentedToken {
    /// Returns a token that came in no request.
    pub(super) fn bearer(token: &str) -> Self {
        let (scheme, method) = (TokenScheme::Bearer, Method::GET);
        Self { token: token.into(), scheme, proof: None, method, path: "/".into(), certificate: None }
    }

    /// Reads the token of an HTTP request.
    pub(crate) fn read(
        headers: &HeaderMap,
        method: &Method,
        uri: &Uri,
        certificate: Option<&PeerCertificate>,
    ) -> Result<Self, TokenError> {
        let (scheme, token) = authorization(headers)?.ok_or(TokenError::Missing)?;
        let mut schemes = [("bearer", TokenScheme::Bearer), ("dpop", TokenScheme::Dpop)].into_iter();
        let known = schemes.find(|(name, _)| scheme.eq_ignore_ascii_case(name));
        let (_, scheme) = known.ok_or(TokenError::Missing)?;
        let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain || !(1..=MAX_TOKEN_BYTES).contains(&token.len()) {
            return Err(TokenError::Malformed);
        }
        let mut proofs = headers.get_all(DPOP).iter();
        let proof = match (proofs.next(), proofs.next()) {
            (Some(proof), None) => Some(proof.to_str().map_err(|_| TokenError::Proof)?.into()),
            (None, _) => None,
            (Some(_), Some(_)) => return Err(TokenError::Proof),
        };
        Ok(Self {
            token: token.into(),
            scheme,
            proof,
            method: method.clone(),
            path: uri.path().into(),
            certificate: certificate.copied(),
        })
    }
}

mgp_types::partial_debug!(PresentedToken, self => scheme: self.scheme, path: self.path);

/// The header of proofs.
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
/// The longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::jose::SigningKey;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

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
        let (own, other) = (ProofNonces::new(), ProofNonces::new());
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

    #[test]
    fn a_nonce_holds_for_a_while_at_the_process_that_gave_it() {
        let nonces = ProofNonces::new();
        let nonce = nonces.give(at(1_000_000));
        assert!(nonces.is_fresh(&nonce, at(1_000_000)) && nonces.is_fresh(&nonce, at(1_300_000)));
        assert!(!nonces.is_fresh(&nonce, at(1_300_001)), "it is over");
        assert!(!nonces.is_fresh(&nonce, at(900_000)), "it is not given yet");
        assert!(!ProofNonces::new().is_fresh(&nonce, at(1_000_000)), "another process gave it");
    }

    #[test]
    fn a_nonce_that_somebody_made_up_is_none() {
        let nonces = ProofNonces::new();
        let right = nonces.give(at(0));
        let later = URL_SAFE_NO_PAD.encode([&[0, 0, 0, 0, 0, 0, 0, 1][..], &[7; 32]].concat());
        let longer = format!("{right}AAAA");
        for wrong in ["", "AAAA", "%%%", &right[..20], &longer, &later] {
            assert!(!nonces.is_fresh(wrong, at(0)), "{wrong}");
        }
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
