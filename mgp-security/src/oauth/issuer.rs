//! The issuers whose tokens are accepted, and their keys.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderValue};
use mgp_types::Object;
use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Deserializer};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::TokenError;
use crate::jose::{Algorithm, KeySet};
use crate::network::{FetchError, Fetcher, issuer_metadata_urls};

/// An identity provider whose tokens are accepted.
#[derive(Debug, Clone)]
#[must_use]
pub struct Issuer {
    /// The exact name.
    pub name: Box<str>,
    /// The URL of the keys; `None` if the metadata names it.
    pub jwks_uri: Option<Box<str>>,
    /// The algorithms by which tokens may be signed. None with a shared secret is accepted.
    pub algorithms: Vec<Algorithm>,
    /// The way to ask about tokens that are not signed. Of several such issuers the first one is asked.
    pub introspection: Option<Introspection>,
}

/// The way to ask an issuer about tokens that say nothing themselves (RFC 7662).
#[derive(Clone)]
pub struct Introspection {
    /// The URL to ask.
    pub url: Box<str>,
    /// The id of this server at the issuer.
    pub client_id: Box<str>,
    /// The secret of this server at the issuer.
    pub client_secret: Box<str>,
}

mgp_types::partial_debug!(Introspection, self => client_id: self.client_id);

impl Issuer {
    /// Creates the issuer with this exact name, whose keys are found by its metadata. Its tokens are signed by RS256, ES256 or
    /// EdDSA.
    pub fn new(issuer: impl Into<Box<str>>) -> Self {
        Self {
            name: issuer.into(),
            jwks_uri: None,
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
            introspection: None,
        }
    }
}

/// The keys of an issuer, as it published them.
pub(super) struct PublishedKeys {
    pub(super) set: KeySet,
    /// The number of times that the keys were others than before.
    pub(super) generation: u64,
    fetched_at: Instant,
}

impl PublishedKeys {
    /// Returns these keys as the successors of those before.
    fn after(before: Option<&Self>, set: KeySet) -> Self {
        let generation =
            before.map_or(0, |before| before.generation + u64::from(!set.has_keys_of(&before.set)));
        Self { set, generation, fetched_at: Instant::now() }
    }

    fn is_too_old(&self) -> bool {
        self.fetched_at.elapsed() >= LONGEST_USE
    }
}

/// An issuer with the keys that it published last.
pub(super) struct IssuerKeys {
    pub(super) of: Issuer,
    fetcher: Fetcher,
    keys: ArcSwapOption<PublishedKeys>,
    /// The time of the last fetch. Whoever fetches has the turn, and the others wait for what comes.
    turn: Mutex<Option<Instant>>,
}

impl IssuerKeys {
    pub(super) fn new(of: Issuer, fetcher: Fetcher) -> Self {
        Self { of, fetcher, keys: ArcSwapOption::empty(), turn: Mutex::new(None) }
    }

    /// Returns the keys that were fetched last, whenever that was.
    pub(super) fn known(&self) -> Option<Arc<PublishedKeys>> {
        self.keys.load_full()
    }

    /// Returns the generation of the keys that are known now.
    pub(super) fn generation(&self) -> u64 {
        self.keys.load().as_ref().map_or(0, |known| known.generation)
    }

    /// Returns whether known keys can still be used. Keys of some time ago are fetched again meanwhile, so that those which the
    /// issuer withdrew are no longer accepted; keys of long ago are not used any more.
    pub(super) fn may_use(self: &Arc<Self>, known: &Arc<PublishedKeys>) -> bool {
        if known.fetched_at.elapsed() >= LONGEST_INTERVAL && self.turn.try_lock().is_ok() {
            let (issuer, seen) = (Arc::clone(self), Arc::clone(known));
            tokio::spawn(async move { issuer.fetch(Some(&seen)).await.is_ok() });
        }
        !known.is_too_old()
    }

