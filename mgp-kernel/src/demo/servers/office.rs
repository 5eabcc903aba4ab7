//! The demo's office: a mailbox, a calendar, notes and an issue tracker, in a process that crashes on demand.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_server_sdk::{Server, Tool};
use mgp_types::mgp::{ExtensionSet, Offer};

use super::scripted;

pub(super) fn server() -> anyhow::Result<Server> {
    let server = Server::new("office", "1.0.0").mgp(Offer::new(ExtensionSet::from_names(["security"])));
    let counted = AtomicU64::new(0);
    Ok(scripted(server, include_str!("office.json"), |server, _, _| server)?
        .tool(Tool::new("count", "Counts the calls since the server started."), move || {
            ready(counted.fetch_add(1, Ordering::Relaxed) + 1)
        })
        .tool(
            Tool::new("crash", "Shows a crash: the server's process ends at once, in error."),
            async || -> () {
                // All that runs in this process ends with it: that is what a crash is.
                std::process::abort()
            },
        ))
}
