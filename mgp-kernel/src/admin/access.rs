//! The whole list of access entries. Single entries are read and changed by the methods of §5.4.

use std::io::{self, Write as _};
use std::sync::Arc;

use clap::Args;
use mgp_security::access::{AccessEntry, StoredEntry};
use mgp_types::Error;
use mgp_types::mgp::{AccessPermission, AgentId, Glob, ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::access_target::NamedTarget;
use super::command::PageRequest;
use super::operation::{Operation, OperatorCall, ProofNeed};
use crate::terminal::{TextForm, TextWriter, or_dash};

/// Lists entries in the order in which they were made: all, or those of an agent, about a server or both. Entries whose
/// servers are a pattern are about each server that it stands for.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListAccess {
    /// List the entries of this agent only
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agent_id: Option<AgentId>,
    /// List the entries for this server only, patterns that match it included
    #[arg(long = "server", value_name = "SERVER")]
    pub(crate) server_id: Option<ServerId>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the entries.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessEntries {
    entries: Vec<StoredEntry>,
    /// The policy that holds where no entry does.
    default_policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Operation for ListAccess {
    const NAME: &'static str = "kernel/access/list";
    const PROOF: ProofNeed = ProofNeed::None;
    type Reply = AccessEntries;

    async fn run(self, call: &OperatorCall) -> Result<AccessEntries, Error> {
        let access = &call.kernel.policies.access;
        let is_about = |entry: &AccessEntry, server: &ServerId| {
            *server == entry.server_id || Glob::new(entry.server_id.as_str()).matches(server.as_str())
        };
        let is_wanted = |StoredEntry { entry, .. }: &StoredEntry| {
            self.agent_id.as_ref().is_none_or(|agent| *agent == entry.agent_id)
                && self.server_id.as_ref().is_none_or(|server| is_about(entry, server))
        };
        let entries = access.entries().into_iter().map(Arc::unwrap_or_clone);
        let (entries, next_offset) = self.page.of(entries.filter(is_wanted));
        Ok(AccessEntries { entries, default_policy: access.default_policy().to_string(), next_offset })
    }
}

impl TextForm for AccessEntries {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.entries.iter().map(|StoredEntry { entry: row, .. }| {
            [
                row.agent_id.to_string(),
                row.server_id.to_string(),
                row.tool_name.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string),
                permission_word(row.permission).to_owned(),
                row.granted_by.clone(),
                or_dash(row.expires_at),
            ]
        });
        out.table(&["AGENT", "SERVER", "TOOL", "MAY", "BY", "UNTIL"], rows, "no entries")
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("where no entry decides: {}", self.default_policy)]
    }
}

impl AccessEntries {
    /// Returns the servers and tools of the entries, so that entries of servers that no longer exist can be named, too.
    pub(crate) fn targets(&self) -> Vec<NamedTarget> {
        let named =
            |stored: &StoredEntry| NamedTarget::new(&stored.entry.server_id, stored.entry.tool_name.as_ref());
        self.entries.iter().map(named).collect()
    }
}

impl TextForm for StoredEntry {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let AccessEntry { agent_id, server_id, tool_name, permission, .. } = &self.entry;
        let tool = tool_name.as_ref().map_or("all tools", ToolName::as_str);
        writeln!(out, "{}: {tool} of {server_id} for {agent_id}", permission_word(*permission))
    }
}

/// Returns the word for what an entry says.
pub(crate) const fn permission_word(permission: AccessPermission) -> &'static str {
    match permission {
        AccessPermission::Allow => "allow",
        AccessPermission::Deny => "deny",
    }
}
