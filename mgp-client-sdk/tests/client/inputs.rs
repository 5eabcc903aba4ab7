//! Questions in results, and their rounds.

use std::sync::Arc;

use mgp_client_sdk::Elicited;
use mgp_types::mcp::{ElicitFormParams, ListToolsParams};
use mgp_types::{Context, Flow, Gate, Origin, Request, Revision};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::peer::*;

const STATELESS: Revision = Revision::V2026_07_28;

fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": message, "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }})
}

async fn counting(form: ElicitFormParams, _: Context) -> Elicited<serde_json::Value> {
    Elicited::Accepted(json!({"n": form.message.len()}))
}

#[tokio::test]
async fn questions_are_answered_until_there_is_a_result_2026() {
    let (peer, client) = Peer::connect(
        STATELESS,
        builder().on_elicitation(counting),
        |_, params| match params["requestState"].as_str() {
            None => json!({"resultType": "input_required", "requestState": " one\u{1F600}\"",
                "inputRequests": {"first": form("a")}}),
            Some(" one\u{1F600}\"") => json!({"resultType": "input_required", "requestState": "two",
                "inputRequests": {"second": form("ab"), "third": form("abc")}}),
            _ => text("done"),
        },
    )
    .await;
    let result = client.call_tool("ask", json!({"x": 1})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));

    let sent = peer.seen("tools/call");
    let params: Vec<_> = sent.iter().map(|message| &message["params"]).collect();
    assert!(params[0].get("inputResponses").is_none() && params[0].get("requestState").is_none());
    assert_eq!(params[1]["requestState"], " one\u{1F600}\"");
    assert_eq!(params[1]["inputResponses"], json!({"first": {"action": "accept", "content": {"n": 1}}}));
    let second = json!({"second": {"action": "accept", "content": {"n": 2}},
        "third": {"action": "accept", "content": {"n": 3}}});
    assert_eq!(params[2]["inputResponses"], second);
    assert_eq!(params[2]["requestState"], "two");
    for params in &params {
        assert_eq!((&params["name"], &params["arguments"]), (&json!("ask"), &json!({"x": 1})));
    }
    // Each round is a request of its own.
    let mut ids: Vec<_> = sent.iter().map(|message| message["id"].as_i64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn the_state_is_echoed_only_if_there_was_one_2026() {
    let (peer, client) = Peer::connect(STATELESS, builder().on_elicitation(counting), |_, params| {
        match (params.get("inputResponses").is_some(), params["name"].as_str()) {
            (false, Some("stateless")) => {
                json!({"resultType": "input_required", "inputRequests": {"q": form("")}})
            }
            (false, Some("questionless")) if params.get("requestState").is_none() => {
                json!({"resultType": "input_required", "requestState": "s"})
            }
            _ => text("done"),
        }
    })
    .await;
    client.call_tool("stateless", ()).await.unwrap();
    client.call_tool("questionless", ()).await.unwrap();
    client.call_tool("unrelated", ()).await.unwrap();
    let params = peer.params("tools/call");
    assert!(params[1].get("requestState").is_none() && params[1].get("inputResponses").is_some());
    assert!(params[3]["requestState"] == "s" && params[3].get("inputResponses").is_none());
    assert!(params[4].get("requestState").is_none() && params[4].get("inputResponses").is_none());
}

#[tokio::test]
async fn an_absent_result_type_is_a_result_2026() {
    let talks_of_it = json!({"content": [{"type": "text", "text": "\"resultType\":\"input_required\""}]});
    for result in [json!({"content": []}), talks_of_it] {
        let (peer, client) = Peer::connect(STATELESS, builder(), move |_, _| result.clone()).await;
        client.call_tool("a", ()).await.unwrap();
        assert_eq!(peer.seen("tools/call").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_never_stops_asking_is_given_up_2026() {
    let (peer, client) = Peer::connect(
        STATELESS,
        builder().on_elicitation(counting),
        |_, _| json!({"resultType": "input_required", "inputRequests": {"q": form("")}}),
    )
    .await;
    assert_eq!(fails(client.call_tool("a", ())).await.origin(), Origin::Misbehaved);
    assert_eq!(peer.seen("tools/call").len(), 1 + 10);
}

#[tokio::test]
async fn a_question_nobody_answers_fails_the_call_2026() {
    let question = json!({"resultType": "input_required", "inputRequests": {"q": form("")}});
    let (peer, client) = Peer::connect(STATELESS, builder(), move |_, _| question.clone()).await;
    let error = fails(client.call_tool("a", ())).await;
    assert!(error.to_string().contains("elicitation/create"), "{error}");
    assert_eq!(peer.seen("tools/call").len(), 1);
}

#[tokio::test]
async fn malformed_questions_fail_the_call_2026() {
    for questions in
        [json!(7), json!({"q": 7}), json!({"q": {}}), json!({"q": {"method": "tools/call"}}), json!(null)]
    {
        let result = json!({"resultType": "input_required", "inputRequests": questions});
        let (_, client) =
            Peer::connect(STATELESS, builder().on_elicitation(counting), move |_, _| result.clone()).await;
        assert_eq!(fails(client.call_tool("a", ())).await.origin(), Origin::Misbehaved);
    }
    let (_, client) = Peer::connect(
        STATELESS,
        builder(),
        |_, _| json!({"resultType": "input_required", "requestState": "s"}),
    )
    .await;
    // A list must not ask.
    assert_eq!(fails(client.send(&ListToolsParams::new())).await.origin(), Origin::Misbehaved);
}

#[tokio::test]
async fn questions_of_one_result_are_asked_at_the_same_time_2026() {
    let both = Arc::new(Barrier::new(2));
    let builder = builder().on_elicitation(move |_, _| {
        let both = both.clone();
        async move {
            both.wait().await;
            Elicited::declined()
        }
    });
    let (_, client) = Peer::connect(STATELESS, builder, |_, params| {
        if params.get("inputResponses").is_some() {
            return text("done");
        }
        json!({"resultType": "input_required", "inputRequests": {"a": form(""), "b": form("")}})
    })
    .await;
    client.call_tool("a", ()).await.unwrap();
}

#[tokio::test]
async fn inbound_layers_see_pushed_and_embedded_questions_alike() {
    for era in ERAS {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let builder = builder().on_elicitation(counting).inbound_layer(Note(seen.clone()).into_layer());
        let (peer, (reader, writer)) = Peer::raw(crate::peer::era(era, |_, params| {
            if params.get("inputResponses").is_some() {
                return text("done");
            }
            json!({"resultType": "input_required", "inputRequests": {"q": form("")}})
        }));
        let client = builder.connect_io(reader, writer).await.unwrap();
        if era.is_stateless() {
            client.call_tool("a", ()).await.unwrap();
        } else {
            let mut question = form("");
            question["id"] = json!(1);
            question["jsonrpc"] = json!("2.0");
            peer.push(&question);
            peer.until(|seen| seen.iter().any(|message| message.get("result").is_some()).then_some(())).await;
        }
        assert_eq!(*seen.lock(), [("elicitation/create".to_owned(), Some(era))]);
    }
}

type Seen = Vec<(String, Option<Revision>)>;

#[derive(Debug, Clone)]
struct Note(Arc<Mutex<Seen>>);

impl Gate for Note {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow<()> {
        let revision = request.context.session.as_ref().map(|session| session.revision);
        self.0.lock().push((request.method.to_string(), revision));
        Flow::Pass(())
    }
}
