//! The reasons why a token is refused, and the answers to its sender (RFC 6750, 9449, 9728).

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

    /// Returns the [`challenge`] with what is wrong: how to get a token that would be accepted.
    pub(super) fn challenge(self, scheme: TokenScheme, metadata: &str, scopes: &str) -> Option<String> {
        let (.., error) = self.facts();
        if error.is_none() && self != Self::Missing {
            return None;
        }
        let description = self.to_string();
        Some(challenge(scheme, metadata, scopes, error.map(|error| (error, &*description))))
    }
}

/// Returns the demand for a token, or for another one, as `WWW-Authenticate` has it: with the address of the metadata of
/// the resource, the scopes that are needed, with spaces between them, and the error with what it means.
fn challenge(scheme: TokenScheme, metadata: &str, scopes: &str, error: Option<(&str, &str)>) -> String {
    let scheme = match scheme {
        TokenScheme::Bearer => "Bearer".to_owned(),
        TokenScheme::Dpop => {
            let names: Vec<_> = dpop::algorithms().iter().map(|name| format!("{name:?}")).collect();
            format!("DPoP algs=\"{}\",", names.join(" "))
        }
    };
    let scopes = if scopes.is_empty() { String::new() } else { format!(", scope=\"{}\"", quotable(scopes)) };
    let error =
        error.map(|(error, description)| format!(", error=\"{error}\", error_description=\"{description}\""));
    format!("{scheme} resource_metadata=\"{metadata}\"{scopes}{}", error.unwrap_or_default())
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
        let error = ("insufficient_scope", "the token lacks a scope that the tool needs");
        let challenge = challenge(self.scheme, &self.metadata, &all.join(" "), Some(error));
        AuthorizationDemand::insufficient_scope(challenge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = "https://mgp.example/meta";

    #[test]
    fn a_challenge_says_where_tokens_are_had_and_what_is_wrong() {
        assert_eq!(
            TokenError::Missing.challenge(TokenScheme::Bearer, METADATA, "").unwrap(),
            r#"Bearer resource_metadata="https://mgp.example/meta""#
        );
        let challenge = TokenError::Nonce.challenge(TokenScheme::Dpop, METADATA, "a b").unwrap();
        assert!(
            challenge.starts_with("DPoP algs=\"ES256 ES384 EdDSA RS256 PS256\", ")
                && challenge.contains(r#"scope="a b", error="use_dpop_nonce""#),
            "{challenge}"
        );
        assert_eq!(TokenError::UnknownSubject.challenge(TokenScheme::Bearer, METADATA, ""), None);
    }

    #[test]
    fn a_scope_cannot_end_its_quotation() {
        let challenge = challenge(TokenScheme::Bearer, METADATA, "a\" error=\"\\", None);
        assert!(challenge.ends_with(r#"scope="a error=""#), "{challenge}");
    }
}
