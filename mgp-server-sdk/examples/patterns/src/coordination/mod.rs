//! The coordinator: it gives tasks to agents, and collects their results.
//!
//! An agent is any client of the kernel that calls `register_agent`, asks for tasks with `next_task`, and ends them with
//! `complete_task`. A kernel has one connection to the server for all of its clients, so a connection says nothing about
//! who calls: an agent brings the token that it got when it registered, and the kernel says whose names they are.

mod agent;
mod board;
mod caller;
mod collecting;
mod coordinator;
mod refusal;
mod task;
#[cfg(test)]
mod tests;
mod tools;

use mgp_server_sdk::{Server, ServerLifecycle, Tool};
use mgp_types::mgp::{Extension, Offer, Permission, RiskLevel, SideEffect, ToolSecurity};

use self::coordinator::Coordinator;

/// Serves the coordinator on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if the connection broke.
pub(super) async fn serve() -> anyhow::Result<()> {
    let life = ServerLifecycle::new("coordination".into());
    Ok(server(Coordinator::new()).lifecycle(&life).serve_stdio().await?)
}

fn server(coordinator: Coordinator) -> Server {
    let delegates = ToolSecurity::new(RiskLevel::Moderate)
        .with_permissions([Permission::MemoryWrite])
        .with_side_effects([SideEffect::Process]);
    let safe = ToolSecurity::new(RiskLevel::Safe);
    let asks = |name, description| Tool::new(name, description).read_only().security(&safe);
    let works = |name, description| Tool::new(name, description).destructive(false).security(&safe);
    Server::new("coordination", env!("CARGO_PKG_VERSION"))
        .description("Gives tasks to agents, and collects their results.")
        .mgp(Offer::new(Extension::ToolSecurity))
        .state(coordinator)
        .tool(
            Tool::new("delegate_task", "Gives a task to an agent.").destructive(false).security(&delegates),
            tools::delegate_task,
        )
        .tool(asks("query_agents", "Lists agents by what they are capable of."), tools::query_agents)
        .tool(
            asks("collect_results", "Waits for the results of tasks, and returns them."),
            tools::collect_results,
        )
        .tool(works("register_agent", "Registers the caller as an agent."), tools::register_agent)
        .tool(works("next_task", "Takes a task for the calling agent to work on."), tools::next_task)
        .tool(works("complete_task", "Ends the task of the calling agent."), tools::complete_task)
        .tool(works("keep_alive", "Notes that the calling agent still works."), tools::keep_alive)
        .tool(works("unregister_agent", "Forgets the calling agent."), tools::unregister_agent)
}
