//! A server of the SDK, which speaks MGP, asks its callers, and starts processes.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use mgp_server_sdk::mcp::{CreateMessageParams, Icon, Role, SamplingMessage};
use mgp_server_sdk::{Cx, Error, Server, Tool, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer};
use serde_json::{Value, json};

use crate::host;

/// The argument by which the test binary is this server. What follows are permissions that it needs.
pub(crate) const SERVE: &str = "--talking";

/// The server in a configuration. What it does to itself is none of the validators' business here.
pub(crate) fn server(id: &str) -> Value {
    needing(id, [])
}

/// The server in a configuration, if it needs these permissions.
pub(crate) fn needing<'a>(id: &str, permissions: impl IntoIterator<Item = &'a str>) -> Value {
    spared(host::child(id, std::iter::once(SERVE).chain(permissions)))
}

/// A server in a configuration, whose calls the validators do not look at.
pub(crate) fn spared(mut server: Value) -> Value {
    server["security"] = json!({"spared_validators": ["sandbox", "code_safety", "network_restricted"]});
    server
}

/// Serves on this process' standard input and output.
pub(crate) fn serve() -> ExitCode {
    host::serve(talking().serve_stdio())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Count {
    pub(crate) to: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Colour {
    colour: String,
}

/// Gives a server the tools that tell of its process and of their progress.
pub(crate) fn with_basics(server: Server) -> Server {
    server
        .tool(Tool::new("pid", "The number of the process."), async |_: Nothing| std::process::id())
        .tool(Tool::new("variable", "A variable of the environment."), async |Name { name }: Name| {
            std::env::var(name).unwrap_or_default()
        })
        .tool(Tool::new("count", "Tells progress."), async |Count { to }: Count, cx: Cx| {
            for step in 1..=to {
                cx.progress(f64::from(step), Some(f64::from(to)), None).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            to
        })
}

fn talking() -> Server {
    let offer = Offer::new(ExtensionSet::standard()).with_permissions_required(std::env::args().skip(2));
    with_basics(Server::new("talking", "1.0.0").mgp(offer))
        .icon(Icon::new("https://example.com/talking.png"))
        .dynamic()
        .tool(
            Tool::new("spawn", "Starts a tree of processes, and says their numbers."),
            async |_: Nothing| {
                // The shell stays, as there is something behind its child.
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", "sleep 300 & echo $!; wait; true"]).stdout(Stdio::piped());
                #[expect(clippy::zombie_processes, reason = "what becomes of it is what is tested")]
                let mut shell = shell.spawn().unwrap();
                let mut line = String::new();
                BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
                format!("{} {}", shell.id(), line.trim())
            },
        )
        .tool(Tool::new("think", "Asks the caller's model."), async |_: Nothing, cx: Cx| {
            let params = CreateMessageParams::new(vec![SamplingMessage::new(Role::User, "who are you?")], 10);
            Ok::<_, ToolError>(cx.sample("think", params).await?.model)
        })
        .tool(Tool::new("colour", "Asks the caller's human for a colour."), async |_: Nothing, cx: Cx| {
            let answer = cx.elicit::<Colour>("colour", "Which colour?").await?.accepted();
            Ok::<_, ToolError>(answer.map_or_else(|| "none".to_owned(), |answer| answer.colour))
        })
        .tool(Tool::new("grow", "Adds a tool from now on."), async |Name { name }: Name, cx: Cx| {
            cx.server().add_tool(Tool::new(name, "Came later."), async |_: Nothing| "late")?;
            Ok::<_, Error>("grown")
        })
}
