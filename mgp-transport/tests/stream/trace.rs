//! The spans and fields that a subscriber gets for each request.

use mgp_transport::TraceLayer;
use mgp_types::{Params, Request};
use tower_layer::Layer;
use tower_service::Service;
use tracing::Level;

use crate::support::{Does, Notes, answer};

#[tokio::test]
async fn a_span_tells_what_was_asked_and_how_it_ended_but_not_with_what() {
    let notes = Notes::up_to(Level::TRACE);
    let subscriber = tracing::subscriber::set_default(notes.clone());
    let mut service = TraceLayer::new().layer(Does(answer));
    let params = Params::parse(r#"{"name":"echo","arguments":{"secret":"hunter2"}}"#).unwrap();
    service.call(Request::call("tools/call", params)).await.unwrap();
    service.call(Request::call("no/such", Params::new())).await.unwrap_err();
    drop(subscriber);

    let notes = notes.noted();
    for expected in
        ["rpc", "method=tools/call", "kind=\"call\"", "tool=\"echo\"", "outcome=\"ok\"", "code=-32601"]
    {
        assert!(notes.iter().any(|note| note == expected), "{expected} is missing: {notes:?}");
    }
    assert!(!notes.iter().any(|note| note.contains("hunter2")));
}
