//! Property tests: no message of a peer breaks the responder or the relay.

use std::time::Duration;

use mgp_types::mgp::{CallbackRequest, ServerId, method};
use mgp_types::{Context, Object, Outbox, RawJson, Request, StreamId, code};
use proptest::prelude::*;
use tokio::time::{Instant, sleep};
use tower_layer::Layer;
use tower_service::Service;

use crate::callback::bench::CallbackBench;
use crate::callback::{
    Callback, CallbackInbound, CallbackInboundLayer, CallbackRelay, CallbackResponder, CallbackService,
    Callbacks, Confirmation,
};
use crate::doubles::{self, TestServer, settle};

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        ".{0,20}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        "(confirm|yes|cancel|no)".prop_map(|word| format!("{word:?}")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            inner.prop_map(|value| format!(r#"{{"a":{value}}}"#)),
        ]
    })
}

/// Returns parameters of a callback request, of which any member may be missing or have any value.
fn params() -> impl Strategy<Value = Object> {
    const MEMBERS: &[&str] = &["callback_id", "type", "message", "options", "timeout_ms", "request_id", "x"];
    proptest::collection::btree_map(proptest::sample::select(MEMBERS), json(), 0..7).prop_map(|members| {
        let mut object = Object::new();
        for (name, value) in members {
            object.set(name, RawJson::parse(value).unwrap());
        }
        object
    })
}

fn run(work: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(work);
}

proptest! {
    #[test]
    fn a_request_that_is_read_is_written_as_it_was_read(params in params()) {
        if let Some(request) = CallbackRequest::read(&params) {
            prop_assert_eq!(CallbackRequest::read(&request.to_params()), Some(request));
        }
    }

    #[test]
    fn only_a_plain_yes_confirms(response in json()) {
        run(async {
            let bench = CallbackBench::with_callbacks();
            let (callbacks, context) = (bench.callbacks.clone(), bench.context.clone());
            let question = Callback::confirmation("Sure?");
            let asking = tokio::spawn(async move { callbacks.ask(&context, "key", question).await });
            settle().await;
            bench.respond(&bench.id(), &response).await.unwrap();
            let is_yes = ["true", r#""confirm""#, r#""yes""#, r#""true""#].contains(&&*response);
            let expected = asking.await.unwrap().unwrap() == Confirmation::Confirmed;
            assert_eq!(expected, is_yes, "{response}");
        });
    }

    #[test]
    fn whatever_servers_ask_is_answered_or_dropped(asked in proptest::collection::vec(params(), 1..6)) {
        run(async {
            let mut relay = CallbackRelay::new();
            let bench = CallbackBench::with_callbacks();
            let responder = CallbackResponder::new(async |_: CallbackRequest, _: Context| Some(RawJson::null()));
            let mut inbound = CallbackInboundLayer::new(responder.of_server(ServerId::from("s"))).layer(doubles::knowing_nothing());
            for params in &asked {
                let mut request = Request::notify(method::CALLBACK_REQUEST, params.clone());
                request.context.session.clone_from(&bench.context.session);
                request.context.outbox = Outbox::on(StreamId::fresh());
                let context = request.context.clone();
                inbound.call(request).await.unwrap();
                let passed = relay.pass_on(&ServerId::from("s"), &context, params, Instant::now());
                match CallbackRequest::read(params) {
                    Some(_) => assert!(relay.route(&context, &passed.unwrap(), Instant::now()).is_some()),
                    None => assert_eq!(passed.unwrap_err().code(), code::INVALID_PARAMS),
                }
            }
            sleep(Duration::from_secs(1)).await;
        });
    }
}

#[test]
fn static_property_both_sides_are_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Callbacks>();
    shared::<Callback<Confirmation>>();
    shared::<CallbackService<TestServer>>();
    shared::<CallbackResponder>();
    shared::<CallbackInbound<TestServer>>();
    shared::<CallbackRelay>();
}
