//! Tools in envelopes: in this process, and inside of `tools/call`.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_transport::{CatchPanic, CatchPanicFuture};
use mgp_types::ext::{ENVELOPE_VERSION, EnvelopeClient, EnvelopeGate, ExtensionId};
use mgp_types::{Error, Gate, GateLayer, RawJson, Request, Response, Revision, RpcService, Session};
use tower_layer::{Layer, Stack};
use tower_service::Service;

use super::Server;
use crate::ServerCore;

impl<L> Server<L> {
    /// Gives the results of calls as envelopes where the calls ask for them, and tells clients of it.
    ///
    /// Readers of envelopes expect each tool to have a schema of its result. A tool without one is a warning in the log,
    /// and refused by a server that [requires schemas](Self::require_schemas).
    pub fn envelopes(self) -> Server<Stack<GateLayer<EnvelopeGate>, L>> {
        self.declaring_envelopes().layer(EnvelopeGate::new().into_layer())
    }

    /// Wraps the tools of the server for calls in this process, without a transport. They are called `module.tool`.
    ///
    /// ```
    /// use mgp_server_sdk::types::ext::{EnvelopeReading, ToolCall};
    /// use mgp_server_sdk::{Server, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// async fn greet() -> &'static str {
    ///     "hello"
    /// }
    ///
    /// let server = Server::new("polite", "1.0.0").tool(Tool::new("greet", "Greets you."), greet);
    /// let mut tools = server.into_envelopes("polite").await?;
    /// let call = ToolCall::from_json(r#"{"tool_name":"polite.greet","arguments":{}}"#, EnvelopeReading::Strict)?;
    /// let result = tools.call(&call).await;
    /// assert_eq!(
    ///     result.to_raw().to_string(),
    ///     r#"{"status":"success","data":{"content":[{"type":"text","text":"hello"}]}}"#,
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A registered entry cannot be served.
    pub async fn into_envelopes(
        self,
        module: &str,
    ) -> Result<EnvelopeClient<InProcess<L::Service>>, crate::Error>
    where
        L: Layer<ServerCore, Service: RpcService>,
    {
        let session = Arc::new(Session::new(Revision::LATEST));
        let service =
            InProcess { service: CatchPanic::new(self.declaring_envelopes().into_service()?), session };
        Ok(EnvelopeClient::new(service, module).await?)
    }

    fn declaring_envelopes(self) -> Self {
        let settings = format!(r#"{{"version":"{ENVELOPE_VERSION}"}}"#);
        self.extension(ExtensionId::Envelopes.id(), RawJson::from_written(settings.into_bytes()))
    }
}

/// A server in this process, whose peer is this program: it can be asked nothing, and has no limits of its own.
#[derive(Debug, Clone)]
pub struct InProcess<S> {
    service: CatchPanic<S>,
    session: Arc<Session>,
}

impl<S: RpcService> Service<Request> for InProcess<S> {
    type Response = Response;
    type Error = Error;
    type Future = CatchPanicFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        request.context.session = Some(Arc::clone(&self.session));
        self.service.call(request)
    }
}
