//! State that clients carry from call to call for the server.

use std::time::Duration;

use crate::peer::{Era, Peer, declaring, speaking};
use mgp_server_sdk::types::{Error, code};
use mgp_server_sdk::{Cx, SealingKey, Server, Tool, ToolError};
use serde_json::{Value, json};

const IDLE: Duration = Duration::from_mins(30);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Edit {
    /// The paragraph to add; the document is ended without one.
    paragraph: Option<String>,
}

/// Adds a paragraph to the document of the conversation, and returns all of it.
async fn edit(Edit { paragraph }: Edit, cx: Cx) -> Result<String, ToolError> {
    let mut paragraphs: Vec<String> = cx.session_state()?.unwrap_or_default();
    match paragraph {
        Some(paragraph) => {
            paragraphs.push(paragraph);
            cx.set_session_state(&paragraphs)?;
        }
        None => cx.end_session(),
    }
    Ok(paragraphs.join("|"))
}

async fn show(cx: Cx) -> Result<String, ToolError> {
    Ok(cx.session_state::<Vec<String>>()?.unwrap_or_default().join("|"))
}

fn named(name: &str) -> Server {
    Server::new(name, "1.0.0")
        .mgp(mgp_server_sdk::mgp::Offer::new(mgp_server_sdk::mgp::ExtensionSet::new()))
        .sealing_key(SealingKey::new([7; 32]))
        .session_state(IDLE)
        .tool(Tool::new("edit", "Adds a paragraph."), edit)
        .tool(Tool::new("show", "Shows the document."), show)
        .tool(Tool::new("plain", "Knows no state."), async || "plain")
}

fn server() -> Server {
    named("docs")
}

/// Connects as a client that carries state, and speaks MGP so that it is told of events.
async fn client(server: Server, era: Era) -> Peer {
    let capabilities = speaking(era, &[], &["session_state"]);
    Peer::silent(server, era, capabilities).await
}

async fn call(peer: &mut Peer, tool: &str, arguments: Value, state: &Value) -> Result<Value, Error> {
    let mut params = json!({"name": tool, "arguments": arguments, "_meta": {}});
    if !state.is_null() {
        params["_meta"]["session_state"] = state.clone();
    }
    peer.call("tools/call", params).await
}

async fn add(peer: &mut Peer, paragraph: &str, state: &Value) -> Result<Value, Error> {
    call(peer, "edit", json!({"paragraph": paragraph}), state).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn state(result: &Value) -> Value {
    assert!(result["_meta"]["session_state"].is_string(), "{result}");
    result["_meta"]["session_state"].clone()
}

// covers: EXT-14-01, EXT-14-05
#[tokio::test]
async fn a_sequence_of_edits_works_without_the_context_in_each_call() {
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let first = add(&mut peer, "one", &Value::Null).await.unwrap();
        assert_eq!(first["_meta"]["state_changed"], true);
        let second = add(&mut peer, "two", &state(&first)).await.unwrap();
        assert_eq!(text(&second), "one|two");
        assert_ne!(state(&first), state(&second));
        let shown = call(&mut peer, "show", json!({}), &state(&second)).await.unwrap();
        assert_eq!((text(&shown), &shown["_meta"]["state_changed"]), ("one|two", &json!(false)));
        // A tool that knows no state passes it on, and the conversation lasts.
        let plain = call(&mut peer, "plain", json!({}), &state(&shown)).await.unwrap();
        let third = add(&mut peer, "three", &state(&plain)).await.unwrap();
        assert_eq!(text(&third), "one|two|three");
        // An older state is still one: the client may go back to it.
        let other = add(&mut peer, "other", &state(&first)).await.unwrap();
        assert_eq!(text(&other), "one|other");
    }
}

// covers: EXT-14-11
#[tokio::test]
async fn nothing_is_said_of_state_where_a_side_has_none() {
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let result = call(&mut peer, "plain", json!({}), &Value::Null).await.unwrap();
        assert_eq!(result["_meta"].get("session_state"), None, "{result}");
        let mut unaware = Peer::silent(server(), era, json!({})).await;
        let result = add(&mut unaware, "one", &Value::Null).await.unwrap();
        assert_eq!((text(&result), result["_meta"].get("session_state")), ("one", None));
        let stateless = Server::new("docs", "1.0.0").tool(Tool::new("edit", "Adds a paragraph."), edit);
        let mut peer = client(stateless, era).await;
        let result = add(&mut peer, "one", &json!("whatever")).await.unwrap();
        assert_eq!((text(&result), result["_meta"].get("session_state")), ("one", None));
    }
}

