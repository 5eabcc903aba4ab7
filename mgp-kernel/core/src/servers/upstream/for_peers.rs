//! A server of this kernel as the other kernels use it: what they pass on, they have decided already.

use std::sync::Arc;

use mgp_transport::era::{ServerEra, ServerEraGate, ServerIdentity};
use mgp_types::mcp::Implementation;
use mgp_types::{BoxFuture, Error, Gate as _, Method, Object, Outbox, RawJson, Request, Response};
use tower_service::Service;

use super::connections::UsedConnection;
use super::support::ServerClient;
use super::{Upstream, WaitingCall};

/// The service of a session of another kernel, which passes its requests to one server past all that decides.
#[derive(Clone)]
pub(crate) struct DecidedCalls(Arc<Upstream>);

impl Service<Request> for DecidedCalls {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        let upstream = Arc::clone(&self.0);
        Box::pin(async move {
            let used = upstream.started_for(&request).await?;
            if request.method == Method::DISCOVER {
                let client = connected(&used)?;
                return Ok(described(&client));
            }
            if request.method == Method::INITIALIZED {
                let session = request.context.session.as_ref().map(Arc::downgrade);
                used.connection.shared.state.peers.lock().extend(session);
                return Ok(Response::empty());
            }
            used.connection.transport.clone().call(request).await
        })
    }
}

impl Upstream {
    /// Returns the service for a session of another kernel that begins with this request, once the server has started.
    ///
    /// # Errors
    /// Fails if the server is not connected.
    pub(crate) async fn accept_peer(
        self: &Arc<Self>,
        request: &Request,
        outbox: Outbox,
    ) -> Result<ServerEra<DecidedCalls>, Error> {
        let client = connected(&self.started_for(request).await?)?;
        let info = client.server_info().unwrap_or_else(|| Implementation::new(self.id.as_str(), ""));
        let mut identity = ServerIdentity::new(info);
        identity.mgp = client.session().and_then(|session| Some(session.mgp.as_ref()?.peer().clone()));
        Ok(ServerEraGate::new(Arc::new(identity), outbox).layer(DecidedCalls(Arc::clone(self))))
    }

    async fn started_for(&self, request: &Request) -> Result<UsedConnection, Error> {
        let used = self.connection_for(request)?;
        let start = &used.connection.shared.start;
        if !start.is_over() {
            start.awaited_by(&WaitingCall::of(request)).await;
        }
        Ok(used)
    }
}

fn connected(used: &UsedConnection) -> Result<Arc<ServerClient>, Error> {
    used.connection.client().ok_or_else(|| Error::disconnected("the server is not connected"))
}

/// Returns the description of a server by itself.
fn described(client: &ServerClient) -> Response {
    let mut described = Object::from([("capabilities", client.capabilities().to_raw())]);
    if let Some(instructions) = client.instructions() {
        described.set("instructions", RawJson::from_text(&instructions));
    }
    Response::plain(described.to_raw())
}

#[cfg(test)]
mod tests {
    use mgp_types::RequestKind;

    use super::*;
    use crate::test_kernel::{TestClient, TestKernel};

    #[tokio::test]
    async fn another_kernel_gets_the_description_of_the_server_and_hears_of_its_changes() {
        let scene = TestKernel::open().await;
        let _server = scene.server("files").await;
        let upstream = scene.fleet.get("files").unwrap();
        let peer = TestClient::begin(&scene, "other-kernel").await;
        let opening =
            r#"{"protocolVersion":"2025-11-25","clientInfo":{"name":"mgp","version":"1"},"capabilities":{}}"#;
        let request = peer.request("initialize", opening);
        let mut service = upstream.accept_peer(&request, peer.session.outbox.clone()).await.unwrap();
        let opened = service.call(request).await.unwrap();
        let opened = String::from_utf8(opened.to_raw().as_bytes().to_vec()).unwrap();
        assert!(opened.contains(r#""vendor":{"a":1}"#), "{opened}");
        let mut initialized = peer.request("notifications/initialized", "{}");
        initialized.kind = RequestKind::Notify;
        service.call(initialized).await.unwrap();
        let changed = Request::notify(Method::TOOLS_CHANGED, Object::new());
        upstream.first().unwrap().shared.tell_peers(&changed);
        assert_eq!(peer.next_message().await.method, Method::TOOLS_CHANGED);
    }
}
