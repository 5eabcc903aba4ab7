//! `mgp servers`: lists servers and their states.

use clap::Args;

use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::KernelLink;
use super::output::{Output, printable};
use crate::operator::servers::{ServerList, ServersToBegin};

#[derive(Debug, Args)]
pub(super) struct ServersArgs {
    /// Show the servers without starting those that do not run yet
    #[arg(long)]
    no_start: bool,
    /// Wait until each server is connected or has failed
    #[arg(long, conflicts_with = "no_start")]
    wait: bool,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    args: &ServersArgs,
) -> Result<Exit, Failure> {
    let link = KernelLink::with_servers(place).await?;
    let servers = match (args.wait, args.no_start) {
        (true, _) => link.settled(output, &ServersToBegin::All).await,
        (false, true) => link.servers(ServersToBegin::None).await,
        (false, false) => link.servers(ServersToBegin::All).await,
    };
    link.close().await;
    let servers = ServerList { servers: servers? };
    output.table(&servers, "no servers; `mgp add NAME -- COMMAND` adds one", |servers, table| {
        table.headings(&[
            "SERVER", "STATE", "INSTANCES", "MEMORY", "TOOLS", "HELD", "FLAGGED", "BY", "PROTOCOL", "FOR",
        ]);
        for server in &servers.servers {
            table.row([
                server.id.to_string(),
                server.state_word().to_owned(),
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
    })?;
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
    if servers.servers.iter().any(|server| server.starting) {
        output.note(
            "some servers are starting: `mgp servers --wait` waits until each is connected or has failed",
        );
    }
    Ok(Exit::Done)
}