// covers: EXT-14-03
#[tokio::test]
async fn a_token_has_64_kib_at_most_and_state_beyond_that_is_dropped_and_told() {
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let first = add(&mut peer, "one", &Value::Null).await.unwrap();
        let fits = add(&mut peer, &"x".repeat(48_000), &state(&first)).await.unwrap();
        assert!(state(&fits).as_str().unwrap().len() <= 65_536);
        let dropped = add(&mut peer, &"x".repeat(50_000), &state(&first)).await.unwrap();
        let meta = &dropped["_meta"];
        assert_eq!((&meta["state_dropped"], meta.get("session_state")), (&json!(true), None), "{meta}");
        // The state before it stays.
        let kept = add(&mut peer, "two", &state(&first)).await.unwrap();
        assert_eq!(text(&kept), "one|two");
        let most = add(&mut peer, "two", &json!("x".repeat(65_536))).await.unwrap_err();
        assert_eq!(most.code(), code::SESSION_STATE_INVALID, "{most}");
        let more = add(&mut peer, "two", &json!("x".repeat(65_537))).await.unwrap_err();
        assert_eq!(more.code(), code::STATE_TOO_LARGE, "{more}");
    }
}

// covers: EXT-14-04, EXT-14-08
#[tokio::test]
async fn a_token_that_was_changed_is_refused_and_the_next_step_is_said() {
    for era in Era::BOTH {
        let capabilities = declaring(&["session_state", "structured_errors"]);
        let mut peer = Peer::silent(server(), era, capabilities).await;
        let first = add(&mut peer, "one", &Value::Null).await.unwrap();
        let token = state(&first).as_str().unwrap().to_owned();
        assert!(!token.contains("one"), "the client cannot read it");
        for forged in [token[..40].to_owned(), token.replace(&token[60..61], "-_"), "e30".to_owned()] {
            let refused = add(&mut peer, "two", &json!(forged)).await.unwrap_err();
            let data: Value = refused.data().unwrap().to().unwrap();
            assert_eq!(data["code"], "INVALID_INPUT", "{data}");
            assert_eq!(data["suggestion"], "Start a new session without a state token.");
            assert_eq!(data["details"]["recovery"], "restart");
        }
        let mut other = client(named("mail"), era).await;
        let elsewhere = add(&mut other, "two", &state(&first)).await.unwrap_err();
        assert_eq!(elsewhere.code(), code::SESSION_STATE_INVALID);
        let number = add(&mut peer, "two", &json!(7)).await.unwrap_err();
        assert!(number.message().contains("must be a string"), "{number}");
    }
}

// covers: EXT-14-09
#[tokio::test(start_paused = true)]
async fn a_session_lasts_as_long_as_it_is_used_and_a_stale_one_says_how_to_go_on() {
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let mut last = add(&mut peer, "one", &Value::Null).await.unwrap();
        for _ in 0..3 {
            tokio::time::advance(Duration::from_mins(29)).await;
            last = call(&mut peer, "show", json!({}), &state(&last)).await.unwrap();
            assert_eq!(text(&last), "one");
        }
        tokio::time::advance(IDLE + Duration::from_secs(1)).await;
        let stale = add(&mut peer, "two", &state(&last)).await.unwrap_err();
        assert_eq!(stale.code(), code::SESSION_STATE_EXPIRED);
        let details = stale.recovery().unwrap().details.unwrap();
        assert_eq!(details.as_bytes(), br#"{"recovery":"restart"}"#);
        let again = add(&mut peer, "two", &Value::Null).await.unwrap();
        assert_eq!(text(&again), "two");
    }
}

// covers: EXT-14-07
#[tokio::test(start_paused = true)]
async fn the_four_events_of_a_session_are_told() {
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let first = add(&mut peer, "one", &Value::Null).await.unwrap();
        let second = add(&mut peer, "two", &state(&first)).await.unwrap();
        let ended = call(&mut peer, "edit", json!({}), &state(&second)).await.unwrap();
        let carried = (&ended["_meta"]["state_changed"], ended["_meta"].get("session_state"));
        assert_eq!(carried, (&json!(true), None), "the client forgets its token");
        tokio::time::advance(IDLE + Duration::from_secs(1)).await;
        add(&mut peer, "three", &state(&second)).await.unwrap_err();
        let mut ids = Vec::new();
        for expected in ["session_created", "session_renewed", "session_invalidated", "session_expired"] {
            let (method, event) = peer.next_notification().await;
            assert_eq!(method, "notifications/mgp.session.lifecycle");
            assert_eq!(event["type"], expected, "{event}");
            assert!(event["timestamp"].as_str().unwrap().ends_with('Z'));
            ids.push(event["session_id"].clone());
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "one session has one id: {ids:?}");
    }
}
