//! A server behind the layer, and one client of it, for tests.

use std::sync::Arc;

use mgp_types::mgp::method;
use mgp_types::{Context, Error, Method, Principal, RawJson, Request, Revision, Session};
use tower_layer::Layer;
use tower_service::Service;

use super::{CallbackLayer, CallbackService, Callbacks};
use crate::doubles::{self, TestPort, TestServer, object, raw, text};

pub(super) struct CallbackBench {
    pub(super) callbacks: Callbacks,
    pub(super) port: Arc<TestPort>,
    /// The context of the call in which the server asks.
    pub(super) context: Context,
    pub(super) server: CallbackService<TestServer>,
}

impl CallbackBench {
    pub(super) fn new(session: Session, port: Arc<TestPort>) -> Self {
        let callbacks = Callbacks::new();
        let mut context = Context::default();
        context.session = Some(Arc::new(session));
        context.principal = Some(Principal::new("agent"));
        context.outbox = port.outbox();
        let server = CallbackLayer::new(callbacks.clone()).layer(doubles::knowing_nothing());
        Self { callbacks, port, context, server }
    }

    /// Creates a bench whose session has callbacks.
    pub(super) fn with_callbacks() -> Self {
        Self::new(session(Revision::V2025_11_25, &["callbacks"], "{}"), TestPort::new())
    }

    /// Returns the answer that a client gets which responds in `context`.
    pub(super) async fn respond_as(&self, context: &Context, id: &str, json: &str) -> Result<String, Error> {
        let mut params = object(r#"{"callback_id":""}"#);
        params.set("callback_id", RawJson::from_value(id).unwrap());
        params.set("response", raw(json));
        let mut request = Request::call(Method::new(method::CALLBACK_RESPOND), params);
        request.context.session.clone_from(&context.session);
        request.context.principal.clone_from(&context.principal);
        Ok(text(&self.server.clone().call(request).await?.to_raw()))
    }

    pub(super) async fn respond(&self, id: &str, json: &str) -> Result<String, Error> {
        self.respond_as(&self.context, id, json).await
    }

    /// Returns the messages that the client was sent, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |request: &Request| format!("{} {}", request.method, text(&request.params.to_raw()));
        self.port.sent().iter().map(line).collect()
    }

    /// Returns the ids of the callbacks that the client was sent.
    pub(super) fn ids(&self) -> Vec<String> {
        let sent = self.port.sent();
        let asked = sent.iter().filter(|request| request.method == *method::CALLBACK_REQUEST);
        asked.map(|request| request.params.text("callback_id").unwrap().into_owned()).collect()
    }

    /// Returns the id of the only callback so far, however often it was sent.
    pub(super) fn id(&self) -> String {
        let mut ids = self.ids();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids.remove(0)
    }
}

/// Returns a session with these extensions and capabilities.
pub(super) fn session(revision: Revision, extensions: &[&str], capabilities: &str) -> Session {
    let mut session = doubles::session(revision, extensions);
    session.capabilities = object(capabilities);
    session
}
