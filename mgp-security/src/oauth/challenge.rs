//! The reasons why a token is refused, and the answers to its sender (RFC 6750, 9449, 9728).

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use mgp_types::AuthorizationDemand;
use mgp_types::ext::scope::Scopes;

use super::proofs::TokenScheme;
use crate::jose::dpop;

/// The reason why a request is not let in by its token. It repeats no part of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The request shows no token.
    #[error("a token is needed")]
    Missing,
    /// The header has not the form that it should have.
    #[error("the Authorization header is malformed")]
    Malformed,
    /// The token is wrong: its signature, its issuer, its audience, or its form.
    #[error("the token is not one for this server")]
    Invalid,
    /// The token no longer holds, or not yet.
    #[error("the token has expired, or does not hold yet")]
    Expired,
    /// The token is right, and nobody is known by it here.
    #[error("no agent is configured for the subject of the token")]
    UnknownSubject,
    /// The token lacks scopes that every request needs.
    #[error("the token lacks a scope that this server needs")]
    Scope,
    /// The token is bound to a key that the sender has not proved.
    #[error("the token is bound to a key that the request does not prove")]
    Proof,
    /// The token is bound to a certificate that the sender has not shown.
    #[error("the token is bound to a certificate that the connection does not have")]
    Certificate,
    /// The proof of possession was used before.
    #[error("the DPoP proof was used before")]
    Replayed,
    /// The proof of possession lacks the nonce that this server gave.
    #[error("the DPoP proof needs the nonce of the header DPoP-Nonce")]
    Nonce,
    /// As many principals have tokens that hold as there may be.
    #[error("too many callers with tokens are known here now")]
    TooMany,
    /// The issuer cannot be asked now.
    #[error("the issuer of the token cannot be reached now")]
    Unreachable,
}

impl TokenError {
    /// Returns the status of the answer, a stable word for the record, and the error that the challenge names.
    pub(crate) const fn facts(self) -> (StatusCode, &'static str, Option<&'static str>) {
        match self {
            Self::Missing => (StatusCode::UNAUTHORIZED, "no-token", None),
            Self::Malformed => (StatusCode::BAD_REQUEST, "malformed-token", Some("invalid_request")),
            Self::Invalid => (StatusCode::UNAUTHORIZED, "invalid-token", Some("invalid_token")),
            Self::Expired => (StatusCode::UNAUTHORIZED, "expired-token", Some("invalid_token")),
            Self::UnknownSubject => (StatusCode::FORBIDDEN, "unknown-subject", None),
            Self::Scope => (StatusCode::FORBIDDEN, "missing-scope", Some("insufficient_scope")),
            Self::Proof => (StatusCode::UNAUTHORIZED, "proof", Some("invalid_dpop_proof")),
            Self::Certificate => (StatusCode::UNAUTHORIZED, "certificate", Some("invalid_token")),
            Self::Replayed => (StatusCode::UNAUTHORIZED, "replayed-proof", Some("invalid_dpop_proof")),
            Self::Nonce => (StatusCode::UNAUTHORIZED, "proof-nonce", Some("use_dpop_nonce")),
            Self::TooMany => (StatusCode::SERVICE_UNAVAILABLE, "too-many-callers", None),
            Self::Unreachable => (StatusCode::SERVICE_UNAVAILABLE, "issuer-unreachable", None),
        }
    }

    /// Returns whether the sender has to prove its key in another way.
    pub(super) const fn is_about_proof(self) -> bool {
        matches!(self, Self::Proof | Self::Replayed | Self::Nonce)
    }

    /// Returns the value of `WWW-Authenticate`, with what is wrong: how to get a token that would be accepted.
    pub(super) fn complete(self, challenge: Challenge<'_>) -> Option<String> {
        match self.facts().2 {
            None if self != Self::Missing => None,
            None => Some(challenge.to_string()),
            Some(error) => {
                Some(Challenge { error: Some((error, &self.to_string())), ..challenge }.to_string())
            }
        }
    }
}

/// The demand for a token, or for another one, as `WWW-Authenticate` has it.
#[derive(Clone, Copy)]
pub(super) struct Challenge<'a> {
    pub(super) scheme: TokenScheme,
    /// The address of the metadata of the resource.
    pub(super) metadata: &'a str,
    /// The scopes that are needed, with spaces between them.
    pub(super) scopes: &'a str,
    /// The error, and what it means.
    pub(super) error: Option<(&'a str, &'a str)>,
}

impl fmt::Display for Challenge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme {
            TokenScheme::Bearer => f.write_str("Bearer ")?,
            TokenScheme::Dpop => {
                let names: Vec<_> = dpop::algorithms().iter().map(|name| format!("{name:?}")).collect();
                write!(f, "DPoP algs=\"{}\", ", names.join(" "))?;
            }
        }
        write!(f, "resource_metadata=\"{}\"", self.metadata)?;
        if !self.scopes.is_empty() {
            write!(f, ", scope=\"{}\"", quotable(self.scopes))?;
        }
        if let Some((error, description)) = self.error {
            write!(f, ", error=\"{error}\", error_description=\"{description}\"")?;
        }
        Ok(())
    }
}

/// Returns a text without what cannot stand between quotation marks.
fn quotable(text: &str) -> String {
    text.chars().filter(|it| !matches!(it, '"' | '\\') && !it.is_control()).collect()
}

/// The way to a token with more scopes, in the extensions of a request that came with a token. Only the layer that verifies
/// tokens sets it.
#[derive(Debug, Clone)]
pub(crate) struct StepUp {
    pub(super) scheme: TokenScheme,
    pub(super) metadata: Arc<str>,
}

impl StepUp {
    /// Returns the demand for a token with all `needed` scopes, and those that this one has.
    pub(crate) fn demand<'s>(
        &self,
        needed: impl Iterator<Item = &'s str>,
        held: &'s Scopes,
    ) -> AuthorizationDemand {
        let mut all: Vec<&str> = needed.chain(held.iter()).collect();
        all.sort_unstable();
        all.dedup();
        let challenge = Challenge {
            scheme: self.scheme,
            metadata: &self.metadata,
            scopes: &all.join(" "),
            error: Some(("insufficient_scope", "the token lacks a scope that the tool needs")),
        };
        AuthorizationDemand::insufficient_scope(challenge.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(scheme: TokenScheme, scopes: &str) -> Challenge<'_> {
        Challenge { scheme, metadata: "https://mgp.example/meta", scopes, error: None }
    }

    #[test]
    fn a_challenge_says_where_tokens_are_had_and_what_is_wrong() {
        assert_eq!(
            TokenError::Missing.complete(bare(TokenScheme::Bearer, "")).unwrap(),
            r#"Bearer resource_metadata="https://mgp.example/meta""#
        );
        let challenge = TokenError::Nonce.complete(bare(TokenScheme::Dpop, "a b")).unwrap();
        assert!(
            challenge.starts_with("DPoP algs=\"ES256 ES384 EdDSA RS256 PS256\", ")
                && challenge.contains(r#"scope="a b", error="use_dpop_nonce""#),
            "{challenge}"
        );
        assert_eq!(TokenError::UnknownSubject.complete(bare(TokenScheme::Bearer, "")), None);
    }

    #[test]
    fn a_scope_cannot_end_its_quotation() {
        let challenge = bare(TokenScheme::Bearer, "a\" error=\"\\").to_string();
        assert!(challenge.ends_with(r#"scope="a error=""#), "{challenge}");
    }
}
