//! What clients carry for a server reaches that server, for the agent that it was given to, and nobody else.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, SessionStates};
use mgp_server_sdk::{Cx, Server, Tool, ToolError, ToolResult};
use mgp_types::ext::{ExtensionId, SESSION_STATE, SessionState};
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Principal, RawJson, Revision};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::host::{Host, Served, quiet, text};
use crate::runner::tests;
use crate::scripted::Script;
use crate::sections::raw::{ERAS, Raw};

tests![
    state_passes_unread_between_a_server_and_the_agent_that_it_was_given_to,
    state_that_was_given_to_another_reaches_no_server,
    a_client_that_carries_no_state_is_given_none,
    state_whose_place_is_written_with_escapes_is_kept_from_such_a_client_too,
    a_conversation_with_the_state_of_another_agent_is_begun_anew,
    what_happens_to_a_session_is_told_to_the_agent_whose_it_is,
];

/// A token as its server writes it, without its quotation marks. It is no base64, and has escapes.
const ODD: &str = r#"eyJ\u00e9\ud83d\ude00 \n\"~"#;

/// The tokens that a server was brought, as they were written; empty for a call without one.
type Brought = Arc<Mutex<Vec<String>>>;

/// A server that gives a token with each result: the first call of `keep` the token [`ODD`] and `1`, and so on. The tokens of
/// `flood` are too long.
fn server(name: &'static str, brought: &Brought) -> Server {
    let brought = Arc::clone(brought);
    let given = |token: String| {
        let meta = Meta::new().with(SESSION_STATE, RawJson::parse(token).unwrap());
        std::future::ready(ToolResult::from(CallToolResult::text("kept").with_meta(meta)))
    };
    Server::new(name, "1.0.0")
        .extension(ExtensionId::SessionState.id(), RawJson::empty_object())
        .tool(Tool::new("keep", "Keeps a place."), move |cx: Cx| {
            let mut brought = brought.lock();
            brought.push(cx.meta(SESSION_STATE).map(|token| token.to_string()).unwrap_or_default());
            given(format!("\"{ODD}{}\"", brought.len()))
        })
        .tool(Tool::new("flood", "Keeps too much."), move |_: Cx| {
            given(format!("\"{}\"", "x".repeat(65_537)))
        })
}

/// A client of an agent that speaks MGP and carries state.
async fn carrier(host: &Host, agent: &str, revision: Revision) -> Raw {
    let offer = json!({"version": "0.6.0", "extensions": []});
    let mut extensions = json!({ExtensionId::SessionState.id(): {}});
    let capabilities = if revision.is_stateless() {
        extensions["dev.cloto/mgp"] = offer;
        json!({"extensions": extensions})
    } else {
        json!({"extensions": extensions, "mgp": offer})
    };
    Raw::with(host, Principal::new(agent), revision, capabilities).await
}

/// Calls a tool with a token, if it is one.
async fn call(client: &mut Raw, tool: &str, token: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}, "_meta": {}});
    if !token.is_null() {
        params["_meta"][SESSION_STATE] = token.clone();
    }
    client.call("tools/call", params).await
}

fn token(answer: &Value) -> &Value {
    &answer["result"]["_meta"][SESSION_STATE]
}

fn odd(number: usize) -> Value {
    serde_json::from_str(&format!("\"{ODD}{number}\"")).unwrap()
}

