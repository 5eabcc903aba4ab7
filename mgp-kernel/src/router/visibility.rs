use std::sync::Arc;

use mgp_security::permission::GrantBook;
use mgp_toolindex::Tool;
use mgp_toolindex::discovery::ToolVisibility;
use mgp_types::Context;
use mgp_types::mgp::Permission;

use super::{CallerView, Visibility};

/// Shows callers the tools that they may call, by the policy that their calls are held to.
pub(crate) struct CatalogVisibility {
    pub(crate) visibility: Arc<Visibility>,
    pub(crate) grants: GrantBook,
}

impl ToolVisibility for CatalogVisibility {
    fn sees(&self, context: &Context, tool: &Tool) -> bool {
        CallerView::of(&self.visibility, context).is_ok_and(|sight| sight.tool(&tool.server, &tool.name))
    }

    fn revision(&self) -> u64 {
        // Either only ever grows, so no sum comes twice.
        self.visibility.access.revision() + self.visibility.fleet.revision()
    }

    fn missing_permissions(&self, context: &Context, tool: &Tool) -> Vec<Permission> {
        let missing =
            |permission: &&Permission| !self.grants.is_granted_for(&tool.server, permission, context);
        tool.permissions.iter().filter(missing).cloned().collect()
    }
}
