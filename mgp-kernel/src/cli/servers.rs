use clap::Args;

use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::Output;
use super::place::Place;
use crate::operator::method;
use crate::operator::servers::Servers;

#[derive(Debug, Args)]
pub(super) struct ListServers {
    /// Show what the configuration says, without starting the servers if no kernel runs
    #[arg(long)]
    no_start: bool,
}

pub(super) async fn run(place: &Place, output: &Output, args: &ListServers) -> Result<Exit, Failure> {
    let need = if args.no_start { Need::Configured } else { Need::Servers };
    let link = Link::open(place, need).await?;
    let servers: Servers = link.ask(method::SERVERS, &()).await?;
    let shown = output.table(&servers, "no servers; `mgp add NAME -- COMMAND` adds one", |servers, table| {
        table.headings(&["SERVER", "STATE", "TOOLS", "BY", "FOR"]);
        for server in &servers.servers {
            let state = if server.enabled { server.state.as_str() } else { "disabled" };
            table.row([
                server.id.to_string(),
                state.to_owned(),
                server.tools.to_string(),
                server.transport.clone(),
                server.description.clone().unwrap_or_default(),
            ]);
        }
    });
    link.close().await;
    shown?;
    Ok(Exit::Done)
}
