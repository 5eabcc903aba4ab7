//! The demo's server that crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_server_sdk::{Server, Tool};

pub(super) fn server() -> Server {
    let counted = Arc::new(AtomicU64::new(0));
    Server::new("fragile", "1.0.0")
        .tool(Tool::new("count", "Counts the calls since the server started."), move || {
            std::future::ready(counted.fetch_add(1, Ordering::Relaxed) + 1)
        })
        .tool(Tool::new("crash", "Ends the server's process at once, in error."), async || -> () {
            // All that runs in this process ends with it: that is what a crash is.
            std::process::abort()
        })
}
