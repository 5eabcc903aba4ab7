//! The shortest real server: one tool over stdio.
//!
//! ```text
//! cargo run -p mgp-server-sdk --example hello
//! ```

use mgp_server_sdk::{Error, Server, Tool, schemars};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first summand.
    a: i64,
    /// The second summand.
    b: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    Server::new("calculator", "1.0.0")
        .tool(Tool::new("add", "Adds two integers."), async |Add { a, b }: Add| a + b)
        .serve_stdio()
        .await
}
