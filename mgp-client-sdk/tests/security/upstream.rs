//! The servers behind the stack, and what reaches them.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_server_sdk::{CompletionRequest, Prompt, Resource, Server, TaskMode, Tool};
use mgp_types::mgp::{ExtensionSet, Offer, Permission, RiskLevel, ToolSecurity, ValidatorName};
use mgp_types::{BoxedService, Error, Request, Response, RpcService};
use parking_lot::Mutex;
use serde_json::Value;
use tower_layer::{Identity, Layer, Stack};
use tower_service::Service;

/// The requests that reached a server: method and parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reached(Arc<Mutex<Vec<(String, Value)>>>);

impl Reached {
    /// Returns the requests that have reached the server since the last look.
    pub(crate) fn take(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Returns the tools that were called since the last look.
    pub(crate) fn tools(&self) -> Vec<String> {
        let calls = self.take().into_iter().filter(|(method, _)| method == "tools/call");
        calls.map(|(_, params)| params["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Reached {
    type Service = BoxedService;

    fn layer(&self, inner: S) -> BoxedService {
        BoxedService::new(Watched { inner, reached: self.clone() })
    }
}

#[derive(Clone)]
struct Watched<S> {
    inner: S,
    reached: Reached,
}

impl<S: RpcService> Service<Request> for Watched<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let params = serde_json::from_slice(request.params.to_raw().as_bytes()).unwrap();
        self.reached.0.lock().push((request.method.as_str().to_owned(), params));
        self.inner.call(request)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Run {
    command: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Evaluate {
    code: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wipe {
    target: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Fetch {
    url: String,
}

pub(crate) type Watchable = Server<Stack<Reached, Identity>>;

/// Returns a server that says nothing of security: seven tools, a resource and a prompt.
pub(crate) fn plain(reached: &Reached) -> Watchable {
    server(reached, |tool, _| tool)
}

/// Returns the same server, which says what each tool needs and offers MGP.
pub(crate) fn mgp(reached: &Reached) -> Watchable {
    let offer = Offer::new(ExtensionSet::standard()).with_permissions_required(["network.outbound"]);
    server(reached, |tool, security| tool.security(&security)).mgp(offer)
}

fn server(reached: &Reached, secured: impl Fn(Tool, ToolSecurity) -> Tool) -> Watchable {
    let safe = || ToolSecurity::new(RiskLevel::Safe);
    let dangerous = || ToolSecurity::new(RiskLevel::Dangerous);
    Server::new("upstream", "1.0.0")
        .tool(secured(Tool::new("echo", "Returns the text."), safe()), async |Echo { text }: Echo| text)
        .tool(
            secured(Tool::new("report", "Returns the text later.").task(TaskMode::Optional), safe()),
            async |Echo { text }: Echo| text,
        )
        .resource(Resource::new("notes://all", "notes"), async || "the notes")
        .prompt(Prompt::new("brief", "Briefs.").optional("style", "How."), async || "brief")
        .complete_prompt("brief", "style", async |typed: CompletionRequest| vec![typed.value])
        .tool(secured(Tool::new("secret", "Returns the text."), safe()), async |Echo { text }: Echo| text)
        .tool(
            secured(
                Tool::new("run", "Runs a command."),
                dangerous()
                    .with_permissions([Permission::ShellExecute])
                    .with_validator(ValidatorName::Sandbox),
            ),
            async |Run { command }: Run| format!("ran {command}"),
        )
        .tool(
            secured(
                Tool::new("evaluate", "Evaluates Python code."),
                dangerous()
                    .with_permissions([Permission::CodeExecution])
                    .with_validator(ValidatorName::CodeSafety),
            ),
            async |Evaluate { code }: Evaluate| code,
        )
        .tool(
            secured(Tool::new("wipe", "Wipes a target."), dangerous().with_confirmation_required(true)),
            async |Wipe { target }: Wipe| format!("wiped {target}"),
        )
        .tool(
            secured(
                Tool::new("fetch", "Fetches a page."),
                ToolSecurity::new(RiskLevel::Moderate)
                    .with_permissions([Permission::NetworkOutbound])
                    .with_validator(ValidatorName::NetworkRestricted),
            ),
            async |Fetch { url }: Fetch| format!("fetched {url}"),
        )
        .layer(reached.clone())
}
