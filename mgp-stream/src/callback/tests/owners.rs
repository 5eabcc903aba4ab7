//! Tests of who may answer a question.

use std::sync::Arc;

use mgp_types::{Context, Principal, Revision, code};
use tokio::task::JoinHandle;

use crate::callback::bench::{CallbackBench, session};
use crate::callback::{Callback, Confirmation};
use crate::doubles::{TestPort, settle};

fn asking(bench: &CallbackBench) -> JoinHandle<Confirmation> {
    let (callbacks, context) = (bench.callbacks.clone(), bench.context.clone());
    let question = Callback::confirmation("Sure?");
    tokio::spawn(async move { callbacks.ask(&context, "key", question).await.unwrap() })
}

/// Returns contexts of the same client in another session, and of another client in the same session.
fn others(context: &Context) -> [Context; 3] {
    let mut in_another = context.clone();
    in_another.session = Some(Arc::new(session(Revision::V2025_11_25, &["callbacks"], "{}")));
    let mut another = context.clone();
    another.principal = Some(Principal::new("another"));
    let mut nobody = context.clone();
    nobody.principal = None;
    [in_another, another, nobody]
}

#[tokio::test(start_paused = true)]
async fn for_others_than_who_was_asked_a_callback_does_not_exist() {
    let bench = CallbackBench::with_callbacks();
    let asking = asking(&bench);
    settle().await;
    let id = bench.id();
    let never = bench.respond("cb-0", "true").await.unwrap_err();
    for other in others(&bench.context) {
        let refused = bench.respond_as(&other, &id, "true").await.unwrap_err();
        assert_eq!(refused.code(), code::INVALID_PARAMS);
        assert_eq!(refused.message(), never.message());
    }
    assert!(!asking.is_finished());
    bench.respond(&id, "true").await.unwrap();
    assert!(asking.await.unwrap().is_confirmed());
    for other in others(&bench.context) {
        let refused = bench.respond_as(&other, &id, "true").await.unwrap_err();
        assert_eq!(refused.message(), never.message(), "an answered one as little as an open one");
    }
}

#[tokio::test(start_paused = true)]
async fn without_sessions_the_principal_may_answer_in_another_request() {
    let stateless = || session(Revision::V2026_07_28, &["callbacks"], "{}");
    let bench = CallbackBench::new(stateless(), TestPort::new());
    let asking = asking(&bench);
    settle().await;
    let mut request = bench.context.clone();
    request.session = Some(Arc::new(stateless()));
    let mut another = request.clone();
    another.principal = Some(Principal::new("another"));
    assert!(bench.respond_as(&another, &bench.id(), "true").await.is_err());
    bench.respond_as(&request, &bench.id(), "true").await.unwrap();
    assert!(asking.await.unwrap().is_confirmed());
}