    /// Fetches the keys, unless that was done a moment ago: a flood of tokens with unknown keys makes one fetch. Keys that
    /// cannot be fetched stay as they were, for some time.
    ///
    /// # Errors
    /// There are no keys that can be used.
    pub(super) async fn fetch(
        &self,
        seen: Option<&Arc<PublishedKeys>>,
    ) -> Result<Arc<PublishedKeys>, TokenError> {
        let mut fetched_at = self.turn.lock().await;
        let known = self.known();
        let is_unseen = |known: &Arc<_>| seen.is_none_or(|seen| !Arc::ptr_eq(known, seen));
        let is_newer = known.as_ref().is_some_and(is_unseen);
        let is_recent = fetched_at.is_some_and(|at| at.elapsed() < SHORTEST_INTERVAL);
        if !is_newer && !is_recent {
            match self.published().await {
                Ok(set) => self.keys.store(Some(Arc::new(PublishedKeys::after(known.as_deref(), set)))),
                Err(why) => {
                    tracing::warn!(issuer = %self.of.name, %why, "the keys of an issuer cannot be fetched; those before stay");
                }
            }
            // The interval begins when the answer is there: those who waited meanwhile take what came.
            *fetched_at = Some(Instant::now());
        }
        self.known().filter(|known| !known.is_too_old()).ok_or(TokenError::Unreachable)
    }

    async fn published(&self) -> Result<KeySet, Cow<'static, str>> {
        let url = match &self.of.jwks_uri {
            Some(url) => url.clone(),
            None => self.metadata().await?.text("jwks_uri").ok_or("its metadata names no keys")?.into(),
        };
        let fetched =
            self.fetcher.get(&url, &HeaderMap::new()).await.map_err(|error| unfetched("its keys", &error))?;
        if !fetched.status.is_success() {
            return Err("its keys are not there".into());
        }
        let keys = KeySet::read(&fetched.body).map_err(|_| "its keys are malformed")?;
        if keys.is_empty() { Err("none of its keys verifies signatures".into()) } else { Ok(keys) }
    }

    async fn metadata(&self) -> Result<Object, Cow<'static, str>> {
        let places = issuer_metadata_urls(&self.of.name).ok_or("the issuer is no URL")?;
        let mut why = Cow::Borrowed("its metadata is not there");
        for place in places {
            match self.fetcher.get(&place, &HeaderMap::new()).await {
                Ok(fetched) if fetched.status.is_success() => {
                    let metadata = Object::parse(fetched.body).map_err(|_| "its metadata is malformed")?;
                    let is_own = metadata.text("issuer").as_deref() == Some(&*self.of.name);
                    let other = Cow::Borrowed("its metadata names another issuer");
                    return is_own.then_some(metadata).ok_or(other);
                }
                Ok(_) => {}
                Err(error) => why = unfetched("its metadata", &error),
            }
        }
        Err(why)
    }

    /// Asks the issuer about a token, and returns the claims that are known here, and all of them.
    ///
    /// # Errors
    /// The issuer is not asked about tokens, or does not tell, or the token does not hold.
    pub(super) async fn introspect(&self, token: &str) -> Result<(TokenClaims, Object), TokenError> {
        let way = self.of.introspection.as_ref().ok_or(TokenError::Invalid)?;
        let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = STANDARD.encode(format!("{}:{}", encoded(&way.client_id), encoded(&way.client_secret)));
        let mut headers = HeaderMap::new();
        let basic = format!("Basic {pair}").parse::<HeaderValue>();
        let mut basic = basic.map_err(|_| TokenError::Unreachable)?;
        basic.set_sensitive(true);
        headers.insert(AUTHORIZATION, basic);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = format!("token={}&token_type_hint=access_token", encoded(token));
        let answer = match self.fetcher.post_form(&way.url, &headers, form).await {
            Ok(answer) if answer.status.is_success() => Ok(answer),
            Ok(answer) => Err(Cow::from(format!("its answer has the status {}", answer.status))),
            Err(error) => Err(unfetched("its answer", &error)),
        };
        let answer = answer.map_err(|why| {
            tracing::warn!(issuer = %self.of.name, %why, "an issuer does not tell about a token");
            TokenError::Unreachable
        })?;
        let claims = Object::parse(answer.body).ok().filter(|claims| claims.bytes("active") == Some(b"true"));
        claims.and_then(|claims| Some((claims.to().ok()?, claims))).ok_or(TokenError::Invalid)
    }
}

mgp_types::partial_debug!(IssuerKeys, self => of: self.of);

/// Returns why something of an issuer could not be fetched, and what may help.
fn unfetched(what: &str, error: &FetchError) -> Cow<'static, str> {
    let mut why = format!("{what} cannot be fetched: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(why, ": {error}");
        cause = error.source();
    }
    if why.contains("certificate") || why.contains("UnknownIssuer") {
        why.push_str(
            "; TLS trusts the usual authorities, and those in the file that `listen.oauth.ca` names",
        );
    }
    why.into()
}

