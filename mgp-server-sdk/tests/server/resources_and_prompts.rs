//! Reading resources, getting prompts, completing arguments, in both eras.

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::{PromptArgument, ResourceContents};
use mgp_server_sdk::types;
use mgp_server_sdk::{
    Blob, CompletionRequest, Cx, Error, Prompt, Resource, ResourceTemplate, Server, ToolError, Uri, mcp::Map,
};
use serde_json::json;

#[derive(serde::Deserialize)]
struct Item {
    id: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// What to review.
    code: String,
    strict: Option<bool>,
}

fn server() -> Server {
    Server::new("test", "1")
        .resource(Resource::new("test://text", "text").media_type("text/plain"), async || "hello")
        .resource(Resource::new("test://bytes", "bytes"), async || Blob([0xFF, 0x00]))
        .resource(Resource::new("test://full", "full"), async || {
            vec![
                ResourceContents::text("test://full/1", "one"),
                ResourceContents::text("test://full/2", "two"),
            ]
        })
        .resource(Resource::new("test://gone", "gone"), async || None::<String>)
        .resource(Resource::new("test://broken", "broken"), async || {
            Err::<String, _>(ToolError::new("disk on fire"))
        })
        .resource_template(
            ResourceTemplate::new("test://item/{id}", "item").media_type("application/json"),
            async |Item { id }: Item, cx: Cx| format!("{} {}", id + 1, cx.request().method),
        )
        .resource_template(ResourceTemplate::new("test://any/{x}/{y}", "any"), async |Uri(uri): Uri| uri)
        .prompt(Prompt::new("plain", "Plain."), async || "Say hello.")
        .prompt(Prompt::new("review", "Reviews."), async |Review { code, strict }: Review| {
            format!("{code} {strict:?}")
        })
        .prompt(
            Prompt::new("raw", "Raw.").required("a", "First.").argument(PromptArgument::new("b")),
            async |arguments: Map<String>| arguments.get("a").cloned().unwrap_or_default(),
        )
        .complete_prompt("review", "code", async |typed: CompletionRequest| {
            (0..150).map(|n| format!("{}{n}", typed.value)).collect::<Vec<_>>()
        })
        .complete_resource("test://item/{id}", "id", async |typed: CompletionRequest, _: Cx| {
            [format!("{} {}", typed.value, typed.arguments.get("other").map_or("", String::as_str))]
        })
}

// covers: GGEN-2-06
#[tokio::test]
async fn resources_are_read_as_text_and_bytes() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        for (uri, contents) in [
            ("test://text", json!([{"uri": "test://text", "mimeType": "text/plain", "text": "hello"}])),
            ("test://bytes", json!([{"uri": "test://bytes", "blob": "/wA="}])),
            (
                "test://full",
                json!([{"uri": "test://full/1", "text": "one"}, {"uri": "test://full/2", "text": "two"}]),
            ),
            (
                "test://item/41",
                json!([{"uri": "test://item/41", "mimeType": "application/json", "text": "42 resources/read"}]),
            ),
            ("test://any/a/b", json!([{"uri": "test://any/a/b", "text": "test://any/a/b"}])),
        ] {
            let result = peer.call("resources/read", json!({"uri": uri})).await.unwrap();
            assert_eq!(result["contents"], contents);
            assert_eq!(result["ttlMs"].is_null(), era == Era::Session);
        }
    }
}

#[tokio::test]
async fn a_resource_that_is_not_there_is_an_error_that_names_it() {
    for (era, code) in [(Era::Session, -32002), (Era::Stateless, -32602)] {
        let mut peer = Peer::open(server(), era).await;
        for uri in ["test://nothing", "test://gone", "test://item/1/2"] {
            let error = peer.call("resources/read", json!({"uri": uri})).await.unwrap_err();
            assert_eq!(error.code(), code);
            let data: serde_json::Value = error.data().unwrap().to().unwrap();
            assert_eq!(data, json!({"uri": uri}));
        }
    }
}

#[tokio::test]
async fn failures_to_read_are_errors() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let error = peer.call("resources/read", json!({"uri": "test://broken"})).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (-32603, "disk on fire"));
        let error = peer.call("resources/read", json!({"uri": "test://item/x"})).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (-32602, "invalid resource URI: `x` is not an integer"));
        assert_eq!(peer.call("resources/read", json!({})).await.unwrap_err().code(), -32602);
    }
}

