use std::sync::Arc;

use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{Context, Error, Principal};

use crate::parts::Parts;
use crate::upstream::Upstream;

/// What a caller may see: what it may use, by the policy that its calls are held to.
pub(crate) struct Sight<'a> {
    parts: &'a Parts,
    principal: Principal,
}

impl<'a> Sight<'a> {
    /// What whoever sent a request may see.
    ///
    /// # Errors
    /// Nobody is known to have sent it.
    pub(crate) fn of(parts: &'a Parts, context: &Context) -> Result<Self, Error> {
        let principal = context.principal.clone().ok_or_else(|| Error::internal("nobody calls"))?;
        Ok(Self { parts, principal })
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(super) fn tool(&self, tool: &ResolvedTool) -> bool {
        let (server, name) = (&tool.server, &tool.name);
        self.parts.access.decide(self.principal.as_str(), server.as_str(), Some(name.as_str())).allows()
            && self.parts.definitions.is_admitted(server, name)
            && self.parts.fleet.admits(server.as_str(), &self.principal)
    }

    /// Whether the caller may use the server as a whole, its prompts and resources included.
    pub(crate) fn whole(&self, server: &ServerId) -> bool {
        self.parts.access.decide(self.principal.as_str(), server.as_str(), None).allows()
            && self.parts.fleet.admits(server.as_str(), &self.principal)
    }

    /// The servers of which the caller may use anything.
    pub(super) fn servers(&self) -> impl Iterator<Item = Arc<Upstream>> {
        let reaches = |upstream: &Arc<Upstream>| {
            self.parts.access.reaches(self.principal.as_str(), upstream.id().as_str())
                && upstream.admits(&self.principal)
        };
        self.parts.fleet.all().into_iter().filter(reaches)
    }
}
