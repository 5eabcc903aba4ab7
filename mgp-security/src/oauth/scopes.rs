//! The scopes of a request's token.

use std::sync::Arc;

use mgp_types::AuthorizationDemand;
use mgp_types::ext::scope::Scopes;

use super::challenge::challenge;

/// The scopes of the token that a request came with, in the extensions of the request. Only the layer that verifies tokens
/// sets them.
#[derive(Debug, Clone)]
pub struct TokenScopes {
    scopes: Arc<Scopes>,
    metadata: Arc<str>,
}

impl TokenScopes {
    pub(super) fn new(scopes: Arc<Scopes>, metadata: Arc<str>) -> Self {
        Self { scopes, metadata }
    }

    /// Returns the scopes.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Returns the demand for a token with all `needed` scopes, and those that this one has.
    pub(crate) fn demand<'s>(&'s self, needed: impl Iterator<Item = &'s str>) -> AuthorizationDemand {
        let mut all: Vec<&str> = needed.chain(self.scopes.iter()).collect();
        all.sort_unstable();
        all.dedup();
        let description = "the token lacks a scope that the tool needs";
        AuthorizationDemand::insufficient_scope(challenge(
            false,
            &self.metadata,
            &all.join(" "),
            Some("insufficient_scope"),
            Some(description),
        ))
    }
}
