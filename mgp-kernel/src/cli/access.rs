//! `mgp access`: shows and changes the rules on which agents may use which servers and tools.

use clap::{Args, Subcommand};
use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessQuery, AccessRevoke, AccessState, AgentId, ServerId, Timestamp,
    ToolName, method,
};
use mgp_types::shell_word;
use serde::{Deserialize, Serialize};

use super::access_target::{NameLookup, NamedTarget, advised};
use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::moment::{Moment, moment};
use super::output::Output;
use crate::operator::access::{AccessEntries, AccessRow, ListAccess};
use crate::operator::method::{ACCESS_LIST, SERVERS, TOOLS};
use crate::operator::page::PageRequest;
use crate::operator::servers::{ServerList, ServerRow};
use crate::operator::tools::{ListTools, ToolPage, ToolRow};

#[derive(Debug, Subcommand)]
pub(super) enum AccessCommand {
    /// Show whether an agent may use a server or tool, and which entry decides
    Query(AccessTargetArgs),
    /// Allow an agent a server or tool
    Grant(AccessGrantArgs),
    /// Deny an agent a server or tool
    Deny(AccessDenyArgs),
    /// Remove an entry, so that a more general entry or the default decides
    Revoke(AccessTargetArgs),
    /// List the entries
    List(AccessListArgs),
}

