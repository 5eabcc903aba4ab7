//! Calls that a person has to confirm before their handler runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::peer::{Era, Peer, declaring, speaking};
use mgp_server_sdk::mgp::{Extension, Offer};
use mgp_server_sdk::types::ext::{Impact, ToolDeclaration};
use mgp_server_sdk::types::{Error, code};
use mgp_server_sdk::{Object, Server, Tool};
use serde_json::{Value, json};

fn server() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let offer = Offer::new(Extension::ToolSecurity);
    let delete = Tool::new("delete", "Deletes a repository.")
        .confirm("Delete {repo}? This cannot be taken back.", Impact::Destructive);
    let server = Server::new("forge", "1.0.0").mgp(offer).tool(delete, move |_: Object| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { "deleted" }
    });
    (server, calls)
}

/// Connects as a client that can ask its user for confirmations, and speaks MGP so that it gets the codes of MGP.
async fn client(server: Server, era: Era) -> Peer {
    let capabilities = speaking(era, &[], &["human_in_the_loop"]);
    Peer::silent(server, era, capabilities).await
}

async fn delete(peer: &mut Peer, arguments: Value, meta: Value) -> Result<Value, Error> {
    peer.call("tools/call", json!({"name": "delete", "arguments": arguments, "_meta": meta})).await
}

/// Calls without a confirmation, and returns the token that is to come with the next call.
async fn asked(peer: &mut Peer, arguments: Value) -> Value {
    let answer = delete(peer, arguments, json!({})).await.unwrap();
    answer["_meta"]["confirmation"]["confirmation_token"].clone()
}

fn confirmed(token: &Value) -> Value {
    json!({"confirmation_token": token, "user_confirmed": true})
}

// covers: EXT-06-01, EXT-06-03, EXT-06-12
#[tokio::test]
async fn a_tool_declares_that_its_calls_are_confirmed_and_how_much_harm_they_do() {
    for era in Era::BOTH {
        let (server, _) = server();
        let server = server.tool(Tool::new("list", "Lists repositories."), async || "none");
        let mut peer = client(server, era).await;
        let (delete, list) = (peer.listed("delete").await, peer.listed("list").await);
        assert_eq!(delete["requires_confirmation"], true);
        assert_eq!(delete["risk_level"], "destructive");
        assert_eq!(delete["annotations"]["destructiveHint"], true);
        for member in ["requires_confirmation", "risk_level"] {
            assert_eq!(list.get(member), None, "{member}");
        }
    }
}

// covers: EXT-06-02
#[tokio::test]
async fn a_tool_without_a_question_cannot_be_served() {
    for question in [None, Some("  ".into())] {
        let declared = ToolDeclaration {
            requires_confirmation: true,
            confirmation_message: question,
            ..ToolDeclaration::default()
        };
        let server = Server::new("forge", "1.0.0")
            .tool(Tool::new("delete", "Deletes.").declare(declared), async || "deleted");
        let refused = server.accept().map(drop).unwrap_err();
        assert!(refused.to_string().contains("Tool::confirm"), "{refused}");
    }
}

// covers: EXT-06-05
#[tokio::test]
async fn a_call_that_nobody_confirmed_is_answered_with_the_question_and_not_made() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let mut peer = client(server, era).await;
        let answer = delete(&mut peer, json!({"repo": "web\u{1b}[2J"}), json!({})).await.unwrap();
        assert_eq!(answer["isError"], true);
        let question = "Delete “web[2J”? This cannot be taken back.";
        assert_eq!(answer["content"][0]["text"], format!("Confirmation required: {question}"));
        let confirmation = &answer["_meta"]["confirmation"];
        assert_eq!(confirmation["status"], "confirmation_required");
        assert_eq!(confirmation["confirmation_message"], question);
        assert_eq!(confirmation["risk_level"], "destructive");
        assert!(confirmation["confirmation_token"].as_str().unwrap().len() > 40);
        assert!(confirmation["expires_at"].is_string());
        // What the client says by itself is no confirmation.
        let claimed =
            delete(&mut peer, json!({"repo": "web"}), json!({"user_confirmed": true})).await.unwrap();
        assert_eq!(claimed["_meta"]["confirmation"]["status"], "confirmation_required");
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
}

// covers: EXT-06-10
#[tokio::test]
async fn a_token_lets_one_call_pass() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let mut peer = client(server, era).await;
        let token = asked(&mut peer, json!({"repo": "web", "owner": "ada"})).await;
        let unsaid =
            delete(&mut peer, json!({"repo": "web", "owner": "ada"}), json!({"confirmation_token": token}));
        assert_eq!(unsaid.await.unwrap_err().code(), code::CONFIRMATION_INVALID);
        // The order of members and the way in which they are written do not matter.
        let done =
            delete(&mut peer, json!({"owner": "ada", "repo": "web"}), confirmed(&token)).await.unwrap();
        assert_eq!(done["content"][0]["text"], "deleted");
        let again = delete(&mut peer, json!({"repo": "web", "owner": "ada"}), confirmed(&token)).await;
        assert_eq!(again.unwrap_err().code(), code::CONFIRMATION_INVALID);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

