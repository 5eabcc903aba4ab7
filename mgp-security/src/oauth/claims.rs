//! The claims of access tokens, and whether they hold here.

use mgp_types::mgp::Timestamp;
use serde::Deserialize;

use super::TokenError;

/// The claims of an access token, or the answer of an issuer about one.
#[derive(Deserialize)]
pub(super) struct TokenClaims {
    pub(super) iss: Option<Box<str>>,
    pub(super) sub: Option<Box<str>>,
    #[serde(default)]
    aud: OneOrMany,
    exp: Option<f64>,
    nbf: Option<f64>,
    iat: Option<f64>,
    scope: Option<Box<str>>,
    #[serde(default)]
    scp: OneOrMany,
    #[serde(default)]
    pub(super) cnf: Confirmation,
}

/// What a token is bound to. A token that is bound to anything else is refused, as nobody could prove that here.
#[derive(Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirmation {
    /// The thumbprint of a key, for which the sender has to give a proof.
    pub(super) jkt: Option<Box<str>>,
    /// The thumbprint of a client certificate.
    #[serde(rename = "x5t#S256")]
    pub(super) certificate: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Box<str>),
    Many(Vec<Box<str>>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many.as_slice(),
        }
        .iter()
        .map(|text| &**text)
    }
}

impl TokenClaims {
    /// Returns when the token ends, once it is known to be from `issuer`, for `audience`, and to hold at `now`.
    pub(super) fn judge(
        &self,
        issuer: &str,
        audience: &str,
        now: Timestamp,
        skew_millis: i64,
    ) -> Result<Timestamp, TokenError> {
        if self.iss.as_deref() != Some(issuer) || !self.aud.iter().any(|it| it == audience) {
            return Err(TokenError::Invalid);
        }
        self.judge_time(now, skew_millis)
    }

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
        self.aud.iter().any(|it| it == audience)
    }

    /// Returns the scopes of the token.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &str> {
        let listed = self.scope.as_deref().unwrap_or_default().split(' ');
        listed.chain(self.scp.iter().flat_map(|scopes| scopes.split(' '))).filter(|scope| !scope.is_empty())
    }
}

/// Returns a time in seconds as milliseconds.
fn millis(seconds: f64) -> Result<i64, TokenError> {
    if !seconds.is_finite() || seconds.abs() > MOST_SECONDS {
        return Err(TokenError::Invalid);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the number is bounded")]
    Ok((seconds * 1000.0) as i64)
}

/// The latest time that a token may name: the year 9999.
const MOST_SECONDS: f64 = 253_402_300_799.0;
