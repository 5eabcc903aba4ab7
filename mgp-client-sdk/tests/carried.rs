//! What a client carries for a server: the state of a conversation, places to go on from, and confirmations of a person.
#![cfg(feature = "ext")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mgp_client_sdk::mcp::{ElicitAction, Tool as ListedTool};
use mgp_client_sdk::mgp::{Extension, ExtensionSet, Offer};
use mgp_client_sdk::types::{Flow, Gate, Method};
use mgp_client_sdk::{Client, Error, Request, Revision, SessionStates, StreamPart, json};
use mgp_server_sdk::types::code;
use mgp_server_sdk::types::ext::{ExtensionId, Impact, ToolDeclaration};
use mgp_server_sdk::{Cx, Object, SealingKey, Server, Tool, ToolError, schemars};
use parking_lot::Mutex;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::LATEST];
const IDLE: Duration = Duration::from_mins(30);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Edit {
    paragraph: String,
}

fn edit(Edit { paragraph }: Edit, cx: &Cx) -> Result<String, ToolError> {
    let mut paragraphs: Vec<String> = cx.session_state()?.unwrap_or_default();
    paragraphs.push(paragraph);
    cx.set_session_state(&paragraphs)?;
    Ok(paragraphs.join("|"))
}

fn docs(key: u8, calls: &Arc<AtomicUsize>) -> Server {
    let calls = calls.clone();
    Server::new("docs", "1.0.0").sealing_key(SealingKey::new([key; 32])).session_state(IDLE).tool(
        Tool::new("edit", "Adds a paragraph."),
        move |arguments: Edit, cx: Cx| {
            calls.fetch_add(1, Ordering::SeqCst);
            std::future::ready(edit(arguments, &cx))
        },
    )
}

// covers: EXT-14-01, EXT-14-10
#[tokio::test]
async fn a_conversation_goes_on_from_call_to_call_and_over_connections_and_instances() {
    for revision in REVISIONS {
        let calls = Arc::default();
        let connect = async || {
            let builder = Client::builder("app", "1").revisions([revision]).session_state();
            builder.in_process(docs(1, &calls).accept().unwrap()).await.unwrap()
        };
        let states = SessionStates::new();
        let chat = states.conversation("docs", "chat-1");
        let other = states.conversation("docs", "chat-2");
        let client = connect().await;
        let first = client.call_tool("edit", json!({"paragraph": "one"})).within(&chat).await.unwrap();
        assert!(!first.restarted && !first.dropped && chat.has_state());
        let meta = first.result.meta.map(|meta| meta.get("session_state").cloned());
        assert_eq!(meta.flatten(), None, "no token reaches a model");
        let apart = client.call_tool("edit", json!({"paragraph": "x"})).within(&other).await.unwrap();
        assert_eq!(apart.result.content[0].as_text(), Some("x"));
        client.close().await.unwrap();
        let client = connect().await;
        let second = client.call_tool("edit", json!({"paragraph": "two"})).within(&chat).await.unwrap();
        assert_eq!(second.result.content[0].as_text(), Some("one|two"));
        chat.forget();
        let anew = client.call_tool("edit", json!({"paragraph": "three"})).within(&chat).await.unwrap();
        assert_eq!((anew.result.content[0].as_text(), anew.restarted), (Some("three"), false));
    }
}

// covers: EXT-14-09
#[tokio::test(start_paused = true)]
async fn a_stale_conversation_is_begun_anew_once_and_its_call_is_not_lost() {
    for revision in REVISIONS {
        for speaks_mgp in [true, false] {
            let calls: Arc<AtomicUsize> = Arc::default();
            let connect = async |key| {
                let mut builder = Client::builder("app", "1").revisions([revision]).session_state();
                if !speaks_mgp {
                    builder = builder.mgp(None);
                }
                builder.in_process(docs(key, &calls).accept().unwrap()).await.unwrap()
            };
            let chat = SessionStates::new().conversation("docs", "chat-1");
            let client = connect(1).await;
            client.call_tool("edit", json!({"paragraph": "one"})).within(&chat).await.unwrap();
            tokio::time::advance(IDLE + Duration::from_secs(1)).await;
            let late = client.call_tool("edit", json!({"paragraph": "two"})).within(&chat).await.unwrap();
            assert_eq!((late.result.content[0].as_text(), late.restarted), (Some("two"), true));
            let next = client.call_tool("edit", json!({"paragraph": "three"})).within(&chat).await.unwrap();
            assert_eq!((next.result.content[0].as_text(), next.restarted), (Some("two|three"), false));
            // A server whose key is another one is no reason to lose a call either.
            let replaced = connect(2).await;
            let anew = replaced.call_tool("edit", json!({"paragraph": "four"})).within(&chat).await.unwrap();
            assert_eq!((anew.result.content[0].as_text(), anew.restarted), (Some("four"), true));
            assert_eq!(calls.load(Ordering::SeqCst), 4, "a refused call was not made");
        }
    }
}

async fn export(cx: Cx, breaks_at: Arc<AtomicUsize>) -> Result<String, ToolError> {
    for row in cx.resumed_from::<usize>()?.unwrap_or(0)..10 {
        if breaks_at.load(Ordering::SeqCst) == row {
            return Err(Error::new(code::UPSTREAM_UNAVAILABLE, "the line broke").into());
        }
        if row % 3 == 0 {
            cx.stream_with_checkpoint(format!("row {row}"), &(row + 1)).await?;
        } else {
            cx.stream(format!("row {row}")).await?;
        }
    }
    Ok("done".into())
}

