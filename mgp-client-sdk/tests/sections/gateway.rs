//! A gateway: it passes on what its clients ask, with the way back of each request.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_client_sdk::StreamPart;
use mgp_stream::call::StreamLayer;
use mgp_stream::callback::CallbackRelay;
use mgp_transport::Accept;
use mgp_transport::era::{ServerEraGate, ServerIdentity};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{CallbackRequest, Extension, Offer, ServerId};
use mgp_types::{
    BoxFuture, BoxedService, Error, Gate as _, Method, Outbox, OutboxPort, RawJson, Request, RequestKind,
    Response, RpcService, StreamId,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::host::{Host, builder, offer, say, text};
use crate::leg::{Connected, Leg};
use crate::raw::{CHUNK, STREAMING};
use crate::runner::tests;
use crate::server::Kind as ServerKind;
use crate::streaming::{texts, value, whole};

tests![
    chunks_and_progress_pass_through_in_order,
    a_stop_passes_through,
    a_call_that_is_dropped_in_front_is_dropped_behind,
    clients_in_front_never_see_what_is_not_theirs,
    callbacks_pass_through if |leg| !leg.is_stateless(),
    ids_are_those_of_each_connection if |leg| !leg.is_stateless(),
];

/// Passes everything on to one server behind.
#[derive(Clone)]
struct Forward {
    behind: BoxedService,
    relay: Arc<Mutex<CallbackRelay>>,
}

impl Service<Request> for Forward {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.behind.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if request.method == Method::DISCOVER {
            let answer = RawJson::parse(r#"{"capabilities":{"tools":{}}}"#).unwrap();
            return Box::pin(std::future::ready(Ok(Response::new(answer))));
        }
        if request.kind == RequestKind::Notify && request.method == Method::INITIALIZED {
            return Box::pin(std::future::ready(Ok(Response::empty())));
        }
        if request.method == *"mgp/callback/respond" {
            let routed = self.relay.lock().route(&request.context, &request.params, Instant::now());
            request.params = routed.unwrap().params;
        }
        // What the server behind knows of its client, it knows of the gateway.
        request.params.remove("_meta");
        let front = request.context.clone();
        let stream = front.outbox.stream();
        request.context.outbox = match std::mem::take(&mut request.context.outbox).into_parts() {
            Some((port, _)) => {
                let relaying = Relaying { port, front: *front, relay: self.relay.clone() };
                Outbox::new(Arc::new(relaying), stream)
            }
            None => Outbox::on(stream),
        };
        self.behind.call(request)
    }
}

/// The way back to a client in front, which knows callbacks by other names.
struct Relaying {
    port: Arc<dyn OutboxPort>,
    front: mgp_types::Context,
    relay: Arc<Mutex<CallbackRelay>>,
}

impl OutboxPort for Relaying {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == *CALLBACK {
            let server = ServerId::from("behind");
            let passed =
                self.relay.lock().pass_on(&server, &self.front, &notification.params, Instant::now());
            notification.params = passed.unwrap();
        }
        self.port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.port.call(stream, request)
    }
}

/// Passes what the server behind asks to whoever made the call that it asks about.
#[derive(Clone)]
struct PassOn<S>(S);

#[derive(Clone)]
struct PassOnLayer;

impl<S> Layer<S> for PassOnLayer {
    type Service = PassOn<S>;

    fn layer(&self, inner: S) -> PassOn<S> {
        PassOn(inner)
    }
}

impl<S: RpcService<Future: 'static>> Service<Request> for PassOn<S> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method != *CALLBACK {
            return Box::pin(self.0.call(request));
        }
        let outbox = request.context.outbox.clone();
        Box::pin(async move { outbox.notify(request).await.map(|()| Response::empty()) })
    }
}

const CALLBACK: &str = "notifications/mgp.callback.request";

/// A gateway in front of a server that is reached over the leg.
struct Gateway {
    leg: Leg,
    host: Host,
    forward: Forward,
    // Keeps the connection to the server.
    _behind: Connected,
}

impl Gateway {
    async fn open(leg: Leg) -> Self {
        let mut host = leg.host(ServerKind::Mgp).await;
        let behind = host.client(builder().mgp(with_callbacks()).inbound_layer(PassOnLayer)).await;
        let relay = Arc::new(Mutex::new(CallbackRelay::new()));
        let forward = Forward { behind: behind.get_ref().clone(), relay };
        Self { leg, host, forward, _behind: behind }
    }

    /// Returns the factory of the services for clients: with a layer for streams, as a kernel has it, or without.
    fn accept(&self, layered: bool) -> impl Accept<Service: Unpin> {
        let identity =
            ServerIdentity::new(Implementation::new("gateway", "1.0.0")).with_mgp(with_callbacks());
        let identity = Arc::new(identity);
        let service = if layered {
            BoxedService::new(StreamLayer::new().layer(self.forward.clone()))
        } else {
            BoxedService::new(self.forward.clone())
        };
        move |outbox| ServerEraGate::new(identity.clone(), outbox).layer(service.clone())
    }

    async fn client(&self, layered: bool) -> Connected {
        self.leg.settled(builder()).in_process(self.accept(layered)).await.unwrap()
    }

