//! The whole list of access entries. Single entries are read and changed by the methods of §5.4.

use std::io::{self, Write as _};

use clap::Args;
use mgp_types::Error;
use mgp_types::mgp::{AccessPermission, AgentId, EntryType, Glob, ServerId, Timestamp, ToolName};
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
    entries: Vec<AccessRow>,
    /// The policy that holds where no entry does.
    default_policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

/// An access entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessRow {
    id: u64,
    entry_type: EntryType,
    agent_id: AgentId,
    server_id: ServerId,
    tool_name: Option<ToolName>,
    permission: AccessPermission,
    granted_by: String,
    justification: Option<String>,
    granted_at: Timestamp,
    expires_at: Option<Timestamp>,
}

impl Operation for ListAccess {
    const NAME: &'static str = "kernel/access/list";
    const PROOF: ProofNeed = ProofNeed::None;
    type Reply = AccessEntries;

    async fn run(self, call: &OperatorCall) -> Result<AccessEntries, Error> {
        let access = &call.kernel.policies.access;
        let is_about = |row: &AccessRow, server: &ServerId| {
            *server == row.server_id || Glob::new(row.server_id.as_str()).matches(server.as_str())
        };
        let is_wanted = |row: &AccessRow| {
            self.agent_id.as_ref().is_none_or(|agent| *agent == row.agent_id)
                && self.server_id.as_ref().is_none_or(|server| is_about(row, server))
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
        let (entries, next_offset) = self.page.of(rows.filter(is_wanted));
        Ok(AccessEntries { entries, default_policy: access.default_policy().to_string(), next_offset })
    }
}

impl TextForm for AccessEntries {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.entries.iter().map(|row| {
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
        self.entries.iter().map(|row| NamedTarget::new(&row.server_id, row.tool_name.as_ref())).collect()
    }
}

impl TextForm for AccessRow {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let tool = self.tool_name.as_ref().map_or("all tools", ToolName::as_str);
        let word = permission_word(self.permission);
        writeln!(out, "{word}: {tool} of {} for {}", self.server_id, self.agent_id)
    }
}

/// Returns the word for what an entry says.
pub(crate) const fn permission_word(permission: AccessPermission) -> &'static str {
    match permission {
        AccessPermission::Allow => "allow",
        AccessPermission::Deny => "deny",
    }
}
