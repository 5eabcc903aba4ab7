//! What clients carry for a server reaches that server, for the agent that it was given to, and nobody else.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mgp_client_sdk::{Client, SessionStates, StreamPart};
use mgp_server_sdk::{Cx, Server, Tool, ToolError, ToolResult};
use mgp_types::ext::{ExtensionId, SESSION_STATE, SessionState, ToolDeclaration};
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, Object, Principal, RawJson, Revision, code};
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
    a_long_call_goes_on_from_its_last_checkpoint,
    a_checkpoint_that_was_given_to_another_reaches_no_server,
    a_call_of_a_tool_without_checkpoints_is_not_begun_anew,
    a_client_that_does_not_carry_checkpoints_is_given_none,
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
    declaring(host, agent, revision, &[ExtensionId::SessionState]).await
}

/// A client of an agent that takes parts of results, and declares these extensions.
async fn declaring(host: &Host, agent: &str, revision: Revision, declared: &[ExtensionId]) -> Raw {
    let offer = json!({"version": "0.6.0", "extensions": ["streaming"]});
    let mut extensions: Value = declared.iter().map(|id| (id.id().to_owned(), json!({}))).collect();
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

const CHECKPOINTS: [ExtensionId; 2] = [ExtensionId::Streaming, ExtensionId::ProgressNotifications];

/// A server whose tool streams ten rows with a checkpoint behind each third one, and breaks at the row of `breaks_at`.
async fn exporting(id: &str, revision: Revision, breaks_at: &Arc<AtomicU32>) -> Served {
    let breaks_at = Arc::clone(breaks_at);
    let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
    let export = Tool::new("export", "Exports rows.").declare(declared);
    let server = Server::new("exports", "1.0.0")
        .revisions([revision])
        .tool(export, move |cx: Cx| {
            let breaks_at = Arc::clone(&breaks_at);
            async move {
                for row in cx.resumed_from::<u32>()?.unwrap_or(0)..10 {
                    if breaks_at.load(Ordering::SeqCst) == row {
                        return Err(ToolError::from(Error::new(
                            code::UPSTREAM_UNAVAILABLE,
                            "the line broke",
                        )));
                    }
                    if row % 3 == 0 {
                        cx.stream_with_checkpoint(format!("row {row}"), &(row + 1)).await?;
                    } else {
                        cx.stream(format!("row {row}")).await?;
                    }
                    cx.progress(f64::from(row + 1), Some(10.0), Some("Exporting")).await;
                }
                Ok("done")
            }
        })
        .tool(Tool::new("plain", "Has no checkpoints."), async || "plain")
        .streaming();
    Served::start(id, server).await
}

// covers: EXT-08-01..05, EXT-08-07, EXT-08-08
async fn a_long_call_goes_on_from_its_last_checkpoint() {
    let breaks_at = Arc::<AtomicU32>::default();
    for of_server in ERAS {
        let docs = exporting("docs", of_server, &breaks_at).await;
        let host = Host::ready_with(quiet([docs.config.clone()])).await;
        for of_client in ERAS {
            let builder = Client::builder("tests", "1.0.0")
                .mgp(Offer::new(ExtensionSet::standard()))
                .revisions([of_client]);
            let none = Object::new();
            let builder = CHECKPOINTS.iter().fold(builder, |builder, id| builder.extension(id.id(), &none));
            let client = host.connect("ada", builder).await;
            let (mut rows, mut operations, mut checkpoint) = (Vec::new(), HashSet::new(), None);
            for breaks in [5, 9, u32::MAX] {
                breaks_at.store(breaks, Ordering::SeqCst);
                let mut call =
                    client.call_tool("docs.export", json!({})).resume(checkpoint.as_ref()).stream().unwrap();
                let mut first = None;
                while let Some(part) = call.next().await {
                    match part {
                        StreamPart::Chunk(chunk) => {
                            // Rows behind the last checkpoint come again.
                            let at = usize::try_from(chunk.index).unwrap();
                            if first.replace(at).is_none() {
                                rows.truncate(at);
                            }
                            rows.push(chunk.content.as_text().unwrap().to_owned());
                        }
                        StreamPart::Progress(progress) => {
                            assert!((0.0..=1.0).contains(&progress.progress));
                            operations.extend(progress.operation_id);
                        }
                        other => panic!("{of_server:?} {of_client:?}: {other:?}"),
                    }
                }
                let last = call.checkpoint().cloned();
                match call.finish().await {
                    Ok(result) => assert_eq!((breaks, &*text(&result)), (u32::MAX, "done")),
                    Err(error) => assert_eq!(error.code(), code::UPSTREAM_UNAVAILABLE, "{error}"),
                }
                checkpoint = last.or(checkpoint);
            }
            let expected: Vec<_> = (0..10).map(|row| format!("row {row}")).collect();
            assert_eq!(rows, expected, "{of_server:?} {of_client:?}");
            assert_eq!(operations.len(), 1, "it is one operation: {operations:?}");
        }
    }
}

/// Calls a tool that streams, perhaps from a checkpoint on. Returns the answer, and the last checkpoint of the call.
async fn export(client: &mut Raw, tool: &str, resume: &Value) -> (Value, Value) {
    let mut params = json!({"name": tool, "arguments": {}, "_mgp": {"stream": true}, "_meta": {}});
    if !resume.is_null() {
        params["_meta"]["resume"] = resume.clone();
    }
    client.heard.clear();
    let answer = client.call("tools/call", params).await;
    let mut told = client.heard.iter().map(|frame| &frame["params"]);
    let last = told.rfind(|params| params["checkpoint_token"].is_string());
    let checkpoint = last.map(|params| {
        json!({"operation_id": params["operation_id"], "checkpoint_token": params["checkpoint_token"]})
    });
    (answer, checkpoint.unwrap_or_default())
}

// covers: EXT-08-03
async fn a_checkpoint_that_was_given_to_another_reaches_no_server() {
    let (breaks_at, never) = (Arc::new(AtomicU32::new(5)), Arc::new(AtomicU32::new(u32::MAX)));
    let docs = exporting("docs", Revision::V2025_11_25, &breaks_at).await;
    let mail = exporting("mail", Revision::V2025_11_25, &never).await;
    let host = Host::ready_with(quiet([docs.config.clone(), mail.config.clone()])).await;
    for revision in ERAS {
        breaks_at.store(5, Ordering::SeqCst);
        let (mut ada, mut bob) = (
            declaring(&host, "ada", revision, &CHECKPOINTS).await,
            declaring(&host, "bob", revision, &CHECKPOINTS).await,
        );
        let (broken, given) = export(&mut ada, "docs.export", &Value::Null).await;
        assert!(!given.is_null() && broken["error"]["code"] == code::UPSTREAM_UNAVAILABLE, "{broken}");
        breaks_at.store(u32::MAX, Ordering::SeqCst);
        let token = given["checkpoint_token"].as_str().unwrap();
        let with = |member: &str, value: Value| {
            let mut changed = given.clone();
            changed[member] = value;
            changed
        };
        let (of_server, _) = token.rsplit_once('.').unwrap();
        for (what, is_ada, tool, resume, code) in [
            ("another agent", false, "docs.export", given.clone(), 4021),
            ("another server", true, "mail.export", given.clone(), 4021),
            ("another operation", true, "docs.export", with("operation_id", json!("op-42")), 4021),
            ("changed", true, "docs.export", with("checkpoint_token", json!(format!("x{token}"))), 4021),
            ("without its proof", true, "docs.export", with("checkpoint_token", json!(of_server)), 4021),
            ("no text", true, "docs.export", with("checkpoint_token", json!(7)), -32602),
        ] {
            let client = if is_ada { &mut ada } else { &mut bob };
            let (refused, _) = export(client, tool, &resume).await;
            assert_eq!(refused["error"]["code"], code, "{revision:?} {what}: {refused}");
            let is_report = |frame: &Value| frame["method"] == "notifications/mgp.stream.chunk";
            assert!(!client.heard.iter().any(is_report), "{what}: {:?}", client.heard);
        }
        let (done, _) = export(&mut ada, "docs.export", &given).await;
        assert_eq!(done["result"]["content"][0]["text"], "done", "{revision:?}: {done}");
        let chunks = ada.heard.iter().filter(|frame| frame["method"] == "notifications/mgp.stream.chunk");
        let indices: Vec<_> = chunks.map(|frame| frame["params"]["index"].as_u64().unwrap()).collect();
        assert_eq!(indices, [4, 5, 6, 7, 8, 9], "{revision:?}");
    }
}

// covers: EXT-08-04
async fn a_call_of_a_tool_without_checkpoints_is_not_begun_anew() {
    let script = Script::named(&["works"]);
    let docs = exporting("docs", Revision::V2025_11_25, &Arc::default()).await;
    let host = Host::ready([script.server("files"), docs.config.clone()]).await;
    let resume = json!({"operation_id": "op-42", "checkpoint_token": "ck"});
    for revision in ERAS {
        for declared in [&CHECKPOINTS[..], &[]] {
            let mut ada = declaring(&host, "ada", revision, declared).await;
            for tool in ["files.works", "docs.plain"] {
                let (refused, _) = export(&mut ada, tool, &resume).await;
                assert_eq!(
                    refused["error"]["code"],
                    code::METHOD_NOT_FOUND,
                    "{revision:?} {tool}: {refused}"
                );
                let message = refused["error"]["message"].as_str().unwrap();
                assert!(message.contains("has no checkpoints"), "{message}");
            }
            assert!(script.calls().is_empty(), "{:?}", script.calls());
        }
    }
}

// covers: EXT-08-04
async fn a_client_that_does_not_carry_checkpoints_is_given_none() {
    let never = Arc::new(AtomicU32::new(u32::MAX));
    let docs = exporting("docs", Revision::V2025_11_25, &never).await;
    let host = Host::ready_with(quiet([docs.config.clone()])).await;
    for revision in ERAS {
        for (declared, [tokens, operations, words]) in [
            (&CHECKPOINTS[..], [true, true, true]),
            (&CHECKPOINTS[..1], [true, true, false]),
            (&CHECKPOINTS[1..], [false, true, true]),
            (&CHECKPOINTS[..0], [false, false, false]),
        ] {
            let mut ada = declaring(&host, "ada", revision, declared).await;
            let (done, _) = export(&mut ada, "docs.export", &Value::Null).await;
            assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
            let heard = Value::from(ada.heard.clone()).to_string();
            for (member, is_there) in
                [("checkpoint_token", tokens), ("operation_id", operations), (r#""type":"progress""#, words)]
            {
                assert_eq!(heard.contains(member), is_there, "{revision:?} {declared:?} {member}: {heard}");
            }
            assert!(words || !heard.contains("estimated_remaining_seconds"), "{heard}");
        }
    }
}
