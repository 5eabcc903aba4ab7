//! Members and methods of vendors, which pass through unchanged, in the sight of all layers.

use mgp_types::{Error, Object, Origin, RawJson};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::calls::text;
use crate::host::{Kind, builder};
use crate::leg::Leg;
use crate::runner::tests;
use crate::seen::Seen;
use crate::server::STRANGE;

tests![
    methods_of_others_are_served_with_members_nobody_knows,
    members_nobody_knows_survive_in_typed_bodies,
    errors_of_others_keep_their_code_and_data,
    notifications_of_others_arrive_at_the_server,
    notifications_of_others_arrive_at_the_client,
    a_client_answers_methods_of_others if in_session,
    a_client_fails_in_its_own_way if in_session,
    only_questions_of_the_specification_are_asked_in_results if stateless,
    layers_on_both_sides_see_every_request,
];

fn in_session(leg: Leg) -> bool {
    !leg.is_stateless()
}

fn stateless(leg: Leg) -> bool {
    leg.is_stateless()
}

fn strange() -> Object {
    Object::parse(STRANGE).unwrap()
}

/// Every member of [`STRANGE`] is in `object`, byte for byte.
fn assert_strange(object: &Object) {
    for (name, value) in strange().iter() {
        assert_eq!(object.bytes(&name), Some(value.as_bytes()), "{name}");
    }
}

// covers: MGP-1.1-01
async fn methods_of_others_are_served_with_members_nobody_knows(leg: Leg) {
    let client = leg.connect().await;
    let answer = client.request("vendor/echo", strange().to_raw()).await.unwrap();
    assert_strange(&Object::from_raw(&answer).unwrap());
    let meta = RawJson::parse(r#"{"any":["thing"]}"#).unwrap();
    let answer = client.request("vendor/echo", ()).meta("vendor.example/trace", meta).await.unwrap();
    let answer: Value = answer.to().unwrap();
    assert_eq!(answer["_meta"]["vendor.example/trace"], json!({"any": ["thing"]}));
}

// covers: MGP-1.1-01
async fn members_nobody_knows_survive_in_typed_bodies(leg: Leg) {
    let client = leg.connect().await;
    let tools = client.list_tools().await.unwrap();
    let fail = tools.iter().find(|tool| tool.name == "fail").unwrap();
    assert_eq!(fail.extra.get("x-vendor").map(RawJson::as_bytes), Some(STRANGE.as_bytes()));
}

async fn errors_of_others_keep_their_code_and_data(leg: Leg) {
    let client = leg.connect().await;
    for data in [STRANGE, "[1,2]", r#""text""#, "7", "false"] {
        let mut params = Object::new();
        params.set("data", RawJson::parse(data).unwrap());
        let error = client.request("vendor/fail", params.to_raw()).await.unwrap_err();
        assert_eq!((error.code(), error.origin()), (-31_337, Origin::Peer));
        assert_eq!(error.message(), "vendor says no");
        assert_eq!(error.data().map(RawJson::as_bytes), Some(data.as_bytes()));
    }
    let error = client.request("vendor/unknown", ()).await.unwrap_err();
    assert_eq!(error.code(), -32601);
}

async fn notifications_of_others_arrive_at_the_server(leg: Leg) {
    let client = leg.connect().await;
    client.notify("notifications/vendor/unknown", strange()).await.unwrap();
    client.notify("notifications/vendor/heard", strange()).await.unwrap();
    let heard = text(&client, "heard", json!({})).await;
    assert_strange(&Object::parse(heard).unwrap());
}

async fn notifications_of_others_arrive_at_the_client(leg: Leg) {
    let (tell, mut received) = mpsc::unbounded_channel();
    let builder = builder().on_notification("notifications/vendor/told", move |params, _| {
        tell.send(params).unwrap();
        std::future::ready(())
    });
    let client = leg.connect_as(builder).await;
    client.call_tool("tell", strange().to_raw()).await.unwrap();
    assert_strange(&received.recv().await.unwrap());
}

async fn a_client_answers_methods_of_others(leg: Leg) {
    let builder = builder().on_request("vendor/question", async |params, _| params.to_raw());
    let client = leg.connect_as(builder).await;
    let answer = client.call_tool("ask", strange().to_raw()).await.unwrap();
    assert_strange(&Object::parse(answer.content[0].as_text().unwrap().to_owned()).unwrap());
}

async fn a_client_fails_in_its_own_way(leg: Leg) {
    let builder = builder().on_request("vendor/question", async |params, _| {
        Err::<RawJson, _>(Error::new(-31_338, "client says no").with_data(params.to_raw()))
    });
    let client = leg.connect_as(builder).await;
    let error = client.call_tool("ask", strange().to_raw()).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (-31_338, "client says no"));
    assert_strange(&Object::from_raw(error.data().unwrap()).unwrap());
    // One that answers nothing of the kind says that.
    let error = leg.connect().await.call_tool("ask", ()).await.unwrap_err();
    assert_eq!(error.code(), -32601);
}

async fn only_questions_of_the_specification_are_asked_in_results(leg: Leg) {
    let builder = builder().on_request("vendor/question", async |params, _| params.to_raw());
    let client = leg.connect_as(builder).await;
    let error = client.call_tool("ask", ()).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Misbehaved);
}

async fn layers_on_both_sides_see_every_request(leg: Leg) {
    let (sent, asked) = (Seen::default(), Seen::default());
    let builder = builder()
        .layer(sent.clone())
        .inbound_layer(asked.clone())
        .on_notification("notifications/vendor/told", |_, _| std::future::ready(()));
    let client = leg.to(Kind::Mcp, builder).await.unwrap();
    text(&client, "seen", json!({})).await;
    sent.take();

    let methods = [
        "tools/list", "prompts/list", "resources/list", "resources/templates/list", "prompts/get",
        "resources/read", "completion/complete", "vendor/echo", "vendor/unknown",
    ];
    for method in methods {
        // Whether it succeeds is nothing to the layers.
        let _ = client.request(method, ()).await;
    }
    client.notify("notifications/vendor/heard", Object::new()).await.unwrap();
    text(&client, "heard", json!({})).await;
    text(&client, "tell", json!({})).await;
    let passed = text(&client, "seen", json!({})).await;

    let mut expected = methods.to_vec();
    expected.extend(["notifications/vendor/heard", "tools/call", "tools/call", "tools/call"]);
    assert_eq!(sent.take(), expected);
    assert_eq!(passed.split(' ').collect::<Vec<_>>(), expected);
    assert_eq!(asked.take(), ["notifications/vendor/told"]);
}
