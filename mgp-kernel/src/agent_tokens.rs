//! The tokens with which agents came, for servers at which the kernel exchanges them.
//!
//! A token is kept in memory, while it holds, and only where a server's entry says that tokens are exchanged. Only
//! the issuer that the entry names sees it, never one that a server names.

use std::sync::{Arc, OnceLock};

use mgp_client_sdk::oauth::TokenSource;
use mgp_security::oauth::ResourceServer;
use mgp_types::{Error, Principal, code};

/// The tokens with which agents came last, once the kernel accepts tokens. They leave it to the issuer that exchanges them
/// alone.
#[derive(Clone, Default)]
pub(crate) struct AgentTokens(Arc<OnceLock<ResourceServer>>);

impl AgentTokens {
    /// Takes tokens from here on.
    pub(crate) fn come_to(&self, server: ResourceServer) {
        // A kernel listens once.
        let _ = self.0.set(server);
    }

    /// Returns the source of an agent's tokens.
    pub(crate) fn of(&self, agent: &Principal) -> TokenSource {
        let (tokens, agent) = (self.clone(), agent.clone());
        TokenSource::new(move || {
            let token = tokens.0.get().and_then(|server| server.token_of(&agent));
            std::future::ready(token.ok_or_else(|| {
                let message = format!(
                    "the agent `{}` has to come with a token of its identity provider, which is exchanged for one of \
                     the server",
                    agent.access_id()
                );
                Error::new(code::AUTH_REQUIRED, message)
            }))
        })
    }
}

mgp_types::partial_debug!(AgentTokens);
