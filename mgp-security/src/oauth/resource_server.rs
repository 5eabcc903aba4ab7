//! The verification of tokens.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mgp_types::ext::scope::Scopes;
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Object, Principal, RunningCalls, Validity};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use super::TokenError;
use super::cache::TokenCache;
use super::challenge::Challenge;
use super::claims::{Confirmation, TokenClaims};
use super::holders::TokenHolders;
use super::issuer::{Issuer, IssuerKeys};
use super::nonces::ProofNonces;
use super::presented::{PresentedToken, TokenScheme};
use super::proofs::ProofJudge;
use super::replay::UsedProofs;
use super::step_up::StepUp;
use crate::Clock;
use crate::jose::{self, KeySet};
use crate::network::Fetcher;

/// Verifies the tokens of requests to one resource. Clones share what they know.
///
/// With keys at hand, verification neither waits nor asks anybody. It waits for an issuer only for the first token, for one
/// with an unknown key, and for tokens that only their issuer can tell about.
#[derive(Clone)]
pub struct ResourceServer(Arc<ResourceServerParts>);

struct ResourceServerParts {
    resource: Box<str>,
    metadata: Arc<str>,
    metadata_path: Box<str>,
    issuers: Vec<Arc<IssuerKeys>>,
    /// The room for questions about tokens.
    asking: Semaphore,
    required: Scopes,
    dpop: DpopPolicy,
    principals: Box<FindPrincipal>,
    clock: Clock,
    cache: TokenCache,
    proofs: ProofJudge,
    holders: TokenHolders,
    keeps_tokens: bool,
}

/// A lookup of who comes with a token of this issuer and subject.
type FindPrincipal = dyn Fn(&str, &str) -> Option<Principal> + Send + Sync;

/// The use of DPoP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopPolicy {
    /// Tokens that are bound to a key need its proof, others do not.
    #[default]
    Accepted,
    /// Every token has to be bound to a key.
    Required,
}

/// A token that was verified, but for what is to be proved with each request.
pub(super) struct KnownToken {
    pub(super) issuer: Box<str>,
    pub(super) subject: Box<str>,
    scopes: Arc<Scopes>,
    bound_to: Confirmation,
    pub(super) ends_at: Timestamp,
    /// The time until which it need not be verified again.
    pub(super) fresh_until: Timestamp,
}

/// The sender of a request whose token holds.
#[derive(Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) principal: Principal,
    pub(crate) validity: Validity,
    pub(crate) scopes: Arc<Scopes>,
    pub(crate) step_up: StepUp,
}

/// Collects the settings of a [`ResourceServer`].
#[must_use]
pub struct ResourceServerBuilder {
    resource: Box<str>,
    issuers: Vec<Issuer>,
    required: Scopes,
    dpop: DpopPolicy,
    demands_nonces: bool,
    keeps_tokens: bool,
    principals: Box<FindPrincipal>,
    clock: Clock,
}

impl ResourceServer {
    /// Returns the builder of the verification for `resource`, the URL by which clients know this server: the audience of
    /// their tokens.
    pub fn builder(resource: impl Into<Box<str>>) -> ResourceServerBuilder {
        ResourceServerBuilder {
            resource: resource.into(),
            issuers: Vec::new(),
            required: Scopes::new(),
            dpop: DpopPolicy::default(),
            demands_nonces: false,
            keeps_tokens: false,
            principals: Box::new(|_, _| None),
            clock: Clock::system(),
        }
    }

    /// Returns the metadata document (RFC 9728) if it stands at this path.
    pub fn metadata_at(&self, path: &str) -> Option<String> {
        let parts = &*self.0;
        if path != &*parts.metadata_path && path != WELL_KNOWN {
            return None;
        }
        let document = serde_json::json!({
            "resource": parts.resource,
            "authorization_servers": parts.issuers.iter().map(|issuer| &issuer.of.name).collect::<Vec<_>>(),
            "scopes_supported": parts.required.iter().collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
            "dpop_signing_alg_values_supported": ["ES256", "ES384", "EdDSA", "RS256", "PS256"],
            "dpop_bound_access_tokens_required": parts.dpop == DpopPolicy::Required,
        });
        Some(document.to_string())
    }

