//! The spans and fields that a subscriber gets for each request.

mod support;

use std::fmt::Debug;
use std::sync::Arc;

use mgp_transport::TraceLayer;
use mgp_types::{Params, Request};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A subscriber that writes down every field of every span.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Visit for Notes {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.lock().push(span.metadata().name().to_owned());
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_span_tells_what_was_asked_and_how_it_ended_but_not_with_what() {
    let notes = Notes::default();
    let subscriber = tracing::subscriber::set_default(notes.clone());
    let mut service = TraceLayer::new().layer(support::Stub);
    let params = Params::parse(r#"{"name":"echo","arguments":{"secret":"hunter2"}}"#).unwrap();
    service.call(Request::call("tools/call", params)).await.unwrap();
    service.call(Request::call("no/such", Params::new())).await.unwrap_err();
    drop(subscriber);

    let notes = notes.0.lock();
    for expected in
        ["rpc", "method=tools/call", "kind=\"call\"", "tool=\"echo\"", "outcome=\"ok\"", "code=-32601"]
    {
        assert!(notes.iter().any(|note| note == expected), "{expected} is missing: {notes:?}");
    }
    assert!(!notes.iter().any(|note| note.contains("hunter2")));
}
