mod calls;
mod failing;
mod forwarding;
mod refusals;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{AuditEvent, AuditPort, EventType, Outcome};
use mgp_types::{BoxFuture, Error, Object, RawJson, Request, Response};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use super::{Audit, AuditLayer};

/// A port that keeps batches, and can be told to take none.
#[derive(Debug, Default)]
struct Kept {
    batches: Mutex<Vec<Vec<AuditEvent>>>,
    shut: Mutex<Option<Error>>,
    fails: Mutex<Option<Error>>,
}

impl Kept {
    fn events(&self) -> Vec<AuditEvent> {
        self.batches.lock().concat()
    }

    fn only(&self) -> AuditEvent {
        let mut events = self.events();
        assert_eq!(events.len(), 1, "{events:?}");
        events.remove(0)
    }
}

impl AuditPort for Kept {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        self.record_all(vec![event])
    }

    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        let outcome = self.fails.lock().clone().map_or(Ok(()), Err);
        if outcome.is_ok() {
            self.batches.lock().push(events);
        }
        Box::pin(async { outcome })
    }

    fn check(&self) -> Result<(), Error> {
        self.shut.lock().clone().map_or(Ok(()), Err)
    }
}

/// A service that does what it is told with a request.
#[derive(Clone)]
struct Does(Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync>);

impl Does {
    fn new(answer: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |request| {
            let answer = answer(&request);
            Box::pin(async { answer })
        }))
    }

    fn result(json: &'static str) -> Self {
        Self::new(move |_| Ok(Response::new(RawJson::parse(json).unwrap())))
    }
}

impl Service<Request> for Does {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.0)(request)
    }
}

fn over(inner: Does) -> (Audit<Does>, Arc<Kept>) {
    let kept = Arc::<Kept>::default();
    (AuditLayer::new(Arc::clone(&kept)).for_server("tool.terminal".into()).layer(inner), kept)
}

fn request(method: &str, params: &str) -> Request {
    Request::call(method, Object::parse(params.to_owned()).unwrap())
}

fn call() -> Request {
    request("tools/call", r#"{"name":"execute_command","arguments":{"command":"ls"}}"#)
}

fn told(event: &AuditEvent) -> (&str, Outcome) {
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
    sent::<Audit<Does>>();
    sent::<AuditLayer>();
    moved::<super::AuditFuture<BoxFuture<'static, Result<Response, Error>>>>();
}