    /// Ends sessions and streams within a second after the last token of who opened them; running calls are treated as `calls`
    /// then says. It never returns: run it beside the server that lets callers in by tokens.
    pub async fn end_expired(&self, calls: impl Fn() -> RunningCalls) -> Infallible {
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            second.tick().await;
            self.end_expired_at(self.0.clock.now(), calls());
        }
    }

    pub(super) fn end_expired_at(&self, now: Timestamp, calls: RunningCalls) {
        let is_known = |principal: &Principal, issuer: &str, subject: &str| {
            (self.0.principals)(issuer, subject).as_ref() == Some(principal)
        };
        self.0.holders.end_over(now, calls, is_known);
    }

    /// Returns the token with which a principal came last, if [tokens are kept](ResourceServerBuilder::keep_tokens) and it
    /// still holds. It is for this server: it may be shown to an issuer that gives another one for it, and to nobody else.
    pub fn token_of(&self, principal: &Principal) -> Option<Box<str>> {
        self.0.holders.token_of(principal)
    }

    /// Returns the challenge for a refused request, which showed a token by `scheme`, or none.
    pub(crate) fn challenge(&self, error: TokenError, scheme: Option<TokenScheme>) -> Option<String> {
        let is_bound = error.is_about_proof()
            || self.0.dpop == DpopPolicy::Required
            || scheme == Some(TokenScheme::Dpop);
        let challenge = Challenge {
            scheme: if is_bound { TokenScheme::Dpop } else { TokenScheme::Bearer },
            metadata: &self.0.metadata,
            scopes: &self.0.required.to_string(),
            error: None,
        };
        error.complete(challenge)
    }

    /// Returns the nonce for the next proof of a sender whose proof is refused; `None` if proofs need no nonce.
    pub(crate) fn nonce(&self, error: TokenError) -> Option<String> {
        let nonces = self.0.proofs.nonces.as_ref().filter(|_| error.is_about_proof())?;
        Some(nonces.give(self.0.clock.now()))
    }

    /// Verifies a token with what is known already; `None` if somebody has to be asked.
    pub(crate) fn verify_known(&self, shown: &PresentedToken) -> Option<Result<VerifiedToken, TokenError>> {
        let now = self.0.clock.now();
        let digest = TokenCache::digest(&shown.token);
        let known = match self.0.cache.find(&digest, now) {
            Some(known) => known,
            None => match self.0.read(shown) {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some((issuer, header))) => {
                    let keys = issuer.known_lately()?;
                    match self.0.known(issuer, &keys.set, shown, &header, now) {
                        // An unknown key may be a new one.
                        None => return None,
                        Some(Err(error)) => return Some(Err(error)),
                        Some(Ok(known)) => self.0.note(digest, known, now),
                    }
                }
            },
        };
        Some(self.0.admit(&known, shown, now))
    }

    /// Verifies a token, and asks its issuer where that is needed.
    pub(crate) async fn verify(&self, shown: &PresentedToken) -> Result<VerifiedToken, TokenError> {
        if let Some(verified) = self.verify_known(shown) {
            return verified;
        }
        let known = if let Some((issuer, header)) = self.0.read(shown)? {
            let seen = issuer.known();
            let keys = issuer.fetch(seen.as_ref()).await?;
            if seen.is_some_and(|seen| !keys.set.has_keys_of(&seen.set)) {
                self.0.cache.forget(&issuer.of.name);
            }
            let known = self.0.known(issuer, &keys.set, shown, &header, self.0.clock.now());
            known.unwrap_or(Err(TokenError::Invalid))?
        } else {
            self.0.introspected(shown).await?
        };
        // Whoever was asked may have taken time.
        let now = self.0.clock.now();
        let known = self.0.note(TokenCache::digest(&shown.token), known, now);
        self.0.admit(&known, shown, now)
    }
}

impl ResourceServerParts {
    /// Returns the issuer and the header of a signed token; `None` for a token that only an issuer can tell about.
    fn read(&self, shown: &PresentedToken) -> Result<Option<(&Arc<IssuerKeys>, jose::Header)>, TokenError> {
        let asks = self.issuers.iter().any(|issuer| issuer.of.is_asked());
        let Some(payload) = shown.token.split('.').nth(1).filter(|_| shown.token.matches('.').count() == 2)
        else {
            return if asks { Ok(None) } else { Err(TokenError::Invalid) };
        };
        let header = jose::header(&shown.token).map_err(|_| TokenError::Invalid)?;
        let is_access_token = header.typ.as_deref().is_none_or(|kind| {
            let kind = kind.strip_prefix("application/").unwrap_or(kind);
            ["jwt", "at+jwt"].iter().any(|known| kind.eq_ignore_ascii_case(known))
        });
        if !is_access_token {
            return Err(TokenError::Invalid);
        }
        // Nothing proves the issuer yet: it only says whose key has to have signed.
        let claims = URL_SAFE_NO_PAD.decode(payload).ok().and_then(|json| Object::parse(json).ok());
        let named = claims.as_ref().and_then(|claims| claims.text("iss"));
        let issuer = self.issuers.iter().find(|issuer| named.as_deref() == Some(&*issuer.of.name));
        let issuer = issuer.filter(|issuer| issuer.of.algorithms.contains(&header.alg));
        Ok(Some((issuer.ok_or(TokenError::Invalid)?, header)))
    }

