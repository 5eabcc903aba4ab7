//! The server of all tests.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_server_sdk::{Cx, Error, Prompt, Resource, ResourceTemplate, Server, Tool};
use mgp_types::{BoxFuture, Error as RpcError, Method, Request, Response, Revision, RpcService};
use tower_layer::{Identity, Layer, Stack};
use tower_service::Service;

use crate::host;
use crate::talking::{self, Count};

/// The argument by which the test binary is a server.
pub(crate) const SERVE: &str = "--serve";

/// Serves on this process' standard input and output.
pub(crate) fn serve_stdio() -> ExitCode {
    eprintln!("the server has begun");
    host::serve(server().serve_stdio())
}

pub(crate) fn server() -> Server<Stack<CountLists, Identity>> {
    let counting = CountLists::default();
    let (lists, stumbles) = (Arc::clone(&counting.lists), Arc::clone(&counting.stumbles));
    let server = talking::with_basics(Server::new("tests", "1.0.0").dynamic())
        .tool(Tool::new("lists", "How often the tools were listed."), move || {
            std::future::ready(lists.load(Ordering::Relaxed))
        })
        .tool(Tool::new("stumble", "Adds another tool, and fails when it is to list it."), move |cx: Cx| {
            stumbles.store(true, Ordering::Relaxed);
            async move {
                cx.server().add_tool(Tool::new("late", "Came later."), async || "late")?;
                cx.server().tools_changed();
                Ok::<_, Error>("stumbled")
            }
        })
        .tool(
            Tool::new("storm", "Changes its list again and again."),
            async |Count { to }: Count, cx: Cx| {
                let server = cx.server();
                server.add_tool(Tool::new("late", "Came later."), async || "late")?;
                for _ in 0..to {
                    server.tools_changed();
                    tokio::task::yield_now().await;
                }
                Ok::<_, Error>(to)
            },
        );
    let server = match std::env::var("WHOSE") {
        Ok(whose) => own(server, &whose),
        Err(_) => server.resource(Resource::new("test://watched", "watched"), async || "It changes.").tool(
            Tool::new("stir", "Changes the resource."),
            async |cx: Cx| {
                cx.server().resource_updated("test://watched");
                "stirred"
            },
        ),
    };
    server.layer(counting)
}

/// What one agent's connection has, and what that of each has.
fn own(server: Server<Identity>, whose: &str) -> Server<Identity> {
    let prompts = [format!("{whose}_prompt"), "each_prompt".to_owned()];
    let resources = [format!("own://{whose}/notes"), COMMON.to_owned()];
    let template = ResourceTemplate::new(format!("own://{whose}/by-id/{{id}}"), "by id");
    let text = |whose: &str| {
        let text = format!("{whose}'s");
        move || std::future::ready(text.clone())
    };
    // One with sessions is asked to tell of its resources, and has to be asked again.
    let mut server = server
        .instructions(format!("Say that you come from {whose}."))
        .revisions([Revision::V2025_11_25])
        .tool(Tool::new(format!("{whose}_tool"), "A tool of its own."), text(whose))
        .tool(Tool::new("about", format!("What is {whose}'s.")), text(whose))
        .tool(Tool::new("touch", "Tells that a resource changed."), async |cx: Cx| {
            cx.server().resource_updated(COMMON);
            "told"
        })
        .resource_template(template, async |Id { id }: Id| id);
    for prompt in prompts {
        server = server.prompt(Prompt::new(prompt, "A prompt."), text(whose));
    }
    for resource in resources {
        server = server.resource(Resource::new(resource, "a resource"), text(whose));
    }
    server
}

#[derive(serde::Deserialize)]
struct Id {
    id: String,
}

/// A resource that each connection has.
pub(crate) const COMMON: &str = "own://common";

/// The variable that makes a server slow to listen.
pub(crate) const SLOW: &str = "SLOW_TO_LISTEN";

/// Counts how often the tools are listed, and fails to list them once if it is to.
#[derive(Clone, Default)]
pub(crate) struct CountLists {
    lists: Arc<AtomicU64>,
    stumbles: Arc<AtomicBool>,
}

impl<S> Layer<S> for CountLists {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { inner, counts: self.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Counting<S> {
    inner: S,
    counts: CountLists,
}

impl<S: RpcService<Future: 'static>> Service<Request> for Counting<S> {
    type Response = Response;
    type Error = RpcError;
    type Future = BoxFuture<'static, Result<Response, RpcError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RpcError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method == Method::TOOLS_LIST {
            self.counts.lists.fetch_add(1, Ordering::Relaxed);
            if self.counts.stumbles.swap(false, Ordering::Relaxed) {
                return Box::pin(std::future::ready(Err(RpcError::internal("stumbled"))));
            }
        }
        if request.method == Method::LISTEN && std::env::var_os(SLOW).is_some() {
            let mut inner = self.inner.clone();
            return Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(3)).await;
                std::future::poll_fn(|cx| inner.poll_ready(cx)).await?;
                inner.call(request).await
            });
        }
        Box::pin(self.inner.call(request))
    }
}
