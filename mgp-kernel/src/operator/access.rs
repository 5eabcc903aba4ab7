//! The whole list of access entries. Single entries are read and changed by the methods of §5.4.

use mgp_security::access::AccessPolicy;
use mgp_types::mgp::{AccessPermission, AgentId, EntryType, Glob, ServerId, Timestamp, ToolName};
use serde::{Deserialize, Serialize};

use super::page::PageRequest;

/// The params that ask for entries: all, or those of an agent, about a server or both. Entries whose servers are a
/// pattern are about each server that it stands for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListAccess {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the entries, in the order in which they were made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AccessEntries {
    pub(crate) entries: Vec<AccessRow>,
    /// The policy that holds where no entry does.
    pub(crate) default_policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// An access entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AccessRow {
    pub(crate) id: u64,
    pub(crate) entry_type: EntryType,
    pub(crate) agent_id: AgentId,
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: Option<ToolName>,
    pub(crate) permission: AccessPermission,
    pub(crate) granted_by: String,
    pub(crate) justification: Option<String>,
    pub(crate) granted_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

pub(super) fn list(access: &AccessPolicy, asked: &ListAccess) -> AccessEntries {
    let is_about = |row: &AccessRow, server: &ServerId| {
        *server == row.server_id || Glob::new(row.server_id.as_str()).matches(server.as_str())
    };
    let of = |row: &AccessRow| {
        asked.agent_id.as_ref().is_none_or(|agent| *agent == row.agent_id)
            && asked.server_id.as_ref().is_none_or(|server| is_about(row, server))
    };
    let rows = access.entries().into_iter().map(|stored| {
        let entry = &stored.entry;
        AccessRow {
            id: stored.id,
            entry_type: entry.entry_type(),
            agent_id: entry.agent_id.clone(),
            server_id: entry.server_id.clone(),
            tool_name: entry.tool_name.clone(),
            permission: entry.permission,
            granted_by: entry.granted_by.clone(),
            justification: entry.justification.clone(),
            granted_at: entry.granted_at,
            expires_at: entry.expires_at,
        }
    });
    let (entries, next_offset) = asked.page.of(rows.filter(of));
    let default_policy = access.default_policy().to_string();
    AccessEntries { entries, default_policy, next_offset }
}
