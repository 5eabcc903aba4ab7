//! `mgp servers`: lists servers and their states.

use clap::Args;

use super::exit::{Exit, Failure};
use super::kernel_location::{EffectiveConfig, KernelLocation};
use super::link::{KernelLink, KernelNeed};
use super::output::{Output, printable};
use crate::operator::method;
use crate::operator::servers::ServerList;

#[derive(Debug, Args)]
pub(super) struct ServersArgs {
    /// Show the configured servers without starting them
    #[arg(long)]
    no_start: bool,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    args: &ServersArgs,
) -> Result<Exit, Failure> {
    let need = if args.no_start { KernelNeed::Configured } else { KernelNeed::Servers };
    let link = KernelLink::open(place, need).await?;
    let mut servers: ServerList = link.ask(method::SERVERS, &()).await?;
    if args.no_start && !link.running {
        as_configured(&mut servers, &place.read()?);
    }
    let shown = output.table(&servers, "no servers; `mgp add NAME -- COMMAND` adds one", |servers, table| {
        table.headings(&[
            "SERVER", "STATE", "INSTANCES", "MEMORY", "TOOLS", "HELD", "FLAGGED", "BY", "PROTOCOL", "FOR",
        ]);
        for server in &servers.servers {
            let state = match (server.enabled, &server.fault) {
                (false, _) => "disabled",
                (true, Some(_)) => "faulty",
                (true, None) => server.state.as_str(),
            };
            table.row([
                server.id.to_string(),
                state.to_owned(),
                server.instances.len().to_string(),
                server.memory_bytes().map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20)),
                server.tools.to_string(),
                server.held.to_string(),
                server.flagged.to_string(),
                server.transport.clone(),
                server.protocol.clone().unwrap_or_default(),
                server.description.clone().unwrap_or_default(),
            ]);
        }
    });
    link.close().await;
    shown?;
    for server in servers.servers.iter().filter(|server| server.enabled) {
        if let Some(why) = server.why() {
            output.note(&format!("{}: {}", server.id, printable(why)));
        }
        if server.held + server.flagged > 0 {
            let (id, held, flagged) = (&server.id, server.held, server.flagged);
            output.note(&format!(
                "{id}: {held} held, {flagged} flagged; `mgp pin list {id} --waiting` shows the reasons, \
                 `mgp pin approve {id}` approves all"
            ));
        }
    }
    Ok(Exit::Done)
}

/// Sets from the configuration which servers are enabled and what is wrong with them, because the kernel of this
/// command runs without servers.
fn as_configured(servers: &mut ServerList, configured: &EffectiveConfig) {
    for row in &mut servers.servers {
        row.enabled = configured.config.server(row.id.as_str()).is_some_and(|server| server.enabled);
        row.fault = configured.faulty.get(row.id.as_str()).map(ToString::to_string);
    }
}
