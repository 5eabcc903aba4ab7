//! Tests of questions to clients that speak MCP only.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mcp::Elicited;
use mgp_types::{InputExchange, Method, Object, Origin, RawJson, Revision, Severity, code};

use crate::callback::bench::{CallbackBench, session};
use crate::callback::{Callback, Confirmation};
use crate::doubles::{TestPort, raw, settle};

const ASKABLE: &str = r#"{"elicitation":{}}"#;

fn plain(port: Arc<TestPort>) -> CallbackBench {
    CallbackBench::new(session(Revision::V2025_11_25, &[], ASKABLE), port)
}

fn stateless(answers: &str, extensions: &[&str], capabilities: &str) -> (CallbackBench, Arc<InputExchange>) {
    let mut bench =
        CallbackBench::new(session(Revision::V2026_07_28, extensions, capabilities), TestPort::new());
    let exchange = Arc::new(InputExchange::new(Object::parse(answers.to_owned()).unwrap()));
    bench.context.input = Some(exchange.clone());
    (bench, exchange)
}

// covers: MGP-13.4-12
#[tokio::test(start_paused = true)]
async fn a_confirmation_is_a_form_with_one_box() {
    for (answer, expected) in [
        (r#"{"action":"accept","content":{"answer":true}}"#, Confirmation::Confirmed),
        (r#"{"action":"accept","content":{"answer":false}}"#, Confirmation::Declined),
        (r#"{"action":"decline"}"#, Confirmation::Declined),
        (r#"{"action":"cancel"}"#, Confirmation::Cancelled),
    ] {
        let bench = plain(TestPort::answering(answer));
        let question = Callback::confirmation("Sure?");
        let outcome = bench.callbacks.ask(&bench.context, "key", question).await.unwrap();
        assert_eq!(outcome, expected, "{answer}");
        let asked = bench.port.called.lock()[0].clone();
        assert_eq!((asked.method, asked.params.text("message").as_deref()), (Method::ELICIT, Some("Sure?")));
        assert!(bench.lines().is_empty(), "nothing of MGP is sent");
    }
}

// covers: MGP-13.4-13, MGP-13.4-14
#[tokio::test(start_paused = true)]
async fn an_input_is_a_text_and_a_selection_one_of_its_options() {
    let bench = plain(TestPort::answering(r#"{"action":"accept","content":{"answer":"next"}}"#));
    let input = bench.callbacks.ask(&bench.context, "a", Callback::input("Which?")).await.unwrap();
    assert_eq!(input, Elicited::Accepted(raw(r#""next""#)));
    let question = Callback::selection("Which?", ["main", "next"]);
    let choice = bench.callbacks.ask(&bench.context, "b", question).await.unwrap();
    assert_eq!(choice.accepted().map(|choice| choice.index), Some(1));
    let question = Callback::selection("Which?", ["main"]);
    let refused = bench.callbacks.ask(&bench.context, "c", question).await.unwrap_err();
    assert_eq!(refused.code(), code::INVALID_PARAMS);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_answered_ends_in_time() {
    let bench = plain(TestPort::new());
    let question = Callback::input("Who?").timeout(Duration::from_secs(3));
    let late = bench.callbacks.ask(&bench.context, "key", question).await.unwrap_err();
    assert_eq!((late.code(), late.origin()), (code::TIMEOUT, Origin::Timeout));
}

// covers: MGP-13.4-15
#[tokio::test(start_paused = true)]
async fn a_notification_is_a_log_message_for_those_who_want_it() {
    let bench = plain(TestPort::new());
    let tell = || bench.callbacks.ask(&bench.context, "key", Callback::notification("Done."));
    tell().await.unwrap();
    assert!(bench.lines().is_empty());
    bench.context.session.as_ref().unwrap().set_log_level(Severity::named("info"));
    tell().await.unwrap();
    assert_eq!(bench.lines(), [r#"notifications/message {"level":"info","data":"Done."}"#]);
    assert_eq!(bench.callbacks.len(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_be_asked_is_told_what_it_lacks() {
    for (revision, expected) in [
        (Revision::V2025_11_25, code::INVALID_REQUEST),
        (Revision::V2026_07_28, code::MISSING_CLIENT_CAPABILITY),
    ] {
        let bench = CallbackBench::new(session(revision, &[], "{}"), TestPort::new());
        let question = Callback::confirmation("Sure?");
        let refused = bench.callbacks.ask(&bench.context, "key", question).await.unwrap_err();
        assert_eq!(refused.code(), expected);
        let lacks = refused.data().unwrap().as_bytes();
        assert_eq!(lacks, br#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn without_sessions_the_answer_comes_with_the_next_round() {
    let ask = |answers: &'static str| async move {
        let (bench, exchange) = stateless(answers, &["callbacks"], ASKABLE);
        let outcome = bench.callbacks.ask(&bench.context, "sure", Callback::confirmation("Sure?")).await;
        assert!(bench.lines().is_empty());
        (outcome, exchange.take_questions())
    };
    let (first, questions) = ask("{}").await;
    assert_eq!(first.unwrap_err().origin(), Origin::InputRequired);
    assert_eq!((&*questions[0].key, &questions[0].method), ("sure", &Method::ELICIT));
    let (second, questions) = ask(r#"{"sure":{"action":"accept","content":{"answer":true}}}"#).await;
    assert_eq!((second.unwrap(), questions.len()), (Confirmation::Confirmed, 0));
}

#[tokio::test(start_paused = true)]
async fn without_sessions_and_forms_a_callback_is_sent_on_the_stream_of_the_request() {
    let (bench, exchange) = stateless("{}", &["callbacks"], "{}");
    let (callbacks, context) = (bench.callbacks.clone(), bench.context.clone());
    let asking =
        tokio::spawn(async move { callbacks.ask(&context, "sure", Callback::confirmation("Sure?")).await });
    settle().await;
    assert_eq!(bench.port.streams()[0], bench.context.outbox.stream());
    bench.respond(&bench.id(), "true").await.unwrap();
    assert!(asking.await.unwrap().unwrap().is_confirmed());
    assert!(exchange.take_questions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_way_back_is_not_waited_for() {
    let mut bench =
        CallbackBench::new(session(Revision::V2025_11_25, &["callbacks"], ASKABLE), TestPort::new());
    bench.context.outbox = mgp_types::Outbox::CLOSED;
    let refused = bench.callbacks.ask(&bench.context, "key", Callback::input("Who?")).await.unwrap_err();
    assert_eq!(refused.code(), code::INVALID_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_belongs_to_no_session_asks_nothing() {
    let mut bench = plain(TestPort::answering("{}"));
    bench.context.session = None;
    let refused =
        bench.callbacks.ask(&bench.context, "key", Callback::<Elicited<RawJson>>::input("Who?")).await;
    assert_eq!(refused.unwrap_err().code(), code::INVALID_REQUEST);
    assert!(bench.port.called.lock().is_empty());
}
