//! The verification of tokens, and its settings.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mgp_types::ext::scope::Scopes;
use mgp_types::mgp::Timestamp;
use mgp_types::{AgentGroups, Error, Object, Principal, RunningCalls, TokenStatement, Validity};
use tokio::time::sleep;

use super::TokenError;
use super::cache::{OpenQuestions, TokenCache, TokenHolders};
use super::challenge::StepUp;
use super::issuer::{Confirmation, Issuer, IssuerKeys, PublishedKeys, TokenClaims};
use super::proofs::{PresentedToken, ProofJudge, ProofNonces, TokenScheme, UsedProofs};
use crate::Clock;
use crate::jose::{self, dpop};
use crate::network::{Fetcher, check_url};

/// Verifies the tokens of requests to one resource. Clones share what they know.
///
/// With keys at hand, verification neither waits nor asks anybody. It waits for an issuer only for the first token, for one
/// with an unknown key, and for tokens that only their issuer can tell about.
#[derive(Clone)]
pub struct ResourceServer(pub(super) Arc<ResourceServerParts>);

pub(super) struct ResourceServerParts {
    pub(super) resource: Box<str>,
    pub(super) metadata: Arc<str>,
    pub(super) metadata_path: Box<str>,
    pub(super) issuers: Vec<Arc<IssuerKeys>>,
    pub(super) questions: OpenQuestions,
    /// The settings, without their issuers.
    pub(super) settings: ResourceServerSettings,
    pub(super) cache: TokenCache,
    pub(super) proofs: ProofJudge,
    pub(super) holders: TokenHolders,
}

/// A lookup of who comes with a token of this issuer and subject.
type FindPrincipal = dyn Fn(&str, &str) -> Option<Principal> + Send + Sync;
/// The decision whether tokens are kept.
type KeepTokens = dyn Fn() -> bool + Send + Sync;

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

mgp_types::with_defaults! {
    /// The settings of a [`ResourceServer`].
    pub struct ResourceServerSettings {
        /// The issuers whose tokens are accepted.
        pub issuers: Vec<Issuer> = Vec::new(),
        /// The scopes that every token needs.
        pub required_scopes: Scopes = Scopes::new(),
        /// The use of DPoP.
        pub dpop: DpopPolicy = DpopPolicy::default(),
        /// True if each proof has to carry a nonce that this process gave within the last minutes, so that none can be made
        /// beforehand. A sender without one is given one, and repeats its request.
        pub demands_nonces: bool = false,
        /// Says whether the token with which each principal came last is kept for [`token_of`](ResourceServer::token_of), in
        /// memory and while it holds. Default: no token is kept.
        pub keeps_tokens: Box<KeepTokens> = Box::new(|| false),
        /// Finds who comes with a token of an issuer and a subject; nobody else comes with a token.
        pub principals: Box<FindPrincipal> = Box::new(|_, _| None),
        /// The groups of agents, which are told of the claims of tokens.
        pub groups: AgentGroups = AgentGroups::default(),
        /// The clock. Default: that of the system.
        pub clock: Clock = Clock::system(),
    }
}

/// A token that was verified, but for what is to be proved with each request.
pub(super) struct KnownToken {
    pub(super) issuer: Arc<IssuerKeys>,
    /// The generation of the issuer's keys by which it was verified.
    generation: u64,
    pub(super) subject: Box<str>,
    scopes: Arc<Scopes>,
    bound_to: Confirmation,
    /// The claims that make the sender a member of groups.
    statement: Arc<TokenStatement>,
    pub(super) ends_at: Timestamp,
    /// The time until which it need not be verified again.
    pub(super) fresh_until: Timestamp,
}

impl KnownToken {
    /// Returns whether the token need not be verified again.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.fresh_until && self.generation == self.issuer.generation()
    }
}

/// The sender of a request whose token holds.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) principal: Principal,
    pub(crate) validity: Validity,
    pub(crate) scopes: Arc<Scopes>,
    pub(crate) step_up: StepUp,
}

