//! The demand for a token with more scopes.

use std::sync::Arc;

use mgp_types::AuthorizationDemand;
use mgp_types::ext::scope::Scopes;

use super::challenge::Challenge;
use super::presented::TokenScheme;

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
