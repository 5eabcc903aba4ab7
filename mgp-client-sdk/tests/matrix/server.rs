//! The server of the matrix, with members and methods that this implementation does not know.

use std::sync::Arc;
use std::time::Duration;

use mgp_server_sdk::mcp::{
    AudioContent, ContentBlock, CreateMessageParams, EmbeddedResource, ImageContent, LogLevel,
    ResourceContents, ResourceLink, Role, SamplingMessage,
};
use mgp_server_sdk::types::{Error, Object, RawJson, Request, Response, code, mgp};
use mgp_server_sdk::{
    Ask, Blob, CompletionRequest, Cx, Elicited, Json, Prompt, Resource, ResourceTemplate, Server, TaskLimits,
    TaskMode, Tool, ToolError,
};
use serde_json::json;
use tokio::sync::{Mutex, Notify, mpsc};
use tower_layer::{Identity, Stack};

use crate::host::Kind;
use crate::seen::Seen;

/// Members that this implementation does not know, in forms that others could lose.
pub(crate) const STRANGE: &str =
    r#"{"x-vendor":{"nested":[1.50,null,{"é":"\ud83d\ude00"}]},"number":1e400,"empty":"","flag":false}"#;

/// The number of entries that a page of a list holds.
pub(crate) const PAGE: usize = 8;

/// Returns the server of the tests of MCP. What happened in it, its tools tell.
pub(crate) fn server(kind: Kind) -> Server<Stack<Seen, Identity>> {
    let (heard, listening) = mpsc::unbounded_channel();
    let seen = Seen::default();
    let (stopped, begun) = (Notify::new(), Notify::new());
    let state = State { seen: seen.clone(), stopped, begun, heard: Mutex::new(listening) };
    let server = Server::new("matrix", "2.0.0").instructions("Test.").page_size(PAGE).state(Arc::new(state));
    let server = open(working(asking(telling(reading(calls(server))))), heard);
    let server = match kind {
        Kind::Mgp => {
            server.mgp(mgp::Offer::new(mgp::ExtensionSet::from_names(["audit", "streaming", "lifecycle"])))
        }
        _ => server,
    };
    server.layer(seen)
}

/// The state that the handlers share.
struct State {
    seen: Seen,
    /// A call that would never have ended was ended.
    stopped: Notify,
    /// A task that would never have ended has begun.
    begun: Notify,
    /// The text of a notification.
    heard: Mutex<mpsc::UnboundedReceiver<String>>,
}