impl ResourceServer {
    /// Creates the verification for `resource`, the URL by which clients know this server: the audience of their tokens.
    /// Issuers are asked by `fetcher`.
    ///
    /// # Errors
    /// The resource is no URL of HTTP, or the policy of `fetcher` does not allow the host of an issuer, such as one on this
    /// machine.
    pub fn new(
        resource: &str,
        mut settings: ResourceServerSettings,
        fetcher: &Fetcher,
    ) -> Result<Self, Error> {
        let wrong = || Error::invalid_params("the resource of tokens is no URL of HTTP");
        let url = url::Url::parse(resource).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong());
        }
        for issuer in &settings.issuers {
            check_url(&issuer.name, &fetcher.connector.policy).map_err(|finding| {
                let name = &issuer.name;
                let how = "allow it with `NetworkPolicy::allow_host_of`";
                Error::invalid_params(format!("the issuer `{name}` may not be asked: {finding}; {how}"))
            })?;
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path().trim_end_matches('/');
        let metadata_path = format!("{WELL_KNOWN}{path}");
        let nonces = settings.demands_nonces.then(ProofNonces::new);
        let issuers = std::mem::take(&mut settings.issuers)
            .into_iter()
            .map(|issuer| IssuerKeys::new(issuer, fetcher.clone()));
        Ok(Self(Arc::new(ResourceServerParts {
            metadata: format!("{origin}{metadata_path}").into(),
            metadata_path: metadata_path.into(),
            resource: resource.into(),
            issuers: issuers.map(Arc::new).collect(),
            questions: OpenQuestions::new(),
            settings,
            cache: TokenCache::default(),
            proofs: ProofJudge { origin: origin.into(), nonces, used: UsedProofs::default() },
            holders: TokenHolders::default(),
        })))
    }

    /// Returns the metadata document (RFC 9728) if it stands at this path.
    pub fn metadata_at(&self, path: &str) -> Option<String> {
        let parts = &*self.0;
        if path != &*parts.metadata_path && path != WELL_KNOWN {
            return None;
        }
        let scopes: Vec<_> = parts.settings.required_scopes.iter().collect();
        let mut document = serde_json::json!({
            "resource": parts.resource,
            "authorization_servers": parts.issuers.iter().map(|issuer| &*issuer.of.name).collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
            "dpop_signing_alg_values_supported": dpop::algorithms(),
            "dpop_bound_access_tokens_required": parts.settings.dpop == DpopPolicy::Required,
        });
        // Clients that know of no scopes ask for none.
        if !scopes.is_empty() {
            document["scopes_supported"] = scopes.into();
        }
        Some(document.to_string())
    }

    /// Ends sessions and streams within a second after the last token of who opened them, or when the issuer that is asked
    /// about it every half minute calls it inactive; running calls are treated as `calls`
    /// then says. It never returns: run it beside the server that lets callers in by tokens.
    pub async fn end_expired(&self, calls: impl Fn() -> RunningCalls) -> Infallible {
        loop {
            self.end_expired_at(self.0.settings.clock.now(), calls());
            self.end_inactive(calls()).await;
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Asks the issuers again about tokens by which something is open, and ends what was opened by those that are inactive.
    pub(super) async fn end_inactive(&self, calls: RunningCalls) {
        let parts = &*self.0;
        for token in parts.holders.to_ask(parts.settings.clock.now()) {
            match parts.introspected(TokenCache::digest(&token), &token).await {
                Ok(known) => {
                    parts.holders.ask_again(&token, known.fresh_until);
                    if let Some(principal) = parts.principal(&known) {
                        parts.settings.groups.note_token(principal.as_str(), &known.statement);
                    }
                }
                // An issuer that cannot be reached takes nothing away.
                Err(TokenError::Unreachable) => {
                    let again = parts.settings.clock.now().saturating_add(INTROSPECTED_FOR);
                    parts.holders.ask_again(&token, again);
                }
                Err(_) => parts.holders.end(calls, &parts.settings.groups, |_, holder| {
                    holder.asked.as_ref().is_some_and(|(asked, _)| *asked == token)
                }),
            }
        }
    }

    /// Ends what principals opened whose tokens are over, or who are not known by their subject any more.
    pub(super) fn end_expired_at(&self, now: Timestamp, calls: RunningCalls) {
        self.0.holders.end(calls, &self.0.settings.groups, |principal, holder| {
            let known = (self.0.settings.principals)(&holder.issuer, &holder.subject);
            now >= holder.ends_at || known.as_ref() != Some(principal)
        });
    }

    /// Returns the token with which a principal came last, if [tokens are kept](super::ResourceServerSettings::keeps_tokens) and it
    /// still holds. It is for this server: it may be shown to an issuer that gives another one for it, and to nobody else.
    pub fn token_of(&self, principal: &Principal) -> Option<Box<str>> {
        self.0.holders.token_of(principal)
    }

    /// Returns the challenge for a refused request, which showed a token by `scheme`, or none.
    pub(crate) fn challenge(&self, error: TokenError, scheme: Option<TokenScheme>) -> Option<String> {
        let is_bound = error.is_about_proof()
            || self.0.settings.dpop == DpopPolicy::Required
            || scheme == Some(TokenScheme::Dpop);
        let scheme = if is_bound { TokenScheme::Dpop } else { TokenScheme::Bearer };
        error.challenge(scheme, &self.0.metadata, &self.0.settings.required_scopes.to_string())
    }

    /// Returns the nonce for the next proof of a sender whose proof is refused; `None` if proofs need no nonce.
    pub(crate) fn nonce(&self, error: TokenError) -> Option<String> {
        let nonces = self.0.proofs.nonces.as_ref().filter(|_| error.is_about_proof())?;
        Some(nonces.give(self.0.settings.clock.now()))
    }

    /// Verifies a token with what is known already; `None` if somebody has to be asked.
    pub(crate) fn verify_known(&self, shown: &PresentedToken) -> Option<Result<VerifiedToken, TokenError>> {
        let parts = &*self.0;
        let now = parts.settings.clock.now();
        let digest = TokenCache::digest(&shown.token);
        // Claims that other groups name by now are read again, where nobody has to be asked.
        let is_read = |known: &Arc<KnownToken>| {
            !is_signed(&shown.token) || parts.settings.groups.is_current(&known.statement)
        };
        let known = match parts.cache.find(&digest, now).filter(is_read) {
            Some(known) => Ok(known),
            None => match parts.read(shown) {
                Err(error) => Err(error),
                Ok(None) => Err(parts.cache.refusal(&digest, now)?),
                Ok(Some((issuer, header))) => {
                    let keys = issuer.known().filter(|keys| issuer.may_use(keys))?;
                    // An unknown key may be a new one.
                    parts.known(issuer, &keys, shown, &header, digest)?
                }
            },
        };
        Some(known.and_then(|known| parts.admit(&known, shown)))
    }

    /// Verifies a token about which nothing is [known](Self::verify_known): asks its issuer.
    pub(crate) async fn verify(&self, shown: &PresentedToken) -> Result<VerifiedToken, TokenError> {
        let parts = &*self.0;
        let digest = TokenCache::digest(&shown.token);
        let known = if let Some((issuer, header)) = parts.read(shown)? {
            // The keys may be others by now than those that are known.
            let keys = issuer.fetch(issuer.known().as_ref()).await?;
            parts.known(issuer, &keys, shown, &header, digest).unwrap_or(Err(TokenError::Invalid))?
        } else {
            let asking = Box::pin(parts.introspected(digest, &shown.token));
            parts.questions.answer(digest, asking).await?
        };
        parts.admit(&known, shown)
    }

    /// Returns who comes with a token that this process got from its issuer itself. The token must not be bound to a key.
    ///
    /// # Errors
    /// The token does not hold, or its issuer cannot be asked.
    pub async fn holder(&self, token: &str) -> Result<Principal, TokenError> {
        let shown = PresentedToken::bearer(token);
        let verified = match self.verify_known(&shown) {
            Some(verified) => verified,
            None => self.verify(&shown).await,
        };
        verified.map(|verified| verified.principal)
    }
}

impl ResourceServerParts {
    /// Returns the issuer and the header of a signed token; `None` for a token that only an issuer can tell about.
    fn read(&self, shown: &PresentedToken) -> Result<Option<(&Arc<IssuerKeys>, jose::Header)>, TokenError> {
        let asks = self.issuers.iter().any(|issuer| issuer.of.introspection.is_some());
        if !is_signed(&shown.token) {
            return if asks { Ok(None) } else { Err(TokenError::Invalid) };
        }
        let header = jose::header(&shown.token).map_err(|_| TokenError::Invalid)?;
        let is_access_token = header.typ.as_deref().is_none_or(|kind| {
            let kind = kind.strip_prefix("application/").unwrap_or(kind);
            ["jwt", "at+jwt"].iter().any(|known| kind.eq_ignore_ascii_case(known))
        });
        if !is_access_token {
            return Err(TokenError::Invalid);
        }
        // Nothing proves the issuer yet: it only says whose key has to have signed.
        let claims = payload(&shown.token);
        let named = claims.as_ref().and_then(|claims| claims.text("iss"));
        let issuer = self.issuers.iter().find(|issuer| named.as_deref() == Some(&*issuer.of.name));
        let issuer = issuer.filter(|issuer| issuer.of.algorithms.contains(&header.alg));
        Ok(Some((issuer.ok_or(TokenError::Invalid)?, header)))
    }

    /// Verifies a signed token by these keys; `None` if none of them is the one that it names.
    fn known(
        &self,
        issuer: &Arc<IssuerKeys>,
        keys: &PublishedKeys,
        shown: &PresentedToken,
        header: &jose::Header,
        digest: [u8; 32],
    ) -> Option<Result<Arc<KnownToken>, TokenError>> {
        let mut outcome = None;
        for key in keys.set.find(header.kid.as_deref(), header.alg).take(MAX_KEYS_TRIED) {
            match jose::verify::<TokenClaims>(&shown.token, key, header.alg) {
                Ok(claims) => {
                    let all = payload(&shown.token).unwrap_or_default();
                    return Some(self.judged(issuer, Some(keys.generation), (&claims, &all), digest));
                }
                Err(jose::JoseError::Signature) => outcome = Some(Err(TokenError::Invalid)),
                Err(_) => return Some(Err(TokenError::Invalid)),
            }
        }
        // Without an id, a key that does not fit may have a successor.
        if header.kid.is_none() { None } else { outcome }
    }

    /// Returns the token that `claims` tell of, read and as they came, if it is for this server and holds now, and notes it. A
    /// key of the generation `signed` has signed the claims, or the issuer was asked for them, and need not name itself.
    fn judged(
        &self,
        issuer: &Arc<IssuerKeys>,
        signed: Option<u64>,
        (claims, all): (&TokenClaims, &Object),
        digest: [u8; 32],
    ) -> Result<Arc<KnownToken>, TokenError> {
        let now = self.settings.clock.now();
        let is_theirs =
            claims.iss.as_deref().map_or_else(|| signed.is_none(), |named| *named == *issuer.of.name);
        if !is_theirs || !claims.aud.contains(&self.resource) {
            return Err(TokenError::Invalid);
        }
        let ends_at = claims.judge_time(now, SKEW_MILLIS)?;
        let (generation, subject, fresh_for) = match signed {
            Some(generation) => (generation, claims.subject()?, VERIFIED_FOR),
            None => (issuer.generation(), claims.introspected()?, INTROSPECTED_FOR),
        };
        let scopes = Scopes::read(claims.scopes()).map_err(|_| TokenError::Invalid)?;
        if !self.settings.required_scopes.missing_from(&scopes).is_empty() {
            return Err(TokenError::Scope);
        }
        let (name, made_at) = (&*issuer.of.name, (claims.issued_at(), now.as_millis()));
        let statement = self.settings.groups.read_claims(name, all, made_at);
        for (claim, why) in &statement.ignored {
            tracing::warn!(issuer = name, %subject, %claim, why, "a claim of a token makes nobody a member of a group");
        }
        let known = Arc::new(KnownToken {
            issuer: Arc::clone(issuer),
            generation,
            subject,
            scopes: Arc::new(scopes),
            bound_to: claims.cnf.clone(),
            statement,
            ends_at,
            fresh_until: ends_at.min(now.saturating_add(fresh_for)),
        });
        self.cache.put(digest, Arc::clone(&known), now);
        Ok(known)
    }

    /// Asks the issuer about a token that says nothing itself, and notes what it says. Such a token says not whose it is,
    /// and is a secret of its issuer: the first issuer that is asked about tokens is the only one that sees it.
    async fn introspected(&self, digest: [u8; 32], token: &str) -> Result<Arc<KnownToken>, TokenError> {
        let mut issuers = self.issuers.iter();
        let issuer = issuers.find(|issuer| issuer.of.introspection.is_some()).ok_or(TokenError::Invalid)?;
        let claims = issuer.introspect(token).await;
        let known = claims.and_then(|(claims, all)| self.judged(issuer, None, (&claims, &all), digest));
        known.inspect_err(|error| {
            if *error != TokenError::Unreachable {
                self.cache.refuse(digest, *error, self.settings.clock.now());
            }
        })
    }

    /// Returns who comes with a token; that may have changed since the token was verified.
    fn principal(&self, known: &KnownToken) -> Option<Principal> {
        (self.settings.principals)(&known.issuer.of.name, &known.subject)
    }

    /// Lets the sender of a known token in, if the request proves what the token is bound to.
    fn admit(&self, known: &KnownToken, shown: &PresentedToken) -> Result<VerifiedToken, TokenError> {
        if let Some(wanted) = &known.bound_to.certificate {
            let own = shown.certificate.map(|certificate| URL_SAFE_NO_PAD.encode(certificate.thumbprint()));
            if own.as_deref() != Some(&**wanted) {
                return Err(TokenError::Certificate);
            }
        }
        let principal = self.principal(known).ok_or_else(|| {
            let (issuer, subject) = (&*known.issuer.of.name, &*known.subject);
            tracing::warn!(issuer, subject, "no agent of the configuration has the subject of a token");
            TokenError::UnknownSubject
        })?;
        match (&known.bound_to.jkt, shown.scheme) {
            (Some(key), TokenScheme::Dpop) => {
                self.proofs.judge(key, &principal, shown, self.settings.clock.now())?;
            }
            (None, TokenScheme::Bearer) if self.settings.dpop == DpopPolicy::Accepted => {}
            // A bound token is worth nothing without its proof, and a proof is worth nothing for another token.
            _ => return Err(TokenError::Proof),
        }
        let text = Some(&*shown.token);
        let (kept, opaque) =
            (text.filter(|_| (self.settings.keeps_tokens)()), text.filter(|text| !is_signed(text)));
        let validity = self.holders.let_in(&principal, known, kept, opaque)?;
        self.settings.groups.note_token(principal.as_str(), &known.statement);
        Ok(VerifiedToken {
            validity,
            principal,
            scopes: Arc::clone(&known.scopes),
            step_up: StepUp { scheme: shown.scheme, metadata: Arc::clone(&self.metadata) },
        })
    }
}

/// Returns the claims of a signed token, which nothing proves.
fn payload(token: &str) -> Option<Object> {
    Object::parse(URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?).ok()
}

/// Returns whether a token has the form of one that is signed, rather than of one that only its issuer can tell about.
fn is_signed(token: &str) -> bool {
    token.matches('.').count() == 2
}

mgp_types::partial_debug!(ResourceServerSettings, self => issuers: self.issuers);
mgp_types::partial_debug!(ResourceServer, self => resource: self.0.resource);

pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The difference of clocks that is allowed for.
const SKEW_MILLIS: i64 = 60_000;
/// The time for which a signature is not verified again.
const VERIFIED_FOR: Duration = Duration::from_mins(5);
/// The time for which an issuer is not asked again about a token.
const INTROSPECTED_FOR: Duration = Duration::from_secs(30);
/// The number of keys that are tried for a token which names none.
const MAX_KEYS_TRIED: usize = 8;
