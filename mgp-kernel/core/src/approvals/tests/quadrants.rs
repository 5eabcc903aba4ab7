//! Old and new clients, old and new servers.

use mgp_client_sdk::{Client, ClientBuilder, Elicited};
use mgp_transport::era::EraMode;
use mgp_types::mcp::{CallToolResult, CreateMessageResult, Role, Root, SamplingContents};
use serde_json::json;

use super::world::{World, again, answers, ask, send, text};

const QUADRANTS: [(bool, bool); 4] = [(false, false), (true, true), (false, true), (true, false)];

fn builder(stateless: bool) -> ClientBuilder {
    let mode = if stateless { EraMode::Stateless } else { EraMode::Session };
    Client::builder("client", "1.0.0").era(mode)
}

/// A client that answers everything, forms with its name.
fn answering(stateless: bool, name: &'static str) -> ClientBuilder {
    builder(stateless)
        .on_elicitation(move |form, _| async move {
            Elicited::Accepted(json!({"name": format!("{name}:{}", form.message)}))
        })
        .on_sampling(|_, _| async {
            CreateMessageResult::new(Role::Assistant, SamplingContents::from("hi"), "a-model")
        })
        .roots([Root::new("file:///a"), Root::new("file:///b")])
}

fn said(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

#[tokio::test]
async fn a_question_reaches_the_client_and_its_answer_the_server() {
    for (client, server) in QUADRANTS {
        let world = World::new(server).await;
        let client = world.client("a", answering(client, "A")).await;
        for _ in 0..2 {
            assert_eq!(said(&client.call_tool("name", ()).await.unwrap()), "A:Who?");
        }
        assert_eq!(world.parked(), 0);
    }
}

#[tokio::test]
async fn questions_follow_one_another_and_the_gates_are_passed_once() {
    for (client, server) in QUADRANTS {
        let world = World::new(server).await;
        let asked = world.client("a", answering(client, "A")).await;
        let result = asked.call_tool("steps", ()).await.unwrap();
        assert_eq!(said(&result), "A:First? A:After A:First?? a-model");
        // Only where the server itself asks in rounds is each of them a call.
        assert_eq!(world.passed(), if client && server { 4 } else { 1 });
    }
}

#[tokio::test]
async fn questions_are_asked_together() {
    for (client, server) in QUADRANTS {
        let world = World::new(server).await;
        let client = world.client("a", answering(client, "A")).await;
        assert_eq!(said(&client.call_tool("both", ()).await.unwrap()), "A:Who? 2");
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_too() {
    for (client, server) in QUADRANTS {
        let world = World::new(server).await;
        let client = world.client("a", answering(client, "A")).await;
        let prompt = client.request("prompts/get", json!({"name": "asking"})).await.unwrap();
        assert!(String::from_utf8_lossy(prompt.as_bytes()).contains("A:Who?"));
        let resource = client.request("resources/read", json!({"uri": "test://asking"})).await.unwrap();
        assert!(String::from_utf8_lossy(resource.as_bytes()).contains("A:Who?"));
    }
}

#[tokio::test]
async fn a_gate_asks_by_the_same_outbox() {
    for (client, server) in QUADRANTS {
        let mut world = World::new(server).await;
        world.gate.confirms = true;
        let yes = world.client("a", answering(client, "A")).await;
        assert_eq!(said(&yes.call_tool("name", ()).await.unwrap()), "A:Who?");
        let no = builder(client).on_elicitation(async |_, _| Elicited::declined());
        let no = world.client("b", no).await;
        let error = no.call_tool("name", ()).await.unwrap_err();
        assert!(error.message().contains("did not confirm"), "{error}");
    }
}

#[tokio::test]
async fn a_client_is_asked_only_what_it_declared() {
    for (client, server) in QUADRANTS {
        let world = World::new(server).await;
        let forms = builder(client).on_elicitation(async |_, _| Elicited::Accepted(json!({"name": "A"})));
        let forms = world.client("a", forms).await;
        assert_eq!(said(&forms.call_tool("name", ()).await.unwrap()), "A");
        let mute = world.client("b", builder(client)).await;
        let refused = |outcome: Result<CallToolResult, _>| match outcome {
            Ok(result) => result.is_error == Some(true),
            Err(_) => true,
        };
        assert!(refused(mute.call_tool("name", ()).await), "{client} {server}");
        assert!(refused(forms.call_tool("both", ()).await), "{client} {server}");
        assert_eq!(world.parked(), 0);
    }
}

#[tokio::test]
async fn clients_of_a_server_without_sessions_are_asked_at_the_same_time() {
    for client in [false, true] {
        let world = World::new(true).await;
        let one = world.client("a", answering(client, "A")).await;
        let other = world.client("b", answering(client, "B")).await;
        for _ in 0..5 {
            let (one, other) = tokio::join!(one.call_tool("name", ()), other.call_tool("name", ()));
            assert_eq!((said(&one.unwrap()), said(&other.unwrap())), ("A:Who?", "B:Who?"));
        }
    }
}

#[tokio::test]
async fn the_state_of_a_server_is_its_own() {
    let world = World::new(true).await;
    let asked = ask(&world.front("a"), "name").await;
    assert!(!asked["requestState"].as_str().unwrap().starts_with("mgp-parked"));
    assert_eq!(asked["inputRequests"]["name"]["params"]["message"], "Who?");
    assert_eq!(world.parked(), 0);
    let again = again("name", &asked, &answers(&asked, "A"));
    assert_eq!(text(&send(&world.front("a"), again).await.unwrap()), "A");
}
