//! Starts a server, lists its tools and calls one: `hello-client TOOL JSON-ARGUMENTS PROGRAM [ARGS…]`, for
//! instance `hello-client add '{"a":1,"b":2}' target/debug/examples/echo stdio`.

use mgp_client_sdk::{Client, Error, RawJson};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let (Some(tool), Some(arguments), Some(program)) = (args.next(), args.next(), args.next()) else {
        return Err(Error::invalid_params("usage: hello-client TOOL JSON-ARGUMENTS PROGRAM [ARGS…]"));
    };
    let client = Client::builder("hello", "1.0.0").connect_stdio(program, args).await?;
    for tool in client.list_tools().await? {
        eprintln!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let result = client.call_tool(&tool, RawJson::parse(arguments)?).await?;
    for block in &result.content {
        eprintln!("{}", block.as_text().unwrap_or("(not text)"));
    }
    client.close().await
}
