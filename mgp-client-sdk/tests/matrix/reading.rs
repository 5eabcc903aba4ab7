//! Resources, templates, prompts and completion.

use mgp_types::mcp::{Map, PromptReference, ResourceTemplateReference};
use serde_json::json;

use crate::leg::Leg;
use crate::runner::tests;
use crate::server::THING;

tests![
    resources_are_listed_and_read,
    resources_of_a_template_are_read_by_their_uri,
    prompts_are_listed_and_filled_in,
    arguments_are_completed,
];

async fn resources_are_listed_and_read(leg: Leg) {
    let client = leg.connect().await;
    let resources = client.list_resources().await.unwrap();
    let text = resources.iter().find(|resource| resource.uri == "matrix://text").unwrap();
    assert_eq!(text.mime_type.as_deref(), Some("text/plain"));

    let text = client.read_resource("matrix://text").await.unwrap();
    assert_eq!(text.contents[0].text.as_deref(), Some("a text"));
    let bytes = client.read_resource("matrix://bytes").await.unwrap();
    assert_eq!(bytes.contents[0].blob.as_deref(), Some("AJ//"));

    let error = client.read_resource("matrix://nothing").await.unwrap_err();
    assert_eq!(error.code(), if leg.is_stateless() { -32602 } else { -32002 });
}

async fn resources_of_a_template_are_read_by_their_uri(leg: Leg) {
    let client = leg.connect().await;
    let templates = client.list_resource_templates().await.unwrap();
    assert_eq!(templates.iter().map(|template| &*template.uri_template).collect::<Vec<_>>(), [THING]);
    let thing = client.read_resource("matrix://things/7").await.unwrap();
    assert_eq!(thing.contents[0].text.as_deref(), Some("thing 7"));
    assert_eq!(thing.contents[0].uri, "matrix://things/7");
    for missing in ["matrix://things/700", "matrix://things/x"] {
        client.read_resource(missing).await.unwrap_err();
    }
}

async fn prompts_are_listed_and_filled_in(leg: Leg) {
    let client = leg.connect().await;
    let prompts = client.list_prompts().await.unwrap();
    let greet = prompts.iter().find(|prompt| prompt.name == "greet").unwrap();
    let arguments = greet.arguments.as_deref().unwrap_or_default();
    let arguments: Vec<_> =
        arguments.iter().map(|argument| (&*argument.name, argument.required == Some(true))).collect();
    assert_eq!(arguments, [("name", true), ("style", false)]);

    let filled = client.get_prompt("greet", json!({"name": "Ada", "style": "Welcome"})).await.unwrap();
    assert_eq!(filled.messages[0].content.as_text(), Some("Welcome, Ada!"));
    let plain = client.get_prompt("plain", ()).await.unwrap();
    assert_eq!(plain.messages[0].content.as_text(), Some("plain"));
    assert_eq!(client.get_prompt("greet", ()).await.unwrap_err().code(), -32602);
    assert_eq!(client.get_prompt("nothing", ()).await.unwrap_err().code(), -32602);
}

// covers: BASE-05
async fn arguments_are_completed(leg: Leg) {
    let client = leg.connect().await;
    let given: Map<String> = [("name".to_owned(), "Ada".to_owned())].into_iter().collect();
    let completed = client.complete(PromptReference::new("greet"), "style", "so", given).await.unwrap();
    // What is given already, older clients do not say.
    let expected = if leg.revision >= mgp_types::Revision::V2025_06_18 { "so-Ada" } else { "so-" };
    assert_eq!(completed.completion.values, [expected]);
    let completed =
        client.complete(ResourceTemplateReference::new(THING), "id", "4", Map::new()).await.unwrap();
    assert_eq!(completed.completion.values, ["41", "42"]);
    let completed = client.complete(PromptReference::new("greet"), "name", "", Map::new()).await.unwrap();
    assert!(completed.completion.values.is_empty());
    let error = client.complete(PromptReference::new("nothing"), "x", "", Map::new()).await.unwrap_err();
    assert_eq!(error.code(), -32602);
}