    /// Verifies a signed token by these keys; `None` if none of them is the one that it names.
    fn known(
        &self,
        issuer: &IssuerKeys,
        keys: &KeySet,
        shown: &PresentedToken,
        header: &jose::Header,
        now: Timestamp,
    ) -> Option<Result<KnownToken, TokenError>> {
        let mut outcome = None;
        for key in keys.find(header.kid.as_deref(), header.alg).take(MOST_KEYS_TRIED) {
            match jose::verify::<TokenClaims>(&shown.token, key, header.alg) {
                Ok(claims) => return Some(self.judged(issuer, &claims, now)),
                Err(jose::JoseError::Signature) => outcome = Some(Err(TokenError::Invalid)),
                Err(_) => return Some(Err(TokenError::Invalid)),
            }
        }
        // Without an id, a key that does not fit may have a successor.
        if header.kid.is_none() { None } else { outcome }
    }

    fn judged(
        &self,
        issuer: &IssuerKeys,
        claims: &TokenClaims,
        now: Timestamp,
    ) -> Result<KnownToken, TokenError> {
        let ends_at = claims.judge(&issuer.of.name, &self.resource, now, SKEW_MILLIS)?;
        self.token(issuer, claims, ends_at, ends_at.min(now.saturating_add(VERIFIED_FOR)))
    }

    /// Asks the issuers about a token that says nothing itself.
    async fn introspected(&self, shown: &PresentedToken) -> Result<KnownToken, TokenError> {
        // Texts that are no tokens must not keep the issuers busy.
        let _asking = self.asking.try_acquire().map_err(|_| TokenError::Unreachable)?;
        let mut outcome = TokenError::Invalid;
        for issuer in &self.issuers {
            let claims = match issuer.introspect(&shown.token).await {
                None => continue,
                Some(Ok(claims)) => claims,
                Some(Err(error)) => {
                    outcome = error;
                    continue;
                }
            };
            let is_theirs = claims.iss.as_deref().is_none_or(|named| named == &*issuer.of.name);
            if !is_theirs || !claims.is_for(&self.resource) {
                return Err(TokenError::Invalid);
            }
            let now = self.clock.now();
            let ends_at = claims.judge_time(now, SKEW_MILLIS)?;
            let soon = now.saturating_add(INTROSPECTED_FOR);
            return self.token(issuer, &claims, ends_at, ends_at.min(soon));
        }
        Err(outcome)
    }

    fn token(
        &self,
        issuer: &IssuerKeys,
        claims: &TokenClaims,
        ends_at: Timestamp,
        fresh_until: Timestamp,
    ) -> Result<KnownToken, TokenError> {
        let scopes = Scopes::read(claims.scopes()).map_err(|_| TokenError::Invalid)?;
        let subject =
            claims.sub.as_deref().filter(|subject| !subject.is_empty()).ok_or(TokenError::Invalid)?;
        if !self.required.missing_from(&scopes).is_empty() {
            return Err(TokenError::Scope);
        }
        Ok(KnownToken {
            issuer: issuer.of.name.clone(),
            subject: subject.into(),
            scopes: Arc::new(scopes),
            bound_to: claims.cnf.clone(),
            ends_at,
            fresh_until,
        })
    }

    fn note(&self, digest: [u8; 32], known: KnownToken, now: Timestamp) -> Arc<KnownToken> {
        let known = Arc::new(known);
        self.cache.put(digest, Arc::clone(&known), now);
        known
    }