fn state(cx: &Cx) -> Result<Arc<State>, Error> {
    cx.state::<Arc<State>>().cloned()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn calls(server: Server) -> Server {
    let strange = RawJson::parse(STRANGE).unwrap();
    server
        .tool(Tool::new("add", "Adds.").title("Add").read_only(), async |Pair { a, b }: Pair| a + b)
        .tool(Tool::new("sum", "Adds, too."), async |Pair { a, b }: Pair| Json(Sum { sum: a + b }))
        .tool(Tool::new("echo", "Says the same."), async |Text { text }: Text| text)
        .tool(Tool::new("raw", "Says what it got."), async |arguments: RawJson| written(&arguments))
        .tool(Tool::new("contents", "Returns each kind of content."), async || {
            [
                ContentBlock::text("words"),
                ImageContent::new("AAAA", "image/png").into(),
                AudioContent::new("BBBB", "audio/wav").into(),
                ResourceLink::new("matrix://text", "text").into(),
                EmbeddedResource::new(ResourceContents::text("matrix://text", "a text")).into(),
            ]
        })
        .tool(Tool::new("fail", "Fails.").member("x-vendor", strange), async || {
            Err::<(), _>(ToolError::new("no luck"))
        })
        .tool(Tool::new("wait", "Ends sooner the larger the number."), async |Pair { a, b }: Pair| {
            for _ in a..b {
                tokio::task::yield_now().await;
            }
            a
        })
        .tool(Tool::new("broken", "Fails in the protocol's way."), async || Err::<(), _>(limited()))
        .tool(Tool::new("seen", "Which methods passed the layer."), async |cx: Cx| {
            Ok::<_, ToolError>(state(&cx)?.seen.take().join(" "))
        })
        .tool(Tool::new("client", "Who the client is and what it can do."), async |cx: Cx| {
            let session = cx.session();
            let mut known = Object::new();
            known.set("info", session.peer.clone().unwrap_or_else(RawJson::null));
            known.set("capabilities", session.capabilities.to_raw());
            known.set("revision", RawJson::from_value(session.revision.as_str())?);
            Ok::<_, ToolError>(written(&known.to_raw()))
        })
        .tool(Tool::new("mgp", "What was agreed of MGP."), async |cx: Cx| {
            let agreed = cx.session().mgp.as_ref();
            agreed.map_or_else(|| "none".into(), |mgp| mgp.extensions().names().collect::<Vec<_>>().join(" "))
        })
}

fn written(json: &RawJson) -> String {
    String::from_utf8_lossy(json.as_bytes()).into_owned()
}

/// Returns an error of MGP, with what MGP says about recovery.
fn limited() -> Error {
    let recovery = mgp::Recovery::new(mgp::Category::Resource, true).with_retry_after_ms(250);
    Error::new(code::RATE_LIMITED, "too many").with_recovery(recovery)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
    style: Option<String>,
}

#[derive(serde::Deserialize)]
struct Thing {
    id: u32,
}

/// The template of a family of resources.
pub(crate) const THING: &str = "matrix://things/{id}";

fn reading(server: Server) -> Server {
    server
        .resource(Resource::new("matrix://text", "text").media_type("text/plain"), async || "a text")
        .resource(Resource::new("matrix://bytes", "bytes"), async || Blob([0, 159, 255]))
        .resource_template(ResourceTemplate::new(THING, "thing"), async |Thing { id }: Thing| {
            (id < 100).then(|| format!("thing {id}"))
        })
        .complete_resource(THING, "id", async |typed: CompletionRequest| {
            [typed.value.clone() + "1", typed.value + "2"]
        })
        .prompt(Prompt::new("greet", "Greets somebody."), async |Greet { name, style }: Greet| {
            format!("{}, {name}!", style.as_deref().unwrap_or("Hello"))
        })
        .prompt(Prompt::new("plain", "Takes nothing."), async || "plain")
        .complete_prompt("greet", "style", async |typed: CompletionRequest| {
            let name = typed.arguments.get("name").cloned().unwrap_or_default();
            vec![format!("{}-{name}", typed.value)]
        })
        .tool(Tool::new("grow", "Adds a tool, a prompt and a resource."), async |cx: Cx| {
            let server = cx.server();
            server.add_tool(Tool::new("grown", "Is new."), async || "grown")?;
            server.add_prompt(Prompt::new("grown", "Is new."), async || "grown")?;
            server.add_resource(Resource::new("matrix://grown", "grown"), async || "grown")?;
            Ok::<_, ToolError>(())
        })
        .tool(Tool::new("shrink", "Takes them away."), async |cx: Cx| {
            cx.server().remove_tool("grown")
                && cx.server().remove_prompt("grown")
                && cx.server().remove_resource("matrix://grown")
        })
        .tool(Tool::new("touch", "Changes resources."), async |cx: Cx| {
            cx.server().resource_updated("matrix://bytes");
            cx.server().resource_updated("matrix://text");
        })
}

/// Says when a call is ended before it was done.
struct Guard(Arc<State>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.stopped.notify_one();
    }
}

fn telling(server: Server) -> Server {
    server
        .tool(Tool::new("count", "Tells progress."), async |cx: Cx| {
            for step in 1..=5 {
                cx.progress(f64::from(step), Some(5.0), Some("step")).await;
                tokio::task::yield_now().await;
            }
            "counted"
        })
        .tool(Tool::new("log", "Logs in every level."), async |cx: Cx| {
            for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error] {
                let data = json!({"level": level.as_str()});
                cx.log(level, Some("matrix"), data).await;
            }
        })
        .tool(Tool::new("hang", "Never ends."), async |cx: Cx| -> Result<(), ToolError> {
            let _guard = Guard(state(&cx)?);
            cx.progress(1.0, None, None).await;
            std::future::pending().await
        })
        .tool(Tool::new("exit", "Ends the process of the server."), async || -> () { std::process::exit(3) })
        .tool(Tool::new("stopped", "Ends when one that never ends was ended."), async |cx: Cx| {
            state(&cx)?.stopped.notified().await;
            Ok::<_, ToolError>(())
        })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// Returns the user's answer in words.
fn said(answer: Elicited<Name>) -> String {
    match answer {
        Elicited::Accepted(form) => form.name,
        Elicited::Declined => "declined".into(),
        Elicited::Cancelled => "cancelled".into(),
    }
}