// covers: GGEN-2-05
#[tokio::test]
async fn resources_and_templates_are_listed_apart() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let resources = peer.call("resources/list", json!({})).await.unwrap();
        assert_eq!(resources["resources"].as_array().unwrap().len(), 5);
        let templates = peer.call("resources/templates/list", json!({})).await.unwrap();
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "test://item/{id}");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let prompts = peer.call("prompts/list", json!({})).await.unwrap();
        assert_eq!(
            prompts["prompts"][1]["arguments"],
            json!([
                {"name": "code", "description": "What to review.", "required": true},
                {"name": "strict", "required": false},
            ])
        );
        let get = |name, arguments| json!({"name": name, "arguments": arguments});
        for (params, text) in [
            (json!({"name": "plain"}), "Say hello."),
            (get("review", json!({"code": "x", "strict": "true"})), "x Some(true)"),
            (get("review", json!({"code": "x"})), "x None"),
            (get("raw", json!({"a": "y", "c": "z"})), "y"),
        ] {
            let prompt = peer.call("prompts/get", params).await.unwrap();
            let message = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
            assert_eq!(prompt["messages"], message);
        }
    }
}

#[tokio::test]
async fn wrong_requests_for_prompts_are_errors() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        for params in [
            json!({}),
            json!({"name": "nope"}),
            json!({"name": "review"}),
            json!({"name": "review", "arguments": {"code": 7}}),
            json!({"name": "review", "arguments": {"code": "x", "strict": "perhaps"}}),
            json!({"name": "raw", "arguments": {"b": "x"}}),
        ] {
            let error = peer.call("prompts/get", params.clone()).await.unwrap_err();
            assert_eq!(error.code(), -32602, "{params}");
        }
    }
}

#[tokio::test]
async fn arguments_are_completed_a_hundred_at_most() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let complete = |reference: &serde_json::Value, name: &str, value: &str| json!({"ref": reference, "argument": {"name": name, "value": value}});
        let review = json!({"type": "ref/prompt", "name": "review"});
        let result = peer.call("completion/complete", complete(&review, "code", "x")).await.unwrap();
        assert_eq!(result["completion"]["values"].as_array().unwrap().len(), 100);
        assert_eq!(result["completion"]["total"], 150);
        assert_eq!(result["completion"]["hasMore"], true);

        let mut params = complete(&json!({"type": "ref/resource", "uri": "test://item/{id}"}), "id", "4");
        params["context"] = json!({"arguments": {"other": "o"}});
        let result = peer.call("completion/complete", params).await.unwrap();
        assert_eq!(result["completion"]["values"], json!(["4 o"]));

        let result = peer.call("completion/complete", complete(&review, "strict", "t")).await.unwrap();
        assert_eq!(result["completion"]["values"], json!([]));
        let unknown = complete(&json!({"type": "ref/prompt", "name": "nope"}), "x", "");
        assert_eq!(peer.call("completion/complete", unknown).await.unwrap_err().code(), -32602);
    }
}

#[test]
fn faults_of_templates_and_completions_are_named() {
    let server = Server::new("test", "1")
        .resource(Resource::new("no scheme", "x"), async || "")
        .resource_template(ResourceTemplate::new("test://{+path}", "x"), async |_: Uri| "")
        .complete_prompt("nope", "x", async |_: CompletionRequest| ["x"])
        .prompt(Prompt::new("p", "P."), async || "")
        .complete_prompt("p", "nope", async |_: CompletionRequest| ["x"]);
    let Err(Error::Invalid(faults)) = server.accept() else { panic!("it cannot be served") };
    let mut subjects: Vec<_> = faults.iter().map(|fault| fault.subject.as_str()).collect();
    subjects.sort_unstable();
    let expected =
        ["prompt `nope`", "prompt `p`", "resource `no scheme`", "resource template `test://{+path}`"];
    assert_eq!(subjects, expected);
}

#[test]
fn static_property_what_is_shared_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<mgp_server_sdk::Router>();
    shared::<mgp_server_sdk::ServerHandle>();
    shared::<Cx>();
    shared::<Result<(), types::Error>>();
}