    /// Lets the sender of a known token in, if the request proves what the token is bound to.
    fn admit(
        &self,
        known: &KnownToken,
        shown: &PresentedToken,
        now: Timestamp,
    ) -> Result<VerifiedToken, TokenError> {
        if let Some(wanted) = &known.bound_to.certificate {
            let own = shown.certificate.map(|certificate| URL_SAFE_NO_PAD.encode(certificate.thumbprint()));
            if own.as_deref() != Some(&**wanted) {
                return Err(TokenError::Certificate);
            }
        }
        // Who that is may have changed since the token was verified.
        let principal = (self.principals)(&known.issuer, &known.subject).ok_or(TokenError::UnknownSubject)?;
        match (&known.bound_to.jkt, shown.scheme) {
            (Some(key), TokenScheme::Dpop) => self.proofs.judge(key, &principal, shown, now)?,
            // A bound token is worth nothing without its proof, and a proof is worth nothing for another token.
            (Some(_), TokenScheme::Bearer) | (None, TokenScheme::Dpop) => return Err(TokenError::Proof),
            (None, TokenScheme::Bearer) if self.dpop == DpopPolicy::Required => {
                return Err(TokenError::Proof);
            }
            (None, TokenScheme::Bearer) => {}
        }
        Ok(VerifiedToken {
            validity: self.holders.let_in(&principal, known, self.keeps_tokens.then_some(&*shown.token)),
            principal,
            scopes: Arc::clone(&known.scopes),
            step_up: StepUp { scheme: shown.scheme, metadata: Arc::clone(&self.metadata) },
        })
    }
}

impl ResourceServerBuilder {
    /// Accepts the tokens of an issuer.
    pub fn issuer(mut self, issuer: Issuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// Sets the scopes that every token needs.
    pub fn required_scopes(mut self, scopes: Scopes) -> Self {
        self.required = scopes;
        self
    }

    /// Sets the use of DPoP.
    pub fn dpop(mut self, dpop: DpopPolicy) -> Self {
        self.dpop = dpop;
        self
    }

    /// Demands that each proof carries a nonce that this process gave within the last minutes, so that none can be made
    /// beforehand. A sender without one is given one, and repeats its request.
    pub fn demand_nonces(mut self) -> Self {
        self.demands_nonces = true;
        self
    }

    /// Keeps the token with which each principal came last, in memory and while it holds, for
    /// [`token_of`](ResourceServer::token_of).
    pub fn keep_tokens(mut self) -> Self {
        self.keeps_tokens = true;
        self
    }

    /// Sets who comes with a token of an issuer and a subject; nobody else comes with a token.
    pub fn principals(
        mut self,
        find: impl Fn(&str, &str) -> Option<Principal> + Send + Sync + 'static,
    ) -> Self {
        self.principals = Box::new(find);
        self
    }

    /// Sets the clock. Default: that of the system.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Creates the verification, which asks issuers by `fetcher`.
    ///
    /// # Errors
    /// The resource is no URL of HTTP, or the system has no random numbers.
    pub fn build(self, fetcher: &Fetcher) -> Result<ResourceServer, Error> {
        let wrong = || Error::invalid_params("the resource of tokens is no URL of HTTP");
        let url = url::Url::parse(&self.resource).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong());
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path().trim_end_matches('/');
        let metadata_path = format!("{WELL_KNOWN}{path}");
        let nonces = self.demands_nonces.then(ProofNonces::new).transpose()?;
        let issuers = self.issuers.into_iter().map(|issuer| IssuerKeys::new(issuer, fetcher.clone()));
        Ok(ResourceServer(Arc::new(ResourceServerParts {
            metadata: format!("{origin}{metadata_path}").into(),
            metadata_path: metadata_path.into(),
            resource: self.resource,
            issuers: issuers.map(Arc::new).collect(),
            asking: Semaphore::new(MOST_ASKING),
            required: self.required,
            dpop: self.dpop,
            principals: self.principals,
            clock: self.clock,
            cache: TokenCache::default(),
            proofs: ProofJudge { origin: origin.into(), nonces, used: UsedProofs::default() },
            holders: TokenHolders::default(),
            keeps_tokens: self.keeps_tokens,
        })))
    }
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer").field("resource", &self.0.resource).finish_non_exhaustive()
    }
}

mgp_types::partial_debug!(ResourceServerBuilder, self => resource: self.resource, issuers: self.issuers);

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The difference of clocks that is allowed for.
const SKEW_MILLIS: i64 = 60_000;
/// The time for which a signature is not verified again.
const VERIFIED_FOR: Duration = Duration::from_mins(5);
/// The time for which an issuer is not asked again about a token.
const INTROSPECTED_FOR: Duration = Duration::from_secs(30);
/// The number of tokens about which issuers are asked at once.
const MOST_ASKING: usize = 32;
/// The number of keys that are tried for a token which names none.
const MOST_KEYS_TRIED: usize = 8;
