//! Servers for tests of sagas: the things behind them, and the connections to them.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use mgp_client_sdk::types::BoxFuture;
use mgp_client_sdk::types::ext::Compensation;
use mgp_client_sdk::{
    Client, EraMode, Error, Object, RawJson, Request, Response, RpcService, Saga, SagaBuilder, SagaStep,
};
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::transaction::TransactionBook;
use mgp_server_sdk::{Cx, Server, ServerCore, Tool, ToolError};
use parking_lot::Mutex;
use serde_json::json;
use tower_layer::Layer;
use tower_service::Service;

use crate::death::Death;

/// The things that exist behind two servers, and the calls that made and removed them, in order.
#[derive(Debug, Default)]
pub(crate) struct World {
    things: Mutex<Vec<String>>,
    done: Mutex<Vec<String>>,
    /// The key and the token of each call that changed something.
    pub(crate) keys: Mutex<Vec<(String, String)>>,
}

impl World {
    pub(crate) fn things(&self) -> Vec<String> {
        self.things.lock().clone()
    }

    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().clone()
    }

    fn note(&self, server: &str, tool: &str, name: &str, cx: &Cx) {
        self.done.lock().push(format!("{server} {tool} {name}"));
        let [key, token] =
            ["idempotency_key", "session_token"].map(|meta| cx.meta(meta).and_then(|text| text.to_text()));
        self.keys.lock().push((key.unwrap_or_default(), token.unwrap_or_default()));
    }
}

/// Adds tools to a server: `delete` may destroy something and `close` does not, but both take `create` back.
pub(crate) fn tools<L>(server: Server<L>, name: &'static str, world: &Arc<World>) -> Server<L> {
    let [creating, deleting, closing, finding] = std::array::from_fn(|_| Arc::clone(world));
    let remove = |world: Arc<World>, tool: &'static str| {
        move |arguments: Object, cx: Cx| {
            let world = Arc::clone(&world);
            async move {
                let thing = title(&arguments);
                if thing == "stuck" {
                    return Err(ToolError::new("the disk is full"));
                }
                world.note(name, tool, &thing, &cx);
                if thing != "kept" {
                    world.things.lock().retain(|one| *one != thing);
                }
                Ok(thing)
            }
        }
    };
    server
        .tool(
            Tool::new("create", "Creates a thing.").undone_by("delete"),
            move |arguments: Object, cx: Cx| {
                let world = Arc::clone(&creating);
                async move {
                    let thing = title(&arguments);
                    if thing == "impossible" {
                        return Err(ToolError::new("no such project"));
                    }
                    world.note(name, "create", &thing, &cx);
                    world.things.lock().push(thing.clone());
                    cx.undo_with(titled(&thing));
                    Ok(thing)
                }
            },
        )
        .tool(Tool::new("delete", "Deletes a thing."), remove(deleting, "delete"))
        .tool(Tool::new("close", "Closes a thing.").destructive(false), remove(closing, "close"))
        .tool(Tool::new("find", "Finds things.").read_only(), move |_: Object| {
            ready(finding.things().join(","))
        })
}

pub(crate) fn title(arguments: &Object) -> String {
    arguments.text("title").unwrap().into_owned()
}

pub(crate) fn titled(title: &str) -> Object {
    Object::from_value(&json!({"title": title})).unwrap()
}

pub(crate) const UP: u8 = 0;
/// The next answer to a call of a tool is lost.
pub(crate) const BLINKS: u8 = 1;
/// The next answer to a call of a tool is lost, and all that comes after it.
pub(crate) const BREAKS: u8 = 2;
const DOWN: u8 = 3;

/// The line to a server. It puts the same token into each call, as a login does.
#[derive(Clone)]
pub(crate) struct Line {
    state: Arc<AtomicU8>,
    token: &'static str,
    death: Death,
}

impl Line {
    fn new(token: &'static str) -> Self {
        Self::mortal(token, Death::never())
    }

    /// Returns the line of a process that may die before and after each request.
    pub(crate) fn mortal(token: &'static str, death: Death) -> Self {
        Self { state: Arc::default(), token, death }
    }

    pub(crate) fn set(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
    }
}

impl<S> Layer<S> for Line {
    type Service = OnLine<S>;

    fn layer(&self, inner: S) -> OnLine<S> {
        OnLine { inner, line: self.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct OnLine<S> {
    inner: S,
    line: Line,
}

impl<S: RpcService> Service<Request> for OnLine<S> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let line = self.line.clone();
        let state = line.state.load(Ordering::SeqCst);
        if state == DOWN {
            return Box::pin(ready(Err(Error::disconnected("the server is gone"))));
        }
        let calls_tool = request.method.as_str() == "tools/call";
        if calls_tool {
            request.meta_mut_or_new().set("session_token", RawJson::from_text(line.token));
        }
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            line.death.point().await;
            let outcome = ready.call(request).await;
            line.death.point().await;
            if !calls_tool || state == UP {
                return outcome;
            }
            line.set(if state == BREAKS { DOWN } else { UP });
            Err(Error::disconnected("the answer is lost"))
        })
    }
}

pub(crate) async fn connect<L>(server: Server<L>, line: &Line, mode: EraMode) -> Client
where
    L: Layer<ServerCore, Service: RpcService + Sync + Unpin>,
{
    let builder = Client::builder("tester", "1.0.0").sagas().era(mode).layer(line.clone());
    builder.in_process(server.accept().unwrap()).await.unwrap().boxed()
}

/// Two servers: `jira` says itself what takes its steps back, `wiki` only knows keys.
pub(crate) struct Office {
    pub(crate) world: Arc<World>,
    pub(crate) lines: [Line; 2],
    pub(crate) clients: [Client; 2],
}

impl Office {
    pub(crate) async fn open(mode: EraMode) -> Self {
        let world = Arc::new(World::default());
        let lines = [Line::new("token of jira"), Line::new("token of wiki")];
        let jira = Server::new("jira", "1.0.0")
            .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory());
        let wiki = Server::new("wiki", "1.0.0").idempotency(&IdempotencyBook::in_memory());
        let clients = [
            connect(tools(jira, "jira", &world), &lines[0], mode).await,
            connect(tools(wiki, "wiki", &world), &lines[1], mode).await,
        ];
        Self { world, lines, clients }
    }

    /// Returns the settings of a saga over both servers, without anybody who confirms.
    pub(crate) fn strict_saga(&self) -> SagaBuilder {
        let [jira, wiki] = self.clients.clone();
        Saga::builder("order-7".parse().unwrap()).server("jira", jira).server("wiki", wiki)
    }

    pub(crate) fn saga(&self) -> SagaBuilder {
        self.strict_saga().confirm_undo(|_| ready(true))
    }
}

/// Returns a step whose server says what takes it back.
pub(crate) fn ticket(title: &str) -> SagaStep {
    SagaStep::new(format!("ticket-{title}").parse().unwrap(), "jira", "create", titled(title))
}

/// Returns a step whose caller says what takes it back.
pub(crate) fn page(title: &str) -> SagaStep {
    SagaStep::new(format!("page-{title}").parse().unwrap(), "wiki", "create", titled(title))
        .undone_by(Compensation::new("delete", titled(title)))
}
