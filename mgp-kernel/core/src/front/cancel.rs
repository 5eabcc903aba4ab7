//! The stopping of a call at its server, once its client has stopped it with `mgp/stream/cancel`.

use std::sync::Arc;
use std::time::Duration;

use mgp_stream::call::CancelsUpstream;
use mgp_types::mgp::Extension;
use mgp_types::{BoxFuture, Object, Outbox, Request, Response};
use tokio::time::timeout;
use tower_service::Service;

use crate::servers::fleet::Fleet;

/// Asks servers to stop calls, where they have negotiated the streaming extension.
pub(crate) struct UpstreamCanceller(pub(crate) Arc<Fleet>);

impl CancelsUpstream for UpstreamCanceller {
    fn cancel(&self, request: Request) -> BoxFuture<'static, Option<Response>> {
        let stream = request.context.outbox.stream();
        let carrying = self.0.all().into_iter().find_map(|upstream| upstream.carrying(stream));
        Box::pin(async move {
            let client = carrying
                .filter(|client| client.session().is_some_and(|own| own.has(&Extension::Streaming)))?;
            // The stream is the kernel's own call to the server by now, and the connection translates it for the
            // server.
            let mut at_server = Request::call(request.method, request.params);
            at_server.context.outbox = Outbox::on(stream);
            let mut service = client.get_ref().clone();
            let answer = timeout(PATIENCE, service.call(at_server)).await.ok()?;
            let answer = answer.inspect_err(|error| tracing::debug!(%error, "a server does not stop a call"));
            let response = answer.ok()?;
            let result = Object::from_raw(&response.to_raw()).ok()?;
            (result.bytes("cancelled") == Some(b"true")).then_some(response)
        })
    }
}

/// The time that a server has to stop a call before the kernel takes the call back from it.
const PATIENCE: Duration = Duration::from_secs(5);
