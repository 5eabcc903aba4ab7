//! Tokens of OAuth 2.1 in front of a server: what a protected resource does (RFC 6750, 9068, 9449, 9728).
//!
//! A [`ResourceServer`] verifies the tokens that clients show, by the keys of the issuers that it trusts. A token is accepted
//! only from one of these issuers, for this resource, while it holds, and for a subject that somebody named: (issuer, subject)
//! is mapped to a principal, and the subject is never a principal's name by itself. The token goes no further than the layer
//! that verified it. Its scopes come along, as [`Context::scopes`](mgp_types::Context::scopes).
//!
//! | item | purpose |
//! |---|---|
//! | [`ResourceServer`], [`ResourceServerSettings`] | verifies tokens; [`HttpAuthLayer::tokens`](crate::auth::HttpAuthLayer::tokens) uses it |
//! | [`Issuer`] | an identity provider whose tokens are accepted |
//! | [`TokenError`] | the reason why a token is refused, and the answer to its sender |

mod cache;
mod challenge;
mod issuer;
mod proofs;
mod resource_server;

pub(crate) use self::challenge::StepUp;
pub use self::challenge::TokenError;
pub use self::issuer::{Introspection, Issuer};
pub(crate) use self::proofs::{PresentedToken, TokenScheme, authorization};
pub(crate) use self::resource_server::VerifiedToken;
pub use self::resource_server::{DpopPolicy, ResourceServer, ResourceServerSettings};

#[cfg(test)]
mod tests;
