//! `mgp access`: shows and changes the rules on which agents may use which servers and tools.

use clap::{Args, Subcommand};
use mgp_kernel_core::admin::access::{ListAccess, ListGroups, NamedTarget, advised};
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::servers::ListServers;
use mgp_kernel_core::admin::tools::ListTools;
use mgp_kernel_core::terminal::{Exit, Failure, Result, ahead, word_of};
use mgp_security::access::StoredEntry;
use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessQuery, AccessRevoke, AccessState, AgentId, ServerId, Timestamp,
    ToolName, method,
};
use mgp_types::shell_word;
use serde_json::{Value, json};

use super::context::CommandContext;
use super::link::KernelLink;

#[derive(Debug, Subcommand)]
pub(super) enum AccessCommand {
    /// Show whether an agent may use a server or tool, and which entry decides
    Query(AccessTargetArgs),
    /// Allow an agent a server or tool
    Grant {
        /// Deny instead, as `mgp access deny` does
        #[arg(long)]
        deny: bool,
        #[command(flatten)]
        entry: AccessEntryArgs,
    },
    /// Deny an agent a server or tool
    Deny(AccessEntryArgs),
    /// Remove an entry, so that a more general entry or the default decides
    Revoke(AccessTargetArgs),
    /// List the entries
    List(ListAccess),
    /// List the groups of agents, with their known members
    Groups(ListGroups),
}

/// The agent, server and tool of an entry.
#[derive(Debug, Args)]
pub(super) struct AccessTargetArgs {
    /// The id of the agent, or a group as `@name`
    agent: AgentId,
    /// The server, or the server and tool in one word: `server.tool`, `server.*`, `*.tool`, `*`
    server: String,
    /// The name of the tool as its server gives it; all tools of the server if left out. `*` stands for any
    /// characters, here and in the server
    tool: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct AccessEntryArgs {
    #[command(flatten)]
    target: AccessTargetArgs,
    /// The end of the entry: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = ahead)]
    until: Option<Timestamp>,
    /// The reason, for the audit log
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Make the entry even if there is no such server or tool
    #[arg(long)]
    force: bool,
}

pub(super) async fn run(cx: &CommandContext, access: AccessCommand) -> Result {
    let work = async |link: &KernelLink| match access {
        AccessCommand::Query(target) => query(link, target).await,
        AccessCommand::Grant { deny: false, entry } => make(link, entry, AccessPermission::Allow).await,
        AccessCommand::Grant { entry, .. } | AccessCommand::Deny(entry) => {
            make(link, entry, AccessPermission::Deny).await
        }
        AccessCommand::Revoke(target) => revoke(link, target).await,
        AccessCommand::List(list) => cx.output.result(&link.ask(&list).await?),
        AccessCommand::Groups(list) => cx.output.result(&link.ask(&list).await?),
    };
    KernelLink::with(cx, KernelNeed::State, work).await
}

/// Shows whether an agent may use a server or tool. The command ends with 0 if it may and with 3 if it may not, so that
/// scripts can check it.
async fn query(link: &KernelLink, target: AccessTargetArgs) -> Result {
    let names = link.names(&target).await?;
    let (agent, server, tool) = target.named(&names, false)?;
    let state: AccessState =
        link.request(method::ACCESS_QUERY, &AccessQuery::new(agent, server, tool)).await?;
    link.output.show(&state, |state, out| {
        use std::io::Write as _;
        write!(out, "{} ({}", word_of(state.permission), word_of(state.source))?;
        state.group.iter().try_for_each(|group| write!(out, " for {group}"))?;
        state.granted_by.iter().try_for_each(|by| write!(out, " by {by}"))?;
        state.expires_at.iter().try_for_each(|end| write!(out, ", until {end}"))?;
        writeln!(out, ")")
    })?;
    Ok(if state.permission == AccessPermission::Allow { Exit::Done } else { Exit::Auth })
}

async fn make(link: &KernelLink, wanted: AccessEntryArgs, permission: AccessPermission) -> Result {
    let names = link.names(&wanted.target).await?;
    let (agent, server, tool) = wanted.target.named(&names, wanted.force)?;
    let mut entry = AccessGrant::new(agent, server, permission).with_expires_at(wanted.until);
    (entry.justification, entry.force) = (wanted.because, wanted.force);
    entry = tool.into_iter().fold(entry, AccessGrant::for_tool);
    let made: Result<StoredEntry> = link.request(method::ACCESS_GRANT, &entry).await;
    let stored = made.map_err(|failure| {
        let verb = if permission == AccessPermission::Deny { "deny" } else { "grant" };
        let command = |meant: &str| {
            format!("mgp access {verb} {} {}", shell_word(entry.agent_id.as_str()), shell_word(meant))
        };
        advised(failure, command)
    })?;
    link.output.result(&stored)
}

async fn revoke(link: &KernelLink, target: AccessTargetArgs) -> Result {
    let list =
        link.ask(&ListAccess { agent_id: Some(target.agent.clone()), ..ListAccess::default() }).await?;
    // Entries of servers that no longer exist can be named, too.
    let entries = list.entries.iter().map(|stored| &stored.entry);
    let targets = entries.map(|entry| NamedTarget::new(&entry.server_id, entry.tool_name.as_ref()));
    let (agent, server, tool) = target.named(&targets.collect::<Vec<_>>(), false)?;
    let entry = tool.into_iter().fold(AccessRevoke::new(agent, server), AccessRevoke::for_tool);
    let revoked: Value = link.request(method::ACCESS_REVOKE, &entry).await?;
    let count = &revoked["deleted_count"];
    if *count == 0 {
        return Err(Failure::usage("there is no such entry").hint("`mgp access list` shows the entries"));
    }
    link.output.line(&json!({ "deleted_count": count }), "revoked")
}

impl AccessTargetArgs {
    fn named(self, known: &[NamedTarget], unseen: bool) -> Result<(AgentId, ServerId, Option<ToolName>)> {
        let target = match self.tool {
            Some(tool) => NamedTarget::in_two(self.server, tool),
            None => match NamedTarget::in_one(&self.server)? {
                Some(target) => target,
                None => NamedTarget::by(&self.server, known, unseen)?,
            },
        };
        let (server, tool) = target.ids();
        Ok((self.agent, server, tool))
    }
}

impl KernelLink {
    /// Asks the kernel for the names that tell servers from tools. A target that is unambiguous by itself needs no
    /// request.
    async fn names(&self, target: &AccessTargetArgs) -> Result<Vec<NamedTarget>> {
        if target.tool.is_some() || NamedTarget::in_one(&target.server)?.is_some() {
            return Ok(Vec::new());
        }
        let servers = self.ask(&ListServers::default()).await?.servers;
        let named = ListTools { name: Some(target.server.clone()), ..ListTools::default() };
        let tools = self.ask(&named).await?.tools;
        let tools = tools.iter().map(|row| NamedTarget::new(&row.server_id, Some(&row.tool_name)));
        Ok(servers.iter().map(|row| NamedTarget::new(&row.id, None)).chain(tools).collect())
    }
}
