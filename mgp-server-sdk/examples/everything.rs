//! A server with every feature, in the words of the MCP conformance suite.
//!
//! ```text
//! everything stdio | http PORT
//! ```
//!
//! Over HTTP both eras are at `/mcp`, and the older HTTP+SSE at `/sse` and `/message`.

#[path = "everything/ask.rs"]
mod ask;
#[path = "everything/content.rs"]
mod content;
#[path = "everything/progress.rs"]
mod progress;
#[path = "everything/prompts.rs"]
mod prompts;
#[path = "everything/resources.rs"]
mod resources;
#[path = "everything/rounds.rs"]
mod rounds;
#[path = "everything/tasks.rs"]
mod tasks;

use mgp_server_sdk::{Error, Server};

fn server() -> Server {
    let server = Server::new("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .description("Serves every feature of MCP, to test clients with.")
        .instructions("The names of the tools, prompts and resources say what each is there to test.");
    let parts =
        [content::add, progress::add, ask::add, rounds::add, tasks::add, prompts::add, resources::add];
    parts.into_iter().fold(server, |server, add| add(server))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["stdio"] => server().serve_stdio().await,
        ["http", port] if port.parse::<u16>().is_ok() => {
            server().serve_http(port.parse::<u16>().unwrap_or_default()).await
        }
        _ => {
            eprintln!("usage: everything stdio | http PORT");
            std::process::exit(2);
        }
    }
}