// covers: EXT-08-03, EXT-08-08
#[tokio::test]
async fn an_interrupted_call_goes_on_and_equals_one_that_was_not() {
    for revision in REVISIONS {
        let breaks_at = Arc::new(AtomicUsize::new(usize::MAX));
        let at = breaks_at.clone();
        let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
        let server = Server::new("exports", "1.0.0")
            .tool(Tool::new("export", "Exports rows.").declare(declared), move |cx: Cx| {
                export(cx, at.clone())
            })
            .streaming();
        let mut offer = Offer::new(ExtensionSet::new());
        offer.extensions.insert(Extension::Streaming);
        let client = Client::builder("app", "1")
            .revisions([revision])
            .mgp(offer)
            .extension(ExtensionId::Streaming.id(), &Object::new())
            .in_process(server.accept().unwrap())
            .await
            .unwrap();
        let mut runs = Vec::new();
        for breaks in [vec![], vec![5], vec![1, 2, 9], vec![3, 6, 7]] {
            let (mut parts, mut checkpoint) = (Vec::new(), None);
            let mut breaks = breaks.into_iter();
            loop {
                breaks_at.store(breaks.next().unwrap_or(usize::MAX), Ordering::SeqCst);
                let mut call = client.call_tool("export", ()).resume(checkpoint.as_ref()).stream().unwrap();
                let mut read = Vec::new();
                while let Some(part) = call.next().await {
                    let StreamPart::Chunk(chunk) = part else { panic!("there is no gap: {part:?}") };
                    read.push((chunk.index, chunk.content.as_text().unwrap().to_owned()));
                }
                let last = call.checkpoint().cloned();
                let outcome = call.finish().await;
                // Parts behind the last checkpoint come again.
                let first = read.first().map_or(0, |(index, _)| usize::try_from(*index).unwrap());
                assert!(first <= parts.len(), "{first} {parts:?}");
                parts.truncate(first);
                parts.extend(read);
                match outcome {
                    Ok(result) => break assert_eq!(result.content[0].as_text(), Some("done")),
                    Err(error) => assert_eq!(error.code(), code::UPSTREAM_UNAVAILABLE),
                }
                checkpoint = last.or(checkpoint);
            }
            runs.push(parts);
        }
        assert_eq!(runs[0].len(), 10);
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    }
}

fn forge(calls: &Arc<AtomicUsize>) -> Server {
    let calls = calls.clone();
    let delete =
        Tool::new("delete", "Deletes a repository.").confirm("Delete {repo} for good?", Impact::Destructive);
    Server::new("forge", "1.0.0").tool(delete, move |_: Object| {
        calls.fetch_add(1, Ordering::SeqCst);
        async { "deleted" }
    })
}

/// Counts the calls of tools that leave the client.
#[derive(Clone, Default)]
struct SentCalls(Arc<AtomicUsize>);

impl Gate for SentCalls {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow<()> {
        if request.method == Method::TOOLS_CALL {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Flow::Pass(())
    }
}

// covers: EXT-06-04, EXT-06-06, EXT-06-07
#[tokio::test]
async fn a_call_is_made_once_after_the_user_agreed_and_never_after_a_no() {
    for revision in REVISIONS {
        let (calls, sent) = (Arc::default(), SentCalls::default());
        let (asked, agrees) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (shown, answer) = (asked.clone(), agrees.clone());
        let builder = Client::builder("app", "1").revisions([revision]).on_approval(move |question| {
            shown.lock().push(question.message);
            let agrees = answer.load(Ordering::SeqCst);
            std::future::ready(if agrees { ElicitAction::Accept } else { ElicitAction::Decline })
        });
        let builder = builder.layer(sent.clone().into_layer());
        let client = builder.in_process(forge(&calls).accept().unwrap()).await.unwrap();
        let tool = client.list_tools().await.unwrap().remove(0);
        let repo = json!({"repo": "web"});
        let refused = client.call_listed(&tool, &repo).await.unwrap_err();
        assert_eq!(refused.code(), code::CONFIRMATION_DECLINED);
        assert!(refused.message().contains("it was not made"), "{refused}");
        assert_eq!((sent.0.load(Ordering::SeqCst), calls.load(Ordering::SeqCst)), (0, 0), "nothing was sent");
        agrees.store(true, Ordering::SeqCst);
        let done = client.call_listed(&tool, &repo).await.unwrap();
        assert_eq!(done.content[0].as_text(), Some("deleted"));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let question = || "Delete “web” for good?".into();
        assert_eq!(*asked.lock(), [question(), question()], "the user is asked once for each call");
        // A definition that says nothing of it does not lead around the question.
        let bare = ListedTool::new("delete", mgp_client_sdk::RawJson::empty_object());
        asked.lock().clear();
        agrees.store(false, Ordering::SeqCst);
        let refused = client.call_listed(&bare, &repo).await.unwrap_err();
        assert_eq!(refused.code(), code::CONFIRMATION_DECLINED);
        assert_eq!(*asked.lock(), [question()]);
        assert_eq!(sent.0.load(Ordering::SeqCst), 3, "the confirmed call was not sent");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