fn question() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::new(Role::User, "Hello")], 10)
}

fn asking(server: Server) -> Server {
    server
        .tool(Tool::new("name", "Asks for a name."), async |cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
        .tool(Tool::new("name_of", "Asks for the name of somebody."), async |Text { text }: Text, cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", text).await?))
        })
        .tool(Tool::new("page", "Sends to a page."), async |cx: Cx| {
            let visited = cx.elicit_url("page", "Log in", "https://example.com/").await?.accepted();
            Ok::<_, ToolError>(visited.is_some())
        })
        .tool(Tool::new("steps", "Asks three times."), async |cx: Cx| {
            let first = said(cx.elicit("first", "First?").await?);
            let second = said(cx.elicit("second", format!("After {first}?")).await?);
            let sampled = cx.sample("model", question()).await?;
            Ok::<_, ToolError>(format!("{first} {second} {}", sampled.model))
        })
        .tool(Tool::new("sample", "Asks the model."), async |cx: Cx| {
            let answer = cx.sample("model", question()).await?;
            let text = answer.content.as_slice()[0].as_text().unwrap_or_default().to_owned();
            Ok::<_, ToolError>(format!("{}: {text}", answer.model))
        })
        .tool(Tool::new("roots", "Asks for the roots."), async |cx: Cx| {
            let roots = cx.roots("roots").await?;
            Ok::<_, ToolError>(roots.iter().map(|root| &*root.uri).collect::<Vec<_>>().join(" "))
        })
        .tool(Tool::new("all", "Asks three things at once."), async |cx: Cx| {
            let questions =
                (Ask::elicit::<Name>("name", "Who?"), Ask::sample("model", question()), Ask::roots("roots"));
            let (name, sampled, roots) = cx.ask_all(questions).await?;
            Ok::<_, ToolError>(format!("{} {} {}", said(name), sampled.model, roots.len()))
        })
        .prompt(Prompt::new("asking", "Asks for a name."), async |cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
        .resource(Resource::new("matrix://asking", "asking"), async |cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
}

/// Adds the tools that go on as tasks.
fn working(server: Server) -> Server {
    let tool = |name: &str| Tool::new(name, "Works.").task(TaskMode::Optional);
    let mut limits = TaskLimits::default();
    limits.poll_interval = Duration::from_millis(1);
    server
        .task_limits(limits)
        .tool(tool("work"), async || "worked")
        .tool(tool("work_for"), async |cx: Cx| {
            Ok::<_, ToolError>(format!("worked for {}", said(cx.elicit("name", "Who?").await?)))
        })
        .tool(tool("work_in_vain"), async || Err::<(), _>(Error::new(-31_339, "in vain")))
        .tool(tool("work_forever"), async |cx: Cx| -> Result<(), ToolError> {
            let guard = Guard(state(&cx)?);
            guard.0.begun.notify_one();
            std::future::pending().await
        })
        .tool(Tool::new("begun", "Ends when work that never ends has begun."), async |cx: Cx| {
            state(&cx)?.begun.notified().await;
            Ok::<_, ToolError>(())
        })
}

/// Adds the methods of a third party.
fn open(server: Server, heard: mpsc::UnboundedSender<String>) -> Server {
    server
        .method("vendor/echo", async |request: Request| {
            Ok::<_, Error>(Response::new(request.params.to_raw()))
        })
        .method("vendor/fail", async |params: Object| {
            let data = params.get("data").unwrap_or_else(RawJson::null);
            Err::<(), _>(Error::new(-31_337, "vendor says no").with_data(data))
        })
        .notification("notifications/vendor/heard", move |params: Object| {
            let heard = heard.clone();
            async move {
                let _ = heard.send(written(&params.to_raw()));
            }
        })
        .tool(Tool::new("heard", "What a notification said."), async |cx: Cx| {
            let state = state(&cx)?;
            let heard = state.heard.lock().await.recv().await;
            Ok::<_, ToolError>(heard.unwrap_or_default())
        })
        .tool(Tool::new("tell", "Notifies."), async |params: Object, cx: Cx| {
            cx.notify("notifications/vendor/told", params).await?;
            Ok::<_, ToolError>(())
        })
        .tool(Tool::new("ask", "Calls a method of the client."), async |params: Object, cx: Cx| {
            let answer: RawJson = cx.ask("vendor", "vendor/question", params).await?;
            Ok::<_, ToolError>(written(&answer))
        })
}
