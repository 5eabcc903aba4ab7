//! A server, a gateway in front of it, and clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_server_sdk::{Ask, Cx, Elicited, Prompt, Resource, Server, Tool, ToolError};
use mgp_transport::Accept;
use mgp_transport::era::{EraMode, ServerEraGate, ServerIdentity};
use mgp_types::mcp::{CreateMessageParams, Implementation, Role, SamplingMessage};
use mgp_types::{
    Error, Flow, Gate, Method, Object, Outbox, Params, Principal, RawJson, Request, RequestKind, Response,
    Revision, RpcService, Session,
};
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use crate::approvals::{ElicitationSessions, ParkedCallLayer, ParkedCallLimits, is_question, relay};
use crate::call::calls_in_work::CallsInWork;
use mgp_types::BoxedService;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn said(answer: Elicited<Name>) -> String {
    answer.accepted().map_or_else(|| "nobody".into(), |form| form.name)
}

/// What the server and its test know of the server's calls.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many calls were begun.
    pub(super) begun: AtomicUsize,
    /// True if one was dropped.
    pub(super) dropped: AtomicBool,
}

struct Guard(Arc<Seen>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.store(true, Ordering::SeqCst);
    }
}

fn server(stateless: bool, seen: &Arc<Seen>) -> impl Accept<Service: Unpin> {
    let revisions = Revision::ALL.into_iter().filter(|revision| revision.is_stateless() == stateless);
    Server::new("behind", "1.0.0")
        .revisions(revisions)
        .state(Arc::clone(seen))
        .tool(Tool::new("name", "Asks for a name."), async |cx: Cx| {
            cx.state::<Arc<Seen>>()?.begun.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
        .tool(Tool::new("steps", "Asks three times."), async |cx: Cx| {
            let first = said(cx.elicit("first", "First?").await?);
            let second = said(cx.elicit("second", format!("After {first}?")).await?);
            let sampled = cx
                .sample("model", CreateMessageParams::new([SamplingMessage::new(Role::User, "Hello")], 10))
                .await?;
            Ok::<_, ToolError>(format!("{first} {second} {}", sampled.model))
        })
        .tool(Tool::new("both", "Asks two things at once."), async |cx: Cx| {
            let questions = (Ask::elicit::<Name>("name", "Who?"), Ask::roots("roots"));
            let (name, roots) = cx.ask_all(questions).await?;
            Ok::<_, ToolError>(format!("{} {}", said(name), roots.len()))
        })
        .tool(Tool::new("wait", "Asks, and never ends."), async |cx: Cx| {
            let _guard = Guard(Arc::clone(cx.state::<Arc<Seen>>()?));
            let _ = cx.elicit::<Name>("name", "Who?").await?;
            std::future::pending::<Result<(), ToolError>>().await
        })
        .tool(Tool::new("impatient", "Asks, and waits a minute."), async |cx: Cx| {
            let answer = cx.elicit::<Name>("name", "Who?");
            match tokio::time::timeout(Duration::from_mins(1), answer).await {
                Ok(answer) => Ok::<_, ToolError>(said(answer?)),
                Err(_) => Ok("too late".into()),
            }
        })
        .prompt(Prompt::new("asking", "Asks for a name."), async |cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
        .resource(Resource::new("test://asking", "asking"), async |cx: Cx| {
            Ok::<_, ToolError>(said(cx.elicit("name", "Who?").await?))
        })
        .accept()
        .unwrap()
}

/// Answers the questions of a server by the clients whose calls these are, as the kernel does.
#[derive(Clone)]
struct Relay(CallsInWork);

impl Gate for Relay {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.kind != RequestKind::Call || !is_question(&request.method) {
            return Flow::Pass(());
        }
        let (calls, request) = (self.0.clone(), request.take());
        Flow::answer_later(async move { relay(&calls, &ElicitationSessions::default(), request).await })
    }
}

/// A gateway in front of one server.
pub(super) struct World {
    pub(super) layer: ParkedCallLayer,
    pub(super) gate: AskingGate,
    behind: BoxedService,
    pub(super) seen: Arc<Seen>,
}

impl World {
    pub(super) async fn with(stateless: bool, limits: ParkedCallLimits) -> Self {
        let seen = Arc::<Seen>::default();
        let calls = CallsInWork::default();
        let empty = || RawJson::parse("{}").unwrap();
        let mode = if stateless { EraMode::Stateless } else { EraMode::Session };
        let behind = Client::builder("gateway", "1.0.0")
            .era(mode)
            .relay_clients()
            .caching(false)
            .capability("elicitation", empty())
            .capability("sampling", empty())
            .capability("roots", empty())
            .layer(calls.clone().into_layer())
            .inbound_layer(Relay(calls.clone()).into_layer())
            .in_process(server(stateless, &seen))
            .await
            .unwrap();
        let (layer, behind) = (ParkedCallLayer::new(limits, None), BoxedService::new(behind));
        Self { layer, gate: AskingGate::default(), behind, seen }
    }

    pub(super) async fn new(stateless: bool) -> Self {
        Self::with(stateless, ParkedCallLimits::default()).await
    }

    /// How many calls passed the gate.
    pub(super) fn passed(&self) -> usize {
        self.gate.passed.load(Ordering::SeqCst)
    }

    pub(super) fn dropped(&self) -> bool {
        self.seen.dropped.load(Ordering::SeqCst)
    }

    pub(super) fn parked(&self) -> usize {
        self.layer.0.table.len()
    }

    /// Returns the service that answers the gateway's clients, who call as this principal.
    pub(super) fn front(&self, principal: &'static str) -> BoxedService {
        let asking = self.layer.layer(self.gate.layer(self.behind.clone()));
        BoxedService::new(FrontGate(Principal::new(principal)).layer(asking))
    }

    /// A client of the gateway.
    pub(super) async fn client<L, I>(
        &self,
        principal: &'static str,
        builder: ClientBuilder<L, I>,
    ) -> Client<L::Service>
    where
        I: Layer<mgp_client_sdk::Handlers, Service: RpcService + Unpin>,
        L: Layer<mgp_client_sdk::ClientCore<mgp_transport::Wire, I::Service>, Service: RpcService>,
    {
        let front = self.front(principal);
        let identity = Arc::new(ServerIdentity::new(Implementation::new("gateway", "1.0.0")));
        let accept = move |outbox: Outbox| ServerEraGate::new(identity.clone(), outbox).layer(front.clone());
        builder.in_process(accept).await.unwrap()
    }
}

/// A gate that counts who passes it, and may ask the client itself.
#[derive(Clone, Default)]
pub(super) struct AskingGate {
    passed: Arc<AtomicUsize>,
    pub(super) confirms: bool,
}

impl Gate for AskingGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.passed.fetch_add(1, Ordering::SeqCst);
        if !self.confirms {
            return Flow::Pass(());
        }
        let request = request.take();
        Flow::wait(async move {
            let form = r#"{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}"#;
            let asked = request.context.ask("sure", Method::ELICIT, Object::parse(form).unwrap()).await;
            let decision = match asked {
                Ok(answer)
                    if Object::from_raw(&answer).unwrap().text("action").as_deref() == Some("accept") =>
                {
                    Flow::Pass(())
                }
                Ok(_) => Flow::refuse(Error::invalid_request("the user did not confirm the call")),
                Err(error) => Flow::refuse(error),
            };
            (request, decision)
        })
    }
}

