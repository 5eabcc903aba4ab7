//! The claims of access tokens, and whether they hold here.

use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Deserializer};

use super::TokenError;

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
    aud: Vec<Box<str>>,
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

    pub(super) fn is_for(&self, audience: &str) -> bool {
        self.aud.iter().any(|it| **it == *audience)
    }

    /// Returns the scopes of the token.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &str> {
        let listed = self.scope.as_deref().unwrap_or_default().split(' ');
        listed.chain(self.scp.iter().flat_map(|scopes| scopes.split(' '))).filter(|scope| !scope.is_empty())
    }
}

const CLIENT: &str = "client_id:";
const USERNAME: &str = "username:";

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