// covers: EXT-14-02
async fn state_passes_unread_between_a_server_and_the_agent_that_it_was_given_to() {
    let brought = Brought::default();
    let docs = Served::start("docs", server("docs", &brought)).await;
    let host = Host::ready_with(quiet([docs.config.clone()])).await;
    for revision in ERAS {
        brought.lock().clear();
        let mut ada = carrier(&host, "ada", revision).await;
        let first = call(&mut ada, "docs.keep", &Value::Null).await;
        assert_eq!(*token(&first), odd(1), "{revision:?}: {first}");
        let second = call(&mut ada, "docs.keep", token(&first)).await;
        assert_eq!(*token(&second), odd(2), "{revision:?}: {second}");
        {
            let brought = brought.lock();
            assert_eq!(brought[0], "");
            assert_eq!(serde_json::from_str::<Value>(&brought[1]).unwrap(), odd(1));
        }
        if !revision.is_stateless() {
            // Not even its escapes are written in another way.
            let params =
                format!(r#"{{"name":"docs.keep","arguments":{{}},"_meta":{{"session_state":"{ODD}2"}}}}"#);
            let third = ada
                .say(&format!(r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{params}}}"#))
                .await;
            assert_eq!(*token(&third), odd(3), "{third}");
            assert_eq!(brought.lock()[2], format!("\"{ODD}2\""));
        }
    }
}

// covers: EXT-14-02, EXT-14-03
async fn state_that_was_given_to_another_reaches_no_server() {
    let (brought, of_mail) = (Brought::default(), Brought::default());
    let docs = Served::start("docs", server("docs", &brought)).await;
    let mail = Served::start("mail", server("mail", &of_mail)).await;
    let host = Host::ready_with(quiet([docs.config.clone(), mail.config.clone()])).await;
    for revision in ERAS {
        let (mut ada, mut bob) =
            (carrier(&host, "ada", revision).await, carrier(&host, "bob", revision).await);
        let given = call(&mut ada, "docs.keep", &Value::Null).await;
        let given = token(&given).clone();
        let calls = brought.lock().len();
        let changed = json!(format!("{}x", given.as_str().unwrap()));
        for (what, is_ada, tool, token, code) in [
            ("another agent", false, "docs.keep", given.clone(), 2031),
            ("another server", true, "mail.keep", given.clone(), 2031),
            ("changed", true, "docs.keep", changed, 2031),
            ("forged", false, "docs.keep", json!("v1.AAAA"), 2031),
            ("no text", true, "docs.keep", json!({"a": 1}), -32602),
            ("too long", true, "docs.keep", json!("x".repeat(65_537)), 3025),
        ] {
            let client = if is_ada { &mut ada } else { &mut bob };
            let refused = call(client, tool, &token).await;
            assert_eq!(refused["error"]["code"], code, "{revision:?} {what}: {refused}");
            if code == 2031 {
                assert_eq!(refused["error"]["data"]["_mgp"]["details"]["recovery"], "restart", "{refused}");
            }
        }
        assert_eq!((brought.lock().len(), of_mail.lock().len()), (calls, 0));
        let goes_on = call(&mut ada, "docs.keep", &given).await;
        assert!(token(&goes_on).is_string(), "{goes_on}");
    }
}

// covers: EXT-14-03
async fn a_client_that_carries_no_state_is_given_none() {
    let docs = Served::start("docs", server("docs", &Brought::default())).await;
    let host = Host::ready_with(quiet([docs.config.clone()])).await;
    for revision in ERAS {
        let mut plain = Raw::plain(&host, "ada", revision).await;
        for tool in ["docs.keep", "docs.flood"] {
            let answer = call(&mut plain, tool, &Value::Null).await;
            assert_eq!(answer["result"]["content"][0]["text"], "kept", "{answer}");
            assert!(!answer.to_string().contains(SESSION_STATE), "{revision:?}: {answer}");
        }
        let mut ada = carrier(&host, "ada", revision).await;
        let flood = call(&mut ada, "docs.flood", &Value::Null).await;
        assert_eq!(flood["result"]["_meta"]["state_dropped"], true, "{revision:?}: {flood}");
        assert!(token(&flood).is_null(), "{revision:?}");
    }
}

/// A server of the SDK whose conversations count their calls.
fn counting() -> Server {
    async fn next_page(cx: Cx) -> Result<String, ToolError> {
        let page = cx.session_state::<u32>()?.map_or(1, |last| last + 1);
        cx.set_session_state(&page)?;
        Ok(format!("page {page}"))
    }
    Server::new("docs", "1.0.0")
        .mgp(Offer::new(ExtensionSet::new()))
        .session_state(Duration::from_mins(30))
        .tool(Tool::new("next_page", "Returns the next page."), next_page)
}

async fn a_conversation_with_the_state_of_another_agent_is_begun_anew() {
    let docs = Served::start("docs", counting()).await;
    let host = Host::ready_with(quiet([docs.config.clone()])).await;
    for revision in ERAS {
        let builder = || Client::builder("tests", "1.0.0").revisions([revision]).session_state();
        let (ada, bob) = (host.connect("ada", builder()).await, host.connect("bob", builder()).await);
        // Whoever stole it has all that ada has.
        let chat = SessionStates::new().conversation("docs", "chat");
        for (client, page, restarted) in [
            (&ada, "page 1", false),
            (&ada, "page 2", false),
            (&bob, "page 1", true),
            (&bob, "page 2", false),
        ] {
            let reply = client.call_tool("docs.next_page", json!({})).within(&chat).await.unwrap();
            assert_eq!((&*text(&reply.result), reply.restarted), (page, restarted), "{revision:?}");
        }
    }
}

// covers: EXT-14-06
async fn what_happens_to_a_session_is_told_to_the_agent_whose_it_is() {
    let docs = Served::start("docs", counting()).await;
    let host = Host::ready_with(quiet([docs.config.clone()])).await;
    for revision in ERAS {
        let (mut ada, mut bob) =
            (carrier(&host, "ada", revision).await, carrier(&host, "bob", revision).await);
        let first = call(&mut ada, "docs.next_page", &Value::Null).await;
        let created = ada.next_notification("notifications/mgp.session.lifecycle").await["params"].clone();
        assert_eq!(created["type"], "session_created", "{revision:?}: {created}");
        call(&mut ada, "docs.next_page", token(&first)).await;
        let renewed = ada.next_notification("notifications/mgp.session.lifecycle").await["params"].clone();
        assert_eq!(
            (&renewed["type"], &renewed["session_id"]),
            (&json!("session_renewed"), &created["session_id"])
        );
        // All that a client needs to keep the session in the form of the specification.
        let kept: SessionState = serde_json::from_value(json!({
            "session_id": created["session_id"], "state": token(&first), "created_at": created["timestamp"],
            "metadata": {"server_name": "docs", "tool_context": "next_page"},
        }))
        .unwrap();
        assert_eq!(kept.state.as_ref(), token(&first).as_str().unwrap());
        bob.call("ping", json!({})).await;
        assert!(bob.heard.iter().all(|frame| frame["method"] != "notifications/mgp.session.lifecycle"));
    }
}

async fn state_whose_place_is_written_with_escapes_is_kept_from_such_a_client_too() {
    let extension = ExtensionId::SessionState.id();
    let script = Script::named(&["keep"])
        .capabilities(&format!(r#"{{"tools":{{}},"extensions":{{"{extension}":{{}}}}}}"#))
        .answers("tools/call", r#"{"content":[],"\u005fmeta":{"session_state":"TOKEN"}}"#);
    let host = Host::ready_with(quiet([script.server("docs")])).await;
    let mut ada = Raw::plain(&host, "ada", Revision::V2025_11_25).await;
    let answer = call(&mut ada, "docs.keep", &Value::Null).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
    assert!(!answer.to_string().contains("TOKEN"), "{answer}");
}