/// A gate that says what the gateway can do, and in whose name a request comes.
#[derive(Clone)]
struct FrontGate(Principal);

impl Gate for FrontGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.method == Method::DISCOVER {
            let answer = r#"{"capabilities":{"tools":{},"prompts":{},"resources":{}}}"#;
            return Flow::answer(Response::new(RawJson::parse(answer).unwrap()));
        }
        if request.kind == RequestKind::Notify {
            return Flow::answer(Response::empty());
        }
        request.context.principal = Some(self.0.clone());
        Flow::Pass(())
    }
}

/// A request of a stateless client that can be asked everything.
pub(super) fn request(params: &Value) -> Request {
    let params = Params::parse(params.to_string()).unwrap();
    let mut request = Request::call(Method::TOOLS_CALL, params);
    let mut session = Session::new(Revision::LATEST);
    session.capabilities = Object::parse(r#"{"elicitation":{},"sampling":{},"roots":{}}"#).unwrap();
    request.context.session = Some(Arc::new(session));
    request
}

/// What comes of a request.
pub(super) async fn send(front: &BoxedService, params: Value) -> Result<Value, Error> {
    let response = front.clone().call(request(&params)).await?;
    Ok(serde_json::from_slice(response.to_raw().as_bytes()).unwrap())
}

/// Calls a tool that asks, and returns the result with its questions.
pub(super) async fn ask(front: &BoxedService, tool: &str) -> Value {
    let asked = send(front, json!({"name": tool, "arguments": {}})).await.unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked
}

/// The request that goes on with a call of `tool`.
pub(super) fn again(tool: &str, asked: &Value, answers: &Value) -> Value {
    json!({
        "name": tool,
        "arguments": {},
        "requestState": asked["requestState"],
        "inputResponses": answers,
    })
}

/// The answers to all questions: each form gets this name.
pub(super) fn answers(asked: &Value, name: &str) -> Value {
    let questions = asked["inputRequests"].as_object().unwrap();
    let answer = |question: &Value| match question["method"].as_str().unwrap() {
        "elicitation/create" => json!({"action": "accept", "content": {"name": name}}),
        "roots/list" => json!({"roots": [{"uri": "file:///a"}]}),
        _ => json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}),
    };
    questions
        .iter()
        .map(|(key, question)| (key.clone(), answer(question)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}