// covers: EXT-06-09
#[tokio::test]
async fn a_token_is_for_the_arguments_that_a_person_saw_and_for_its_server() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let archived = calls.clone();
        let archive =
            Tool::new("archive", "Archives a repository.").confirm("Archive {repo}?", Impact::Reversible);
        let server = server.tool(archive, move |_: Object| {
            archived.fetch_add(1, Ordering::SeqCst);
            async { "archived" }
        });
        let mut peer = client(server, era).await;
        let token = asked(&mut peer, json!({"repo": "web"})).await;
        let elsewhere = json!({"name": "archive", "arguments": {"repo": "web"}, "_meta": confirmed(&token)});
        let refused = peer.call("tools/call", elsewhere).await.unwrap_err();
        assert_eq!(refused.code(), code::CONFIRMATION_INVALID, "the token is for another tool");
        for other in [json!({"repo": "db"}), json!({"repo": "web", "force": true}), json!({})] {
            let refused = delete(&mut peer, other.clone(), confirmed(&token)).await.unwrap_err();
            assert_eq!(refused.code(), code::CONFIRMATION_INVALID, "{other}");
        }
        for forged in [json!("conf-1"), json!(7), Value::Null] {
            let refused = delete(&mut peer, json!({"repo": "web"}), confirmed(&forged)).await.unwrap_err();
            assert_eq!(refused.code(), code::CONFIRMATION_INVALID, "{forged}");
        }
        let mut restarted = client(self::server().0, era).await;
        let refused = delete(&mut restarted, json!({"repo": "web"}), confirmed(&token)).await.unwrap_err();
        assert_eq!(refused.code(), code::CONFIRMATION_INVALID);
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        delete(&mut peer, json!({"repo": "web"}), confirmed(&token)).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1, "the token was good all the time");
    }
}

// covers: EXT-06-08
#[tokio::test(start_paused = true)]
async fn a_token_ends_after_five_minutes() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let mut peer = client(server, era).await;
        let (late, early) =
            (asked(&mut peer, json!({"repo": "a"})).await, asked(&mut peer, json!({"repo": "b"})).await);
        tokio::time::advance(Duration::from_secs(290)).await;
        delete(&mut peer, json!({"repo": "b"}), confirmed(&early)).await.unwrap();
        tokio::time::advance(Duration::from_secs(11)).await;
        let refused = delete(&mut peer, json!({"repo": "a"}), confirmed(&late)).await.unwrap_err();
        assert_eq!(refused.code(), code::CONFIRMATION_INVALID);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

// covers: EXT-06-13
#[tokio::test]
async fn a_client_that_can_ask_nobody_is_refused_for_good_and_told_what_it_lacks() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let structured = declaring(&["structured_errors"]);
        let mut peer = Peer::silent(server, era, structured).await;
        let refused =
            delete(&mut peer, json!({"repo": "web"}), json!({"user_confirmed": true})).await.unwrap_err();
        assert!(refused.message().contains("supports confirmation"), "{refused}");
        let data: Value = refused.data().unwrap().to().unwrap();
        assert_eq!(
            (&data["code"], &data["category"]),
            (&json!("CONFIRMATION_REQUIRED"), &json!("permanent"))
        );
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_client_with_forms_is_asked_and_a_no_stops_the_call() {
    for era in Era::BOTH {
        for (answer, made) in [
            (json!({"action": "accept", "content": {"confirm": true}}), true),
            (json!({"action": "accept", "content": {"confirm": false}}), false),
            (json!({"action": "decline"}), false),
            (json!({"action": "cancel"}), false),
        ] {
            let (server, calls) = server();
            let asked = Arc::new(parking_lot::Mutex::new(Vec::new()));
            let (seen, reply) = (asked.clone(), answer.clone());
            let forms = json!({"elicitation": {"form": {}}});
            let answers = Arc::new(move |_: &str, question: &Value| {
                seen.lock().push(question["message"].clone());
                reply.clone()
            });
            let mut peer = Peer::with(server, era, forms, answers).await;
            let outcome = delete(&mut peer, json!({"repo": "web"}), json!({})).await;
            assert_eq!(outcome.is_ok(), made, "{answer}: {outcome:?}");
            assert_eq!(calls.load(Ordering::SeqCst), usize::from(made), "{answer}");
            assert_eq!(*asked.lock(), [json!("Delete “web”? This cannot be taken back.")]);
        }
    }
}

#[tokio::test]
async fn a_client_that_enforces_the_security_of_tools_confirms_by_itself() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let capabilities = speaking(era, &["tool_security"], &[]);
        let mut peer = Peer::silent(server, era, capabilities).await;
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        assert_eq!(tools["tools"][0]["security"]["confirmation_required"], true, "{tools}");
        delete(&mut peer, json!({"repo": "web"}), json!({})).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
