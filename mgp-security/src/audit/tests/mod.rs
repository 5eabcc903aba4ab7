mod calls;
mod failing;
mod forwarding;
mod refusals;

use std::sync::Arc;

use mgp_types::mgp::{AuditEvent, EventType, Outcome};
use mgp_types::{BoxFuture, Error, Object, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::{Audit, AuditLayer};
use crate::doubles::{RecordingAuditPort, TestServer};

fn over(inner: TestServer) -> (Audit<TestServer>, Arc<RecordingAuditPort>) {
    let kept = Arc::<RecordingAuditPort>::default();
    (AuditLayer::new(kept.clone()).for_server("tool.terminal".into()).layer(inner), kept)
}

fn request(method: &str, params: &str) -> Request {
    Request::call(method, Object::parse(params.to_owned()).unwrap())
}

fn call() -> Request {
    request("tools/call", r#"{"name":"execute_command","arguments":{"command":"ls"}}"#)
}

fn name_and_outcome(event: &AuditEvent) -> (&str, Outcome) {
    let name = match &event.event_type {
        EventType::Custom(name) => name,
        standard => standard.as_str(),
    };
    (name, event.result)
}

#[test]
fn static_property_the_service_goes_between_threads() {
    fn sent<T: Send + Sync + Clone + 'static>() {}
    fn moved<T: Send + 'static>() {}
    sent::<Audit<TestServer>>();
    sent::<AuditLayer>();
    moved::<super::layer::AuditFuture<BoxFuture<'static, Result<Response, Error>>>>();
}
