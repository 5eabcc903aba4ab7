//! Tests of questions to clients that negotiated callbacks.

use std::time::Duration;

use mgp_types::mcp::Elicited;
use mgp_types::mgp::CallbackRequest;
use mgp_types::{Error, Method, Origin, Request, Revision, code};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower_service::Service as _;

use crate::callback::bench::{CallbackBench, session};
use crate::callback::{Callback, Confirmation};
use crate::doubles::{TestPort, raw, settle};

impl CallbackBench {
    fn asking<A: Send + 'static>(&self, question: Callback<A>) -> JoinHandle<Result<A, Error>> {
        let (callbacks, context) = (self.callbacks.clone(), self.context.clone());
        tokio::spawn(async move { callbacks.ask(&context, "key", question).await })
    }
}

// covers: MGP-13.1-01, MGP-13.4-02, MGP-13.4-03, MGP-13.4-05..10, MGP-13.4-12
#[tokio::test(start_paused = true)]
async fn a_confirmation_travels_on_the_stream_of_its_call_and_is_answered() {
    let bench = CallbackBench::with_callbacks();
    let question = "This operation will delete 15 files. Continue?";
    let asking = bench.asking(Callback::confirmation(question));
    settle().await;
    let id = bench.id();
    let expected = format!(
        "notifications/mgp.callback.request {{\"callback_id\":\"{id}\",\"type\":\"confirmation\",\
         \"message\":\"{question}\",\"options\":[\"confirm\",\"cancel\"],\"timeout_ms\":60000}}"
    );
    assert_eq!(bench.lines(), [expected]);
    assert_eq!(bench.port.streams()[0], bench.context.outbox.stream());
    let acknowledged = bench.respond(&id, r#""confirm""#).await.unwrap();
    assert_eq!(acknowledged, format!(r#"{{"callback_id":"{id}","accepted":true}}"#));
    assert_eq!(asking.await.unwrap().unwrap(), Confirmation::Confirmed);
}

// covers: MGP-13.4-11, MGP-13.4-13
#[tokio::test(start_paused = true)]
async fn an_input_may_be_any_json() {
    for json in [r#""Ada""#, "42", r#"{"name":"Ada"}"#, "[1,2]", "false"] {
        let bench = CallbackBench::with_callbacks();
        let asking = bench.asking(Callback::input("Who?"));
        settle().await;
        bench.respond(&bench.id(), json).await.unwrap();
        assert_eq!(asking.await.unwrap().unwrap(), Elicited::Accepted(raw(json)), "{json}");
    }
}

// covers: MGP-13.4-14
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_option_is_refused_and_the_question_stays_open() {
    let bench = CallbackBench::with_callbacks();
    let asking = bench.asking(Callback::selection("Which?", ["main", "next"]));
    settle().await;
    for wrong in [r#""other""#, "1", r#"{"option":"next"}"#] {
        let refused = bench.respond(&bench.id(), wrong).await.unwrap_err();
        assert_eq!(refused.code(), code::INVALID_PARAMS);
        assert!(refused.message().contains("options"), "{refused}");
    }
    bench.respond(&bench.id(), r#""next""#).await.unwrap();
    let choice = asking.await.unwrap().unwrap().accepted().unwrap();
    assert_eq!((choice.index, &*choice.option), (1, "next"));
}

// covers: MGP-13.4-15
#[tokio::test(start_paused = true)]
async fn a_notification_waits_for_nothing_and_bears_an_answer() {
    let bench = CallbackBench::with_callbacks();
    let before = Instant::now();
    bench.callbacks.ask(&bench.context, "key", Callback::notification("Done.")).await.unwrap();
    assert_eq!(Instant::now(), before);
    let id = bench.id();
    let line = format!(
        r#"notifications/mgp.callback.request {{"callback_id":"{id}","type":"notification","message":"Done."}}"#
    );
    sleep(Duration::from_mins(1)).await;
    assert_eq!(bench.lines(), [line], "it is not sent again");
    assert!(bench.respond(&id, "null").await.unwrap().contains("true"));
    assert_eq!(bench.callbacks.len().0, 0);
}

// covers: MGP-13.4-08
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_with_3003_in_time() {
    let bench = CallbackBench::with_callbacks();
    let before = Instant::now();
    let question = Callback::confirmation("Sure?").timeout(Duration::from_secs(7));
    let late = bench.callbacks.ask(&bench.context, "key", question).await.unwrap_err();
    assert_eq!((late.code(), late.origin()), (code::TIMEOUT, Origin::Timeout));
    assert!(late.recovery().is_some());
    assert_eq!(before.elapsed().as_secs(), 7);
    assert_eq!(bench.callbacks.len(), (0, 0));
    assert_eq!(bench.lines().len(), 2, "once, and again after five seconds");
    assert!(bench.lines()[0].contains(r#""timeout_ms":7000"#));
    let answered = bench.respond(&bench.id(), r#""confirm""#).await.unwrap_err();
    assert_eq!(answered.code(), code::INVALID_PARAMS);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_sent_again_three_times_under_the_same_id_until_it_is_answered() {
    let bench = CallbackBench::with_callbacks();
    let asking = bench.asking(Callback::confirmation("Sure?"));
    for sent in [1, 2, 3, 4, 4, 4] {
        settle().await;
        assert_eq!(bench.ids().len(), sent);
        sleep(Duration::from_secs(5)).await;
    }
    bench.id();
    bench.respond(&bench.id(), "true").await.unwrap();
    assert!(asking.await.unwrap().unwrap().is_confirmed());
}

#[tokio::test(start_paused = true)]
async fn an_answered_question_is_not_sent_again_and_its_answer_may_be() {
    let bench = CallbackBench::with_callbacks();
    let asking = bench.asking(Callback::confirmation("Sure?"));
    settle().await;
    let id = bench.id();
    let first = bench.respond(&id, r#""confirm""#).await.unwrap();
    assert!(asking.await.unwrap().unwrap().is_confirmed());
    sleep(Duration::from_secs(20)).await;
    assert_eq!(bench.ids().len(), 1);
    assert_eq!(bench.respond(&id, r#""confirm""#).await.unwrap(), first);
    let changed = bench.respond(&id, r#""cancel""#).await.unwrap();
    assert_eq!(changed, format!(r#"{{"callback_id":"{id}","accepted":false}}"#));
    sleep(Duration::from_mins(11)).await;
    assert_eq!(bench.respond(&id, r#""confirm""#).await.unwrap_err().code(), code::INVALID_PARAMS);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_question_is_taken_back() {
    let bench = CallbackBench::with_callbacks();
    let asking = bench.asking(Callback::confirmation("Sure?"));
    settle().await;
    assert_eq!(bench.callbacks.len(), (1, 0));
    asking.abort();
    assert!(asking.await.is_err());
    assert_eq!(bench.callbacks.len(), (0, 0));
    assert_eq!(bench.respond(&bench.id(), "true").await.unwrap_err().code(), code::INVALID_PARAMS);
}

#[tokio::test(start_paused = true)]
async fn ids_cannot_be_guessed() {
    let bench = CallbackBench::with_callbacks();
    let _asking = [bench.asking(Callback::input("a")), bench.asking(Callback::input("b"))];
    settle().await;
    let ids = bench.ids();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 35), "{ids:?}");
    assert!(ids.iter().all(|id| id.len() <= CallbackRequest::MAX_ID_BYTES));
}

#[tokio::test(start_paused = true)]
async fn the_whole_extension_stands_for_callbacks() {
    let bench = CallbackBench::new(session(Revision::V2025_11_25, &["bidirectional"], "{}"), TestPort::new());
    let asking = bench.asking(Callback::confirmation("Sure?"));
    settle().await;
    bench.respond(&bench.id(), "false").await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap(), Confirmation::Declined);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_callbacks_is_answered_without_the_extension() {
    for extensions in [&[][..], &["events"]] {
        let bench = CallbackBench::new(session(Revision::V2025_11_25, extensions, "{}"), TestPort::new());
        let passed = bench.respond("cb", "true").await.unwrap_err();
        assert_eq!(passed.code(), code::METHOD_NOT_FOUND, "{extensions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_without_its_members_is_refused() {
    let mut bench = CallbackBench::with_callbacks();
    for params in ["{}", r#"{"callback_id":"a"}"#, r#"{"callback_id":1,"response":1}"#] {
        let params = mgp_types::Object::parse(params.to_owned()).unwrap();
        let mut request = Request::call(Method::new("mgp/callback/respond"), params);
        *request.context = bench.context.clone();
        assert_eq!(bench.server.call(request).await.unwrap_err().code(), code::INVALID_PARAMS);
    }
}