    fn names_calls(&self) -> bool {
        !(self.leg.is_stateless() && self.leg.transport == crate::leg::Transport::Http)
    }
}

fn with_callbacks() -> Offer {
    let mut offer = offer();
    offer.extensions.insert(Extension::Callbacks);
    offer
}

async fn chunks_and_progress_pass_through_in_order(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    for layered in [true, false] {
        let client = gateway.client(layered).await;
        let mut streamed = whole(&client, "count", &json!({"to": 500})).stream().unwrap();
        let numbers: Vec<_> = (0..500).map(|number| format!("{number} ")).collect();
        assert_eq!(texts(&mut streamed).await, numbers);
        let result = value(&streamed.finish().await.unwrap());
        assert_eq!(
            (&result["_mgp"]["chunks_sent"], &result["content"][0]["text"]),
            (&json!(500), &json!(numbers.concat()))
        );

        let mut streamed = client.call_tool("step", json!({"to": 2})).stream().unwrap();
        let mut told = Vec::new();
        while let Some(part) = streamed.next().await {
            if let StreamPart::Progress(progress) = part {
                told.push(progress.progress);
            }
        }
        assert_eq!(told, [0.5, 1.0]);

        let result = client.call_tool("count", json!({"to": 2})).await.unwrap();
        assert_eq!(text(&result), "0 1 ");
    }
}

async fn a_stop_passes_through(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    for layered in [true, false] {
        if !layered && !gateway.names_calls() {
            continue;
        }
        let client = gateway.client(layered).await;
        let mut streamed = whole(&client, "hang", &json!({})).stream().unwrap();
        for _ in 0..2 {
            assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
        }
        let answer = streamed.cancel(None).await.unwrap();
        assert!(answer.cancelled, "{layered}");
        assert_eq!(answer.partial_result.unwrap().content[0].as_text(), Some("one two"));
        let result = value(&streamed.finish().await.unwrap());
        assert_eq!(
            (&result["_mgp"]["cancelled"], &result["content"][0]["text"]),
            (&json!(true), &json!("one two"))
        );
        assert_eq!(say(&client, "stopped").await, "stopped");
    }
}

async fn a_call_that_is_dropped_in_front_is_dropped_behind(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    for layered in [true, false] {
        let client = gateway.client(layered).await;
        let mut streamed = client.call_tool("hang", ()).stream().unwrap();
        assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
        drop(streamed);
        assert_eq!(say(&client, "stopped").await, "stopped");
    }
}

async fn clients_in_front_never_see_what_is_not_theirs(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    let clients = [gateway.client(true).await, gateway.client(true).await, gateway.client(false).await];
    let reading = clients.iter().zip(["a", "b", "c"]).map(|(client, label)| async move {
        let mut streamed = client.call_tool("count", json!({"to": 200, "label": label})).stream().unwrap();
        let numbers: Vec<_> = (0..200).map(|number| format!("{label}{number} ")).collect();
        assert_eq!(texts(&mut streamed).await, numbers);
        assert_eq!(text(&streamed.finish().await.unwrap()), numbers.concat());
    });
    futures_util::future::join_all(reading).await;
    // One that is stopped is no other's.
    let hang = |client: &Connected| client.call_tool("hang", ()).stream().unwrap();
    let (mut one, mut other) = (hang(&clients[0]), hang(&clients[1]));
    for streamed in [&mut one, &mut other] {
        for _ in 0..2 {
            assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
        }
    }
    assert!(one.cancel(None).await.unwrap().cancelled);
    assert!(other.cancel(None).await.unwrap().cancelled);
    assert!(texts(&mut other).await.is_empty());
}

async fn callbacks_pass_through(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    for layered in [true, false] {
        let connect = async |answer: &'static str| {
            let handler = move |_: CallbackRequest, _| async move { RawJson::from_value(&answer).ok() };
            let builder = leg.settled(builder()).on_callback(handler);
            builder.in_process(gateway.accept(layered)).await.unwrap()
        };
        let (yes, no) = (connect("confirm").await, connect("no").await);
        for _ in 0..3 {
            let (of_yes, of_no) = tokio::join!(say(&yes, "delete"), say(&no, "delete"));
            assert_eq!((&*of_yes, &*of_no), ("confirmed", "declined"));
        }
    }
}

async fn ids_are_those_of_each_connection(leg: Leg) {
    let gateway = Gateway::open(leg).await;
    let (near, far) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(far);
    let accept = gateway.accept(true);
    let (_, connection) =
        mgp_transport::connect(reader, writer, &accept, mgp_transport::ConnectionLimits::default());
    tokio::spawn(connection);
    let mut raw = crate::raw::Raw::over(near, leg, STREAMING, gateway.host.state.clone()).await;
    raw.call("in front", "count", json!({"to": 3}), json!({"stream": true})).await;
    raw.answer("in front").await;
    let chunks = raw.params(CHUNK);
    assert_eq!(chunks.len(), 3);
    assert!(chunks.iter().all(|chunk| chunk["request_id"] == "in front"), "{chunks:?}");
}
