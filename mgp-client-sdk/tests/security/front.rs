//! The stack behind an era of its own, as a gateway has it: what a client sends there, byte by byte.

use std::sync::Arc;

use mgp_transport::era::{ServerEra, ServerEraGate, ServerIdentity};
use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{
    BoxFuture, BoxedService, Error, Gate as _, Method, Outbox, Principal, RawJson, Request, Response,
    Revision,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tower_layer::Layer;
use tower_service::Service;

use crate::kernel::{From, Kernel, Named};

/// The service that answers the clients of the gateway.
#[derive(Clone)]
pub(crate) struct Front(Named<BoxedService>);

impl Service<Request> for Front {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method == Method::DISCOVER {
            let offered = r#"{"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{},
                "tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}}"#;
            return Box::pin(std::future::ready(Ok(Response::new(RawJson::parse(offered).unwrap()))));
        }
        self.0.call(request)
    }
}

impl Kernel {
    /// Returns the gateway for a client that was authenticated as `principal`.
    pub(crate) fn front(
        &self,
        principal: Principal,
    ) -> impl Fn(Outbox) -> ServerEra<Front> + Clone + Send + Sync + 'static {
        let front = Front(From(Some(principal)).layer(self.stack.clone()));
        let identity = ServerIdentity::new(Implementation::new("gateway", "1.0.0"))
            .with_mgp(Offer::new(ExtensionSet::standard()));
        let identity = Arc::new(identity);
        move |outbox| ServerEraGate::new(identity.clone(), outbox).layer(front.clone())
    }
}

/// A client of the gateway that is not bound to send anything sensible.
pub(crate) struct Raw {
    incoming: Lines<BufReader<ReadHalf<DuplexStream>>>,
    outgoing: WriteHalf<DuplexStream>,
    revision: Revision,
    speaks_mgp: bool,
    last: u64,
}

impl Raw {
    pub(crate) async fn open(kernel: &Kernel, agent: &str, revision: Revision, speaks_mgp: bool) -> Self {
        let (near, far) = memory::pair(1 << 16);
        let accept = kernel.front(Principal::new(agent));
        let (_, connection) = connect(far.0, far.1, &accept, ConnectionLimits::default());
        tokio::spawn(connection);
        let incoming = BufReader::new(near.0).lines();
        let mut raw = Self { incoming, outgoing: near.1, revision, speaks_mgp, last: 0 };
        if !revision.is_stateless() {
            let params = json!({
                "protocolVersion": revision.as_str(),
                "capabilities": raw.capabilities(),
                "clientInfo": { "name": "raw", "version": "1" },
            });
            let answer = raw.call("initialize", &params.to_string()).await;
            assert_eq!(answer["result"]["protocolVersion"], revision.as_str(), "{answer}");
            raw.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        raw
    }

    fn capabilities(&self) -> Value {
        match (self.speaks_mgp, self.revision.is_stateless()) {
            (false, _) => json!({}),
            (true, false) => json!({ "mgp": { "version": "0.6.0", "extensions": EXTENSIONS } }),
            (true, true) => {
                json!({ "extensions": { "dev.cloto/mgp": { "version": "0.6.0", "extensions": EXTENSIONS } } })
            }
        }
    }

    /// `params` with what a request of the era says about itself in front; `params` is JSON text, of any spelling.
    pub(crate) fn described(&self, params: &str) -> String {
        if !self.revision.is_stateless() {
            return params.to_owned();
        }
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": self.revision.as_str(),
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": self.capabilities(),
        });
        let rest = params.trim().strip_prefix('{').unwrap();
        let comma = if rest.trim() == "}" { "" } else { "," };
        format!(r#"{{"_meta":{meta}{comma}{rest}"#)
    }

    pub(crate) async fn write(&mut self, frame: &str) {
        let line = frame.replace('\n', " ") + "\n";
        self.outgoing.write_all(line.as_bytes()).await.unwrap();
    }

    /// Returns the next answer, and passes over the server's unasked messages.
    pub(crate) async fn read(&mut self) -> Value {
        loop {
            let next = tokio::time::timeout(std::time::Duration::from_secs(20), self.incoming.next_line());
            let line = next.await.expect("the gateway answers").unwrap().expect("the gateway stays");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.is_array() || message.get("method").is_none() {
                return message;
            }
        }
    }

    pub(crate) fn frame(&mut self, method: &str, params: &str) -> String {
        self.last += 1;
        let params = self.described(params);
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.last)
    }

    pub(crate) async fn call(&mut self, method: &str, params: &str) -> Value {
        let frame = self.frame(method, params);
        self.write(&frame).await;
        self.read().await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: &str) {
        let params = self.described(params);
        self.write(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await;
        // Whatever came of it is done when something later is answered. What is no message of the protocol is told so first,
        // under no id.
        let later = self.frame("tools/list", "{}");
        self.write(&later).await;
        while self.read().await["id"] != self.last {}
    }

    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", &json!({ "name": name, "arguments": arguments }).to_string()).await
    }
}

const EXTENSIONS: [&str; 5] = ["security", "access_control", "audit", "code_safety", "error_handling"];