/// The agent, server and tool of an entry.
#[derive(Debug, Args)]
pub(super) struct AccessTargetArgs {
    /// The id of the agent
    agent: String,
    /// The server, or the server and tool in one word: `server.tool`, `server.*`, `*.tool`, `*`
    server: String,
    /// The name of the tool as its server gives it; all tools of the server if left out. `*` stands for any
    /// characters, here and in the server
    tool: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct AccessGrantArgs {
    #[command(flatten)]
    target: AccessTargetArgs,
    /// Deny instead, as `mgp access deny` does
    #[arg(long)]
    deny: bool,
    #[command(flatten)]
    terms: AccessTermsArgs,
}

#[derive(Debug, Args)]
pub(super) struct AccessDenyArgs {
    #[command(flatten)]
    target: AccessTargetArgs,
    #[command(flatten)]
    terms: AccessTermsArgs,
}

#[derive(Debug, Args)]
struct AccessTermsArgs {
    /// The end of the entry: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Moment>,
    /// The reason, for the audit log
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Make the entry even if there is no such server or tool
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct AccessListArgs {
    /// List the entries of this agent only
    #[arg(long)]
    agent: Option<String>,
    /// List the entries for this server only, patterns that match it included
    #[arg(long)]
    server: Option<String>,
    /// Skip the first N entries
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N entries
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// The result of a revocation.
#[derive(Debug, Serialize, Deserialize)]
struct AccessRevoked {
    #[serde(default)]
    deleted_count: u64,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    access: AccessCommand,
) -> Result<Exit, Failure> {
    let need =
        if matches!(access, AccessCommand::List(_)) { KernelNeed::State } else { KernelNeed::Configured };
    let link = KernelLink::open(place, need).await?;
    let outcome = match access {
        AccessCommand::Query(target) => query(&link, output, target).await,
        AccessCommand::Grant(AccessGrantArgs { target, deny: false, terms }) => {
            entry(&link, output, target, AccessPermission::Allow, terms).await
        }
        AccessCommand::Grant(AccessGrantArgs { target, terms, .. })
        | AccessCommand::Deny(AccessDenyArgs { target, terms }) => {
            entry(&link, output, target, AccessPermission::Deny, terms).await
        }
        AccessCommand::Revoke(target) => revoke(&link, output, target).await,
        AccessCommand::List(wanted) => list(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

/// Shows whether an agent may use a server or tool. The command ends with 0 if it may and with 3 if it may not, so that
/// scripts can check it.
async fn query(link: &KernelLink, output: &Output, target: AccessTargetArgs) -> Result<Exit, Failure> {
    let names = link.names(&target).await?;
    let (agent, server, tool) = target.named(&names, false)?;
    let state: AccessState = link.ask(method::ACCESS_QUERY, &AccessQuery::new(agent, server, tool)).await?;
    let allowed = state.permission == AccessPermission::Allow;
    output.show(&state, |state, out| {
        use std::io::Write as _;
        let source = serde_json::to_value(state.source).unwrap_or_default();
        write!(out, "{} ({}", word(state.permission), source.as_str().unwrap_or_default())?;
        if let Some(by) = &state.granted_by {
            write!(out, " by {by}")?;
        }
        if let Some(end) = state.expires_at {
            write!(out, ", until {end}")?;
        }
        writeln!(out, ")")
    })?;
    Ok(if allowed { Exit::Done } else { Exit::Auth })
}

async fn entry(
    link: &KernelLink,
    output: &Output,
    target: AccessTargetArgs,
    permission: AccessPermission,
    wanted: AccessTermsArgs,
) -> Result<Exit, Failure> {
    let names = link.names(&target).await?;
    let (agent, server, tool) = target.named(&names, wanted.force)?;
    let mut entry = AccessGrant::of_server(agent, server, permission)
        .with_expires_at(wanted.until.map(|until| until.ahead(Timestamp::now())));
    if let Some(tool) = tool {
        entry = entry.for_tool(tool);
    }
    if let Some(reason) = wanted.because {
        entry = entry.with_justification(reason);
    }
    if wanted.force {
        entry = entry.forced();
    }
    let made: Result<AccessRow, Failure> = link.ask(method::ACCESS_GRANT, &entry).await;
    let stored = made.map_err(|failure| {
        let verb = if permission == AccessPermission::Deny { "deny" } else { "grant" };
        let command = |meant: &str| {
            format!("mgp access {verb} {} {}", shell_word(entry.agent_id.as_str()), shell_word(meant))
        };
        advised(failure, command)
    })?;
    output.show(&stored, |stored, out| {
        use std::io::Write as _;
        let tool = stored.tool_name.as_ref().map_or("all tools", ToolName::as_str);
        writeln!(out, "{}: {} of {} for {}", word(stored.permission), tool, stored.server_id, stored.agent_id)
    })
}

async fn revoke(link: &KernelLink, output: &Output, target: AccessTargetArgs) -> Result<Exit, Failure> {
    let asked = ListAccess { agent_id: Some(target.agent.as_str().into()), ..ListAccess::default() };
    let list: AccessEntries = link.ask(ACCESS_LIST, &asked).await?;
    let (agent, server, tool) = target.named(&list, false)?;
    let mut entry = AccessRevoke::of_server(agent, server);
    if let Some(tool) = tool {
        entry = entry.for_tool(tool);
    }
    let revoked: AccessRevoked = link.ask(method::ACCESS_REVOKE, &entry).await?;
    if revoked.deleted_count == 0 {
        return Err(Failure::usage("there is no such entry").hint("`mgp access list` shows the entries"));
    }
    output.show(&revoked, |_, out| {
        use std::io::Write as _;
        writeln!(out, "revoked")
    })
}

async fn list(link: &KernelLink, output: &Output, wanted: AccessListArgs) -> Result<Exit, Failure> {
    let asked = ListAccess {
        agent_id: wanted.agent.as_deref().map(AgentId::from),
        server_id: wanted.server.as_deref().map(ServerId::from),
        page: PageRequest { offset: wanted.offset, limit: wanted.limit },
    };
    let list: AccessEntries = link.ask(ACCESS_LIST, &asked).await?;
    output.table(&list, "no entries", |list, table| {
        table.headings(&["AGENT", "SERVER", "TOOL", "MAY", "BY", "UNTIL"]);
        for row in &list.entries {
            table.row([
                row.agent_id.to_string(),
                row.server_id.to_string(),
                row.tool_name.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string),
                word(row.permission).to_owned(),
                row.granted_by.clone(),
                row.expires_at.map_or_else(|| "-".to_owned(), |end| end.to_string()),
            ]);
        }
    })?;
    output.note(&format!("where no entry decides: {}", list.default_policy));
    Ok(Exit::Done)
}

impl AccessTargetArgs {
    fn named(
        self,
        known: &impl NameLookup,
        unseen: bool,
    ) -> Result<(AgentId, ServerId, Option<ToolName>), Failure> {
        let target = match self.tool {
            Some(tool) => NamedTarget::in_two(self.server, tool),
            None => match NamedTarget::in_one(&self.server)? {
                Some(target) => target,
                None => NamedTarget::by(&self.server, known, unseen)?,
            },
        };
        let (server, tool) = target.ids();
        Ok((self.agent.as_str().into(), server, tool))
    }
}

/// The servers and tools that the kernel knows, which tell what a name with dots means.
#[derive(Debug, Default)]
struct KnownNames {
    servers: Vec<ServerRow>,
    tools: Vec<ToolRow>,
}

impl KernelLink {
    /// Asks the kernel for the names that tell servers from tools. A target that is unambiguous by itself needs no
    /// request.
    async fn names(&self, target: &AccessTargetArgs) -> Result<KnownNames, Failure> {
        if target.tool.is_some() || NamedTarget::in_one(&target.server)?.is_some() {
            return Ok(KnownNames::default());
        }
        let ServerList { servers } = self.ask(SERVERS, &()).await?;
        let asked = ListTools { name: Some(target.server.clone()), ..ListTools::default() };
        let ToolPage { tools, .. } = self.ask(TOOLS, &asked).await?;
        Ok(KnownNames { servers, tools })
    }
}

impl NameLookup for KnownNames {
    fn has_server(&self, id: &str) -> bool {
        self.servers.iter().any(|row| row.id.as_str() == id)
    }

    fn has_tool(&self, server: &str, tool: &str) -> bool {
        self.tools.iter().any(|row| row.server_id.as_str() == server && row.tool_name.as_str() == tool)
    }
}

/// Resolves names by the entries of an agent, so that entries of servers that no longer exist can be revoked, too.
impl NameLookup for AccessEntries {
    fn has_server(&self, id: &str) -> bool {
        self.entries.iter().any(|row| row.server_id.as_str() == id && row.tool_name.is_none())
    }

    fn has_tool(&self, server: &str, tool: &str) -> bool {
        self.entries.iter().any(|row| {
            row.server_id.as_str() == server
                && row.tool_name.as_ref().is_some_and(|name| name.as_str() == tool)
        })
    }
}

const fn word(permission: AccessPermission) -> &'static str {
    match permission {
        AccessPermission::Allow => "allow",
        AccessPermission::Deny => "deny",
    }
}
