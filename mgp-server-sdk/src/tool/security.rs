//! The security declaration of a tool, as lists hold it.

use mgp_types::mcp::{self, Meta};
use mgp_types::mgp::{EXTENSION_ID, ToolSecurity};
use mgp_types::{RawJson, Revision};

/// The security declaration of a tool (MGP §4.2), as lists hold it.
#[derive(Debug, Clone)]
pub(crate) struct ListedSecurity {
    security: RawJson,
    mirror: RawJson,
}

impl ListedSecurity {
    pub(crate) fn new(security: &ToolSecurity) -> Self {
        let to_raw = |value| RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object());
        let security = to_raw(security);
        let mut mirror = mgp_types::Object::new();
        mirror.set(ToolSecurity::MEMBER, security.clone());
        Self { security, mirror: mirror.to_raw() }
    }

    /// Adds the declaration to a tool: beside `name`, and for stateless revisions among the metadata too, where MCP
    /// lets extensions write.
    pub(crate) fn write(&self, tool: &mut mcp::Tool, revision: Revision) {
        tool.extra.insert(ToolSecurity::MEMBER, self.security.clone());
        if revision.is_stateless() {
            tool.meta.get_or_insert_with(Meta::new).insert(EXTENSION_ID, self.mirror.clone());
        }
    }
}
