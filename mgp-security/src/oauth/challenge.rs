//! The reasons why a token is refused, and the answers to its sender (RFC 6750, 9449, 9728).

use http::StatusCode;

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
    /// The issuer cannot be asked now.
    #[error("the issuer of the token cannot be reached now")]
    Unreachable,
}

impl TokenError {
    /// Returns the status of the answer.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::UnknownSubject | Self::Scope => StatusCode::FORBIDDEN,
            Self::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns one stable word for the record.
    pub(crate) const fn rule(self) -> &'static str {
        match self {
            Self::Missing => "no-token",
            Self::Malformed => "malformed-token",
            Self::Invalid => "invalid-token",
            Self::Expired => "expired-token",
            Self::UnknownSubject => "unknown-subject",
            Self::Scope => "missing-scope",
            Self::Proof => "proof",
            Self::Certificate => "certificate",
            Self::Replayed => "replayed-proof",
            Self::Unreachable => "issuer-unreachable",
        }
    }

    /// Returns the value of `WWW-Authenticate`: how to get a token that would be accepted.
    pub(crate) fn challenge(self, metadata: &str, scopes: &str, demands_proof: bool) -> Option<String> {
        let error = match self {
            Self::Missing => None,
            Self::Malformed => Some("invalid_request"),
            Self::Invalid | Self::Expired | Self::Certificate => Some("invalid_token"),
            Self::Proof | Self::Replayed => Some("invalid_dpop_proof"),
            Self::Scope => Some("insufficient_scope"),
            Self::UnknownSubject | Self::Unreachable => return None,
        };
        let is_about_proof = matches!(self, Self::Proof | Self::Replayed) || demands_proof;
        Some(challenge(is_about_proof, metadata, scopes, error, error.map(|_| self.to_string()).as_deref()))
    }
}

/// Returns a challenge. None of the texts has a quotation mark or a backslash.
pub(super) fn challenge(
    is_about_proof: bool,
    metadata: &str,
    scopes: &str,
    error: Option<&str>,
    description: Option<&str>,
) -> String {
    let mut challenge = String::from(if is_about_proof { "DPoP " } else { "Bearer " });
    let mut add = |name: &str, value: &str| {
        if !challenge.ends_with(' ') {
            challenge.push_str(", ");
        }
        challenge.push_str(name);
        challenge.push_str("=\"");
        challenge.extend(value.chars().filter(|it| !matches!(it, '"' | '\\') && !it.is_control()));
        challenge.push('"');
    };
    if is_about_proof {
        add("algs", "ES256 ES384 EdDSA RS256 PS256");
    }
    add("resource_metadata", metadata);
    if !scopes.is_empty() {
        add("scope", scopes);
    }
    if let Some(error) = error {
        add("error", error);
    }
    if let Some(description) = description {
        add("error_description", description);
    }
    challenge
}
