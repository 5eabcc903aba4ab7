//! `mgp tools`: lists tools, or shows everything about one tool.

use std::io::Write as _;

use clap::Args;
use mgp_security::definition::{DefinitionKind, DefinitionName};
use mgp_types::Object;
use mgp_types::mgp::ServerState;

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::KernelLink;
use super::output::{Output, printable};
use crate::operator::definition_status::ShownDefinitionStatus;
use crate::operator::method;
use crate::operator::page::PageRequest;
use crate::operator::servers::{ServerRow, ServersToBegin};
use crate::operator::tools::{ListTools as Asked, ToolPage, ToolRow};

#[derive(Debug, Args)]
pub(super) struct ToolsArgs {
    /// List the tools of this server only, or show all that is known of this tool: SERVER or SERVER.TOOL
    #[arg(value_name = "SERVER[.TOOL]")]
    of: Option<String>,
    /// Skip the first N tools
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N tools
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(super) async fn run(place: &KernelLocation, output: &Output, args: ToolsArgs) -> Result<Exit, Failure> {
    let link = KernelLink::with_servers(place).await?;
    let outcome = list(&link, output, args).await;
    link.close().await;
    outcome
}

async fn list(link: &KernelLink, output: &Output, args: ToolsArgs) -> Result<Exit, Failure> {
    let (mut server_id, mut servers) = (None, link.servers(ServersToBegin::None).await?);
    if let Some(of) = &args.of {
        if let Some(row) = servers.iter().find(|server| server.id.as_str() == of) {
            let id = row.id.clone();
            if row.is_unheard() {
                servers = link.settled(output, &ServersToBegin::Only(vec![id.clone()])).await?;
            }
            servers.retain(|row| row.id == id);
            server_id = Some(id);
        } else {
            let tool = one(link, output, of).await?;
            output.show(&tool, |tool, out| {
                let definition: serde_json::Value = tool.definition.to().unwrap_or_default();
                writeln!(out, "{}  ({}, of {})", printable(&tool.name), tool.risk, tool.server_id)?;
                if let Some(standing) = &tool.standing {
                    writeln!(out, "{}: {}", standing.is, printable(&standing.reason))?;
                    writeln!(out, "{}", printable(&standing.way))?;
                }
                let pretty = serde_json::to_string_pretty(&definition).unwrap_or_default();
                writeln!(out, "{}", printable(&pretty))
            })?;
            return Ok(Exit::Done);
        }
    } else {
        servers = link.heard(output).await?;
    }
    let page = PageRequest { offset: args.offset, limit: args.limit };
    let tools: ToolPage = link.ask(method::TOOLS, &Asked { server_id, name: None, page }).await?;
    output.table(&tools, "no tools; `mgp servers` shows the states of the servers", |tools, table| {
        table.headings(&["TOOL", "RISK", "WHAT IT DOES"]);
        for tool in &tools.tools {
            let description = Object::from_raw(&tool.definition).ok();
            let description = description.as_ref().and_then(|tool| tool.text("description"));
            let first = description.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
            let cut: String = first.chars().take(LINE).collect();
            let risk = if tool.admitted { tool.risk.to_string() } else { "held".to_owned() };
            let mark = tool.standing.as_ref().map(|standing| format!(" ({})", standing.is));
            table.row([tool.name.clone(), risk + &mark.unwrap_or_default(), cut]);
        }
        for tool in &tools.held {
            let command = tool.standing.command.as_deref().unwrap_or_default();
            table.row([
                tool.name.clone(),
                tool.standing.is.clone(),
                format!("{}: {command}", why(&tool.standing)),
            ]);
        }
    })?;
    if tools.tools.iter().any(|tool| tool.standing.is_some()) || !tools.held.is_empty() {
        output.note("`mgp pin list --waiting` shows why tools are held or flagged, and the command that approves them");
    }
    if let Some(offset) = tools.next_offset {
        output.note(&format!("there are more tools: `--offset {offset}` continues"));
    }
    tell_unheard(&servers, output);
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
pub(super) async fn one(link: &KernelLink, output: &Output, name: &str) -> Result<ToolRow, Failure> {
    let asked = Asked { name: Some(name.to_owned()), ..Asked::default() };
    let mut found: ToolPage = link.ask(method::TOOLS, &asked).await?;
    let is_named = |row: &&ServerRow| {
        let rest = name.strip_prefix(row.id.as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '/', '_']))
    };
    let mut servers = Vec::new();
    if found.tools.is_empty() && found.held.is_empty() {
        servers = link.servers(ServersToBegin::None).await?;
        let named: Vec<_> = servers.iter().filter(is_named).map(|row| row.id.clone()).collect();
        servers = if named.is_empty() {
            link.heard(output).await?
        } else {
            link.settled(output, &ServersToBegin::Only(named)).await?
        };
        found = link.ask(method::TOOLS, &asked).await?;
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
        return Err(Failure::new(Exit::Unreachable, format!("the server {id} of `{name}` is {state}{why}"))
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

/// Returns the reason for a cell: the rules, or else the reason as text.
fn why(standing: &ShownDefinitionStatus) -> String {
    if standing.rules.is_empty() { standing.reason.clone() } else { standing.rules.join(", ") }
}

/// The largest number of characters of a description in a table.
const LINE: usize = 80;
