use std::sync::Arc;

use mgp_toolindex::Tool;
use mgp_toolindex::discovery::Eyes;
use mgp_types::Context;
use mgp_types::mgp::Permission;

use crate::parts::Parts;

/// Shows callers the tools that they may call, by the policy that their calls are held to.
pub(crate) struct CatalogEyes(pub(crate) Arc<Parts>);

impl Eyes for CatalogEyes {
    fn sees(&self, context: &Context, tool: &Tool) -> bool {
        let Some(principal) = &context.principal else { return false };
        let allowed =
            self.0.access.decide(principal.as_str(), tool.server.as_str(), Some(tool.name.as_str()));
        allowed.allows()
            && self.0.definitions.is_admitted(&tool.server, &tool.name)
            && self.0.fleet.admits(tool.server.as_str(), principal)
    }

    fn revision(&self) -> u64 {
        self.0.access.revision()
    }

    fn missing_permissions(&self, _: &Context, tool: &Tool) -> Vec<Permission> {
        let missing = |permission: &&Permission| !self.0.grants.is_granted(&tool.server, permission);
        tool.permissions.iter().filter(missing).cloned().collect()
    }
}
