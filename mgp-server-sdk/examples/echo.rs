//! The server that speed is measured on.
//!
//! ```text
//! echo stdio | http PORT
//! ```
//!
//! `OWN_TOOLS=N` adds N tools that do nothing, so that `tools/list` has a realistic length.

use mgp_server_sdk::{Error, Server, Tool, schemars};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Blob {
    bytes: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the tools that take it do nothing")]
struct Dummy {
    /// Absolute path of the file to act on.
    path: String,
    /// Upper bound on the number of entries.
    limit: u32,
    /// Whether to descend.
    recursive: Option<bool>,
}

fn server() -> Server {
    let mut server = Server::new("echo", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("echo", "Returns the text it was given."), async |Echo { text }: Echo| text)
        .tool(Tool::new("add", "Adds two integers."), async |Add { a, b }: Add| a + b)
        .tool(Tool::new("blob", "Returns a text of the given size."), async |Blob { bytes }: Blob| {
            "x".repeat(bytes)
        });
    let own: usize = std::env::var("OWN_TOOLS").ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    for number in 0..own {
        let description = format!(
            "A registered tool that does nothing; it exists so that tools/list has a realistic length of \
             description text. Number {number}."
        );
        server = server.tool(Tool::new(format!("dummy_{number:04}"), description), async |_: Dummy| "ok");
    }
    server
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["stdio"] => server().serve_stdio().await,
        ["http", port] if port.parse::<u16>().is_ok() => {
            server().serve_http(port.parse::<u16>().unwrap_or_default()).await
        }
        _ => {
            eprintln!("usage: echo stdio | http PORT");
            std::process::exit(2);
        }
    }
}
