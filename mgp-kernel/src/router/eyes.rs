use std::sync::Weak;

use mgp_toolindex::Tool;
use mgp_toolindex::discovery::Eyes;
use mgp_types::Context;
use mgp_types::mgp::Permission;

use super::Sight;
use crate::parts::Parts;

/// Shows callers the tools that they may call, by the policy that their calls are held to.
///
/// They are among what the parts tell of changes, so they must not keep the parts alive.
pub(crate) struct CatalogEyes(pub(crate) Weak<Parts>);

impl Eyes for CatalogEyes {
    fn sees(&self, context: &Context, tool: &Tool) -> bool {
        let Some(parts) = self.0.upgrade() else { return false };
        Sight::of(&parts, context).is_ok_and(|sight| sight.tool(&tool.server, &tool.name))
    }

    fn revision(&self) -> u64 {
        // Either only ever grows, so no sum comes twice.
        self.0.upgrade().map_or(0, |parts| parts.access.revision() + parts.fleet.revision())
    }

    fn missing_permissions(&self, context: &Context, tool: &Tool) -> Vec<Permission> {
        let Some(parts) = self.0.upgrade() else { return tool.permissions.to_vec() };
        let missing =
            |permission: &&Permission| !parts.grants.is_granted_for(&tool.server, permission, context);
        tool.permissions.iter().filter(missing).cloned().collect()
    }
}
