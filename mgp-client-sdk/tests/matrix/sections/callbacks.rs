//! Questions in the middle of calls (§13.4).

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Elicited;
use mgp_types::mgp::{CallbackRequest, CallbackType};
use mgp_types::{Context, RawJson};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{builder, plain_builder};
use crate::host::{Kind, say};
use crate::leg::{Connected, Leg};
use crate::runner::tests;
use crate::sections::raw::Raw;

tests![
    questions_are_answered_by_the_handler_of_callbacks,
    whoever_speaks_mcp_only_is_asked_as_mcp_asks,
    a_question_that_nobody_answers_ends_in_time,
    two_clients_answer_their_own_questions if Leg::is_shared,
    a_question_on_the_wire_is_as_the_specification_has_it if is_session_in_memory,
];

fn is_session_in_memory(leg: Leg) -> bool {
    leg.is_memory() && !leg.is_stateless()
}

/// The questions, in words.
type Asked = Arc<Mutex<Vec<String>>>;

/// Answers each question with what its type suggests.
fn answering(
    asked: &Asked,
) -> impl Fn(CallbackRequest, Context) -> std::future::Ready<Option<RawJson>> + Send + Sync + use<> {
    let asked = asked.clone();
    move |request, _| {
        asked.lock().push(format!(
            "{}: {} {:?}",
            request.callback_type.as_str(),
            request.message,
            request.options
        ));
        let answer = match request.callback_type {
            CallbackType::Confirmation => json!("confirm"),
            CallbackType::Input => json!("Ada"),
            CallbackType::Selection => json!("next"),
            _ => return std::future::ready(None),
        };
        std::future::ready(RawJson::from_value(&answer).ok())
    }
}

async fn ask_all(client: &Connected) -> [String; 4] {
    [
        say(client, "delete").await,
        say(client, "name").await,
        say(client, "choose").await,
        say(client, "remark").await,
    ]
}

async fn until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never was");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

// covers: MGP-13.4-01, MGP-13.4-05..07, MGP-13.4-12..15
async fn questions_are_answered_by_the_handler_of_callbacks(leg: Leg) {
    let asked = Asked::default();
    let mut host = leg.host(Kind::Sections).await;
    let client = host.client(builder().on_callback(answering(&asked))).await;
    assert_eq!(ask_all(&client).await, ["confirmed", "Ada", "1 next", "remarked"]);
    until(|| asked.lock().len() == 4).await;
    assert_eq!(
        *asked.lock(),
        [
            r#"confirmation: This operation will delete 15 files. Continue? ["confirm", "cancel"]"#,
            "input: Who? []",
            r#"selection: Which branch? ["main", "next"]"#,
            "notification: The index is old. []",
        ]
    );
}

/// Returns the answer of a user of MCP: yes, a name, the second.
fn filled(message: &str) -> Value {
    match message {
        "Who?" => json!({"answer": "Ada"}),
        "Which branch?" => json!({"answer": "next"}),
        _ => json!({"answer": true}),
    }
}

async fn elicits(leg: Leg, kind: Kind, builder: crate::leg::Builder) {
    if leg.revision < mgp_types::Revision::V2025_06_18 {
        // Nobody could be asked then.
        return;
    }
    let builder = builder.on_elicitation(|form, _| async move { Elicited::Accepted(filled(&form.message)) });
    let mut host = leg.host(kind).await;
    let client = host.client(builder).await;
    assert_eq!(ask_all(&client).await, ["confirmed", "Ada", "1 next", "remarked"], "{kind:?}");
}

// covers: MGP-13.4-01, MGP-13.4-12..15
async fn whoever_speaks_mcp_only_is_asked_as_mcp_asks(leg: Leg) {
    elicits(leg, Kind::Sections, plain_builder()).await;
    elicits(leg, Kind::Sectionless, plain_builder()).await;
    // The same goes for a client that speaks MGP without callbacks.
    elicits(leg, Kind::Sections, builder()).await;
}

// covers: MGP-13.4-08, MGP-14.3-13
async fn a_question_that_nobody_answers_ends_in_time(leg: Leg) {
    let mut host = leg.host(Kind::Sections).await;
    let client = host.client(builder().on_callback(|_, _| std::future::pending())).await;
    let error = client.call_tool("hurry", ()).await.unwrap_err();
    assert_eq!(error.code(), 3003, "{error:?}");
    assert_eq!(error.recovery().unwrap().retryable, Some(true));
    assert_eq!(say(&client, "add").await, "0");
}

async fn two_clients_answer_their_own_questions(leg: Leg) {
    let mut host = leg.host(Kind::Sections).await;
    let yes = host.client(builder().on_callback(|_, _| async { RawJson::from_value(&"confirm").ok() })).await;
    let no = host.client(builder().on_callback(|_, _| async { RawJson::from_value(&"no").ok() })).await;
    for _ in 0..10 {
        let (of_yes, of_no) = tokio::join!(say(&yes, "delete"), say(&no, "delete"));
        assert_eq!((&*of_yes, &*of_no), ("confirmed", "declined"));
    }
}

const REQUEST: &str = "notifications/mgp.callback.request";

// covers: MGP-13.4-02..11
async fn a_question_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, &["callbacks"]).await;
    raw.call("a-call", "delete", json!({}), json!(null)).await;
    let mut params = raw.next_notification(REQUEST).await["params"].clone();
    let id = params["callback_id"].take();
    assert_eq!(
        params,
        json!({
            "callback_id": null, "request_id": "a-call", "type": "confirmation",
            "message": "This operation will delete 15 files. Continue?",
            "options": ["confirm", "cancel"], "timeout_ms": 60000,
        })
    );
    raw.ask(32, "mgp/callback/respond", json!({"callback_id": id, "response": "confirm"})).await;
    assert_eq!(raw.answer(32).await["result"], json!({"callback_id": id, "accepted": true}));
    assert_eq!(raw.answer("a-call").await["result"]["content"][0]["text"], "confirmed");

    raw.call(33, "remark", json!({}), json!(null)).await;
    let notification = raw.next_notification(REQUEST).await["params"].clone();
    assert_eq!((&notification["type"], &notification["request_id"]), (&json!("notification"), &json!(33)));
    assert!(notification.get("timeout_ms").is_none(), "{notification}");
    assert_eq!(raw.answer(33).await["result"]["content"][0]["text"], "remarked");
}
