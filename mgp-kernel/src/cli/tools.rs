//! `mgp tools`: lists tools, or shows everything about one tool.

use clap::Args;
use mgp_security::definition::{DefinitionKind, DefinitionName};
use mgp_types::mgp::ServerState;

use super::context::CommandContext;
use super::link::KernelLink;
use super::output::Output;
use crate::admin::operation::{KernelNeed, PageRequest, ServersToBegin};
use crate::admin::servers::ServerRow;
use crate::admin::tools::{ListTools, ToolRow};
use crate::terminal::{Exit, Failure, printable};

#[derive(Debug, Args)]
pub(super) struct ToolsArgs {
    /// List the tools of this server only, or show all that is known of this tool: SERVER or SERVER.TOOL
    #[arg(value_name = "SERVER[.TOOL]")]
    of: Option<String>,
    #[command(flatten)]
    page: PageRequest,
}

pub(super) async fn run(cx: &CommandContext, args: ToolsArgs) -> Result<Exit, Failure> {
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, async |link| list(link, args).await).await
}

async fn list(link: &KernelLink, args: ToolsArgs) -> Result<Exit, Failure> {
    let (mut server_id, mut servers) = (None, link.servers(ServersToBegin::None).await?);
    if let Some(of) = &args.of {
        if let Some(row) = servers.iter().find(|server| server.id.as_str() == of) {
            let id = row.id.clone();
            if row.is_unheard() {
                servers = link.settled(&ServersToBegin::Only(vec![id.clone()])).await?;
            }
            servers.retain(|row| row.id == id);
            server_id = Some(id);
        } else {
            return link.output.result(&one(link, of).await?);
        }
    } else {
        servers = link.heard().await?;
    }
    link.output.result(&link.ask(&ListTools { server_id, name: None, page: args.page }).await?)?;
    tell_unheard(&servers, &link.output);
    Ok(Exit::Done)
}

/// Notes which servers have not listed their tools since the kernel was started.
pub(super) fn tell_unheard(servers: &[ServerRow], output: &Output) {
    let named = |filter: &dyn Fn(&ServerRow) -> bool| {
        let waits = servers.iter().filter(|row| row.starting || row.state == ServerState::Registered);
        let waits = waits.filter(|row| row.enabled && row.fault.is_none() && filter(row));
        waits.map(|row| printable(row.id.as_str())).collect::<Vec<_>>().join(", ")
    };
    let (unheard, remembered) = (named(&ServerRow::is_unheard), named(&|row| !row.is_unheard()));
    if !unheard.is_empty() {
        output.note(&format!("not heard yet, and starting: {unheard}; `mgp servers --wait` waits for them"));
    }
    if !remembered.is_empty() {
        output.note(&format!("as listed when they ran last: {remembered}"));
    }
}

/// Returns the tool that clients call `name`.
pub(super) async fn one(link: &KernelLink, name: &str) -> Result<ToolRow, Failure> {
    let asked = ListTools { name: Some(name.to_owned()), ..ListTools::default() };
    let mut found = link.ask(&asked).await?;
    let is_named = |row: &&ServerRow| {
        let rest = name.strip_prefix(row.id.as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '/', '_']))
    };
    let mut servers = Vec::new();
    if found.tools.is_empty() && found.held.is_empty() {
        servers = link.servers(ServersToBegin::None).await?;
        let named: Vec<_> = servers.iter().filter(is_named).map(|row| row.id.clone()).collect();
        servers = if named.is_empty() {
            link.heard().await?
        } else {
            link.settled(&ServersToBegin::Only(named)).await?
        };
        found = link.ask(&asked).await?;
    }
    if let Some(tool) = found.tools.pop() {
        return Ok(tool);
    }
    if let Some(held) = found.held.first() {
        let definition = DefinitionName::new(DefinitionKind::Tool, held.tool_name.as_str());
        let sentence = held.standing.sentence(&held.server_id, &definition);
        return Err(Failure::new(Exit::Auth, sentence).hint(held.standing.way.clone()));
    }
    // A server that does not run has no tools, so the name may be spelled correctly.
    let absent = |row: &&ServerRow| row.state != ServerState::Connected && is_named(row);
    if let Some(row) = servers.iter().find(absent) {
        let why = match row.why() {
            Some(why) => format!(": {}", printable(why)),
            None => String::new(),
        };
        let (id, state) = (&row.id, if row.enabled { row.state.as_str() } else { "disabled" });
        return Err(Failure::unreachable(format!("the server {id} of `{name}` is {state}{why}"))
            .hint(format!("{}, `mgp doctor` checks everything", row.remedy())));
    }
    if servers.iter().any(|row| row.id.as_str() == name) {
        return Err(Failure::usage(format!("`{name}` is a server, and one of its tools is wanted"))
            .hint(format!("`mgp tools {name}` lists its tools: write `{name}.TOOL`")));
    }
    let failure = Failure::usage(format!("there is no server and no tool `{name}`"));
    Err(failure.hint(if found.near.is_empty() {
        "`mgp tools` lists the tools, `mgp servers` shows the states of the servers".to_owned()
    } else {
        format!("did you mean {}?", found.near.join(", "))
    }))
}
