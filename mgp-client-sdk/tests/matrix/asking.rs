//! Questions of a server in the middle of a call: one handler serves both eras.

use futures_util::future::join_all;
use mgp_client_sdk::Elicited;
use mgp_types::mcp::{CreateMessageResult, Role, Root, SamplingContents};
use serde_json::json;
use tokio::sync::mpsc;

use crate::calls::text;
use crate::host::builder;
use crate::leg::{Builder, Leg, Transport};
use crate::runner::tests;

tests![
    a_form_is_filled_in if can_elicit,
    a_page_is_visited if can_elicit,
    a_refusal_is_told_apart_from_an_answer if can_elicit,
    questions_follow_one_another if can_elicit,
    questions_are_asked_together if can_elicit,
    questions_of_concurrent_calls_are_kept_apart if can_elicit,
    a_dropped_call_takes_its_question_with_it,
    prompts_and_resources_ask_too if can_elicit,
    the_model_and_the_roots_are_asked_for,
    a_client_that_cannot_answer_is_not_asked,
];

/// HTTP+SSE here has the first revision, which has no elicitation.
fn can_elicit(leg: Leg) -> bool {
    leg.transport != Transport::Sse
}

/// Returns a client that answers everything.
fn answering() -> Builder {
    builder()
        .on_elicitation(|form, _| async move {
            Elicited::Accepted(json!({"name": format!("<{}>", form.message)}))
        })
        .on_url_elicitation(|page, _| async move {
            assert_eq!(page.url, "https://example.com/");
            Elicited::Accepted(())
        })
        .on_sampling(|params, _| async move {
            assert_eq!(params.max_tokens, 10);
            CreateMessageResult::new(Role::Assistant, SamplingContents::from("hi"), "a-model")
        })
        .roots([Root::new("file:///a"), Root::new("file:///b")])
}

async fn a_form_is_filled_in(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    assert_eq!(text(&client, "name", json!({})).await, "<Who?>");
    // The next call is asked anew.
    assert_eq!(text(&client, "name", json!({})).await, "<Who?>");
}

async fn a_page_is_visited(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    assert_eq!(text(&client, "page", json!({})).await, "true");
}

async fn a_refusal_is_told_apart_from_an_answer(leg: Leg) {
    let client = leg.connect_as(builder().on_elicitation(async |_, _| Elicited::declined())).await;
    assert_eq!(text(&client, "name", json!({})).await, "declined");
    let client = leg.connect_as(builder().on_elicitation(async |_, _| Elicited::cancelled())).await;
    assert_eq!(text(&client, "name", json!({})).await, "cancelled");
}

async fn questions_follow_one_another(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    assert_eq!(text(&client, "steps", json!({})).await, "<First?> <After <First?>?> a-model");
}

async fn questions_are_asked_together(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    assert_eq!(text(&client, "all", json!({})).await, "<Who?> a-model 2");
}

async fn questions_of_concurrent_calls_are_kept_apart(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    let calls = (0..16).map(|number| {
        let client = client.clone();
        async move { (number, text(&client, "name_of", json!({"text": format!("{number}?")})).await) }
    });
    for (number, answer) in join_all(calls).await {
        assert_eq!(answer, format!("<{number}?>"));
    }
}

/// Says when it is gone.
struct Gone(mpsc::UnboundedSender<()>);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

async fn a_dropped_call_takes_its_question_with_it(leg: Leg) {
    let (asked, mut begun) = mpsc::unbounded_channel();
    let (end, mut ended) = mpsc::unbounded_channel();
    let builder = builder().on_sampling(move |_, _| {
        let (asked, gone) = (asked.clone(), Gone(end.clone()));
        async move {
            let _gone = gone;
            asked.send(()).unwrap();
            std::future::pending::<CreateMessageResult>().await
        }
    });
    let client = leg.connect_as(builder).await;
    let mut call = Box::pin(client.call_tool("sample", ()).into_future());
    tokio::select! {
        outcome = &mut call => panic!("nobody answers: {outcome:?}"),
        _ = begun.recv() => {}
    }
    assert!(ended.try_recv().is_err());
    drop(call);
    ended.recv().await.unwrap();
    assert_eq!(text(&client, "echo", json!({"text": "hi"})).await, "hi");
}

async fn prompts_and_resources_ask_too(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    let prompt = client.get_prompt("asking", ()).await.unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("<Who?>"));
    let resource = client.read_resource("matrix://asking").await.unwrap();
    assert_eq!(resource.contents[0].text.as_deref(), Some("<Who?>"));
}

async fn the_model_and_the_roots_are_asked_for(leg: Leg) {
    let client = leg.connect_as(answering()).await;
    assert_eq!(text(&client, "sample", json!({})).await, "a-model: hi");
    assert_eq!(text(&client, "roots", json!({})).await, "file:///a file:///b");
    client.set_roots([Root::new("file:///c")]).await.unwrap();
    assert_eq!(text(&client, "roots", json!({})).await, "file:///c");
}

// covers: BASE-04
async fn a_client_that_cannot_answer_is_not_asked(leg: Leg) {
    let client = leg.connect().await;
    for tool in ["sample", "roots"] {
        let error = client.call_tool(tool, ()).await.unwrap_err();
        assert_eq!(error.code(), if leg.is_stateless() { -32021 } else { -32600 }, "{tool}");
    }
    assert!(client.set_roots([]).await.is_err(), "it declared no roots");
}