/// The claims of an access token, or the answer of an issuer about one.
#[derive(Deserialize)]
pub(super) struct TokenClaims {
    pub(super) iss: Option<Box<str>>,
    sub: Option<Box<str>>,
    /// The name of the person, in the answer of an issuer.
    username: Option<Box<str>>,
    /// The client that got the token, in the answer of an issuer.
    client_id: Option<Box<str>>,
    #[serde(default, deserialize_with = "one_or_many")]
    pub(super) aud: Vec<Box<str>>,
    exp: Option<f64>,
    nbf: Option<f64>,
    iat: Option<f64>,
    scope: Option<Box<str>>,
    #[serde(default, deserialize_with = "one_or_many")]
    scp: Vec<Box<str>>,
    #[serde(default)]
    pub(super) cnf: Confirmation,
}

/// The key or certificate to which a token is bound. A token bound to anything else is refused, as nobody could prove
/// that here.
#[derive(Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirmation {
    /// The thumbprint of a key, for which the sender has to give a proof.
    pub(super) jkt: Option<Box<str>>,
    /// The thumbprint of a client certificate.
    #[serde(rename = "x5t#S256")]
    pub(super) certificate: Option<Box<str>>,
}

/// Reads a text, or a list of texts.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Box<str>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(Box<str>),
        Many(Vec<Box<str>>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

impl TokenClaims {
    /// Returns the subject. No issuer can name a subject that stands for one of [`introspected`](Self::introspected).
    ///
    /// # Errors
    /// The claims name none.
    pub(super) fn subject(&self) -> Result<Box<str>, TokenError> {
        let is_stand_in = |subject: &str| [CLIENT, USERNAME].iter().any(|prefix| subject.starts_with(prefix));
        let subject = self.sub.clone().filter(|subject| !subject.is_empty() && !is_stand_in(subject));
        subject.ok_or(TokenError::Invalid)
    }

    /// Returns the subject in the answer of an issuer, which need not name one: then it is the person or, for a token
    /// that is nobody's, the client, with the kind of name in front.
    ///
    /// # Errors
    /// The answer names nobody.
    pub(super) fn introspected(&self) -> Result<Box<str>, TokenError> {
        if self.sub.is_some() {
            return self.subject();
        }
        let (kind, name) = match (&self.username, &self.client_id) {
            (Some(username), _) => (USERNAME, username),
            (None, Some(client)) => (CLIENT, client),
            (None, None) => return Err(TokenError::Invalid),
        };
        if name.is_empty() { Err(TokenError::Invalid) } else { Ok(format!("{kind}{name}").into()) }
    }

    /// Returns when the token was issued, in milliseconds; 0 for a token that does not say so.
    pub(super) fn issued_at(&self) -> i64 {
        self.iat.and_then(|time| millis(time).ok()).unwrap_or_default()
    }

    /// Returns when the token ends, once it is known to hold at `now`.
    pub(super) fn judge_time(&self, now: Timestamp, skew_millis: i64) -> Result<Timestamp, TokenError> {
        let end = millis(self.exp.ok_or(TokenError::Invalid)?)?;
        let latest = now.as_millis().saturating_add(skew_millis);
        for begin in [self.nbf, self.iat].into_iter().flatten() {
            if millis(begin)? > latest {
                return Err(TokenError::Expired);
            }
        }
        let end = end.saturating_add(skew_millis);
        if end <= now.as_millis() {
            return Err(TokenError::Expired);
        }
        Timestamp::from_millis(end).ok_or(TokenError::Invalid)
    }

    /// Returns the scopes of the token.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &str> {
        let listed = self.scope.as_deref().unwrap_or_default().split(' ');
        listed.chain(self.scp.iter().flat_map(|scopes| scopes.split(' '))).filter(|scope| !scope.is_empty())
    }
}

/// Returns a time in seconds as milliseconds.
fn millis(seconds: f64) -> Result<i64, TokenError> {
    if !seconds.is_finite() || seconds.abs() > MAX_SECONDS {
        return Err(TokenError::Invalid);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the number is bounded")]
    Ok((seconds * 1000.0) as i64)
}

/// The latest time that a token may name: the year 9999.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// The time after which an issuer's keys are fetched again.
const LONGEST_INTERVAL: Duration = Duration::from_mins(5);

/// The time for which the keys of an issuer that cannot be reached are used.
const LONGEST_USE: Duration = Duration::from_hours(1);

/// The shortest time between two fetches of an issuer's keys.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);

const CLIENT: &str = "client_id:";

const USERNAME: &str = "username:";
