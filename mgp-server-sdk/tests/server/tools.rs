//! Calling and listing tools, in both eras.

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::{CallToolResult, ContentBlock};
use mgp_server_sdk::types::{self, Object, RawJson};
use mgp_server_sdk::{Cx, Json, Server, Tool, ToolError, schemars};
use serde_json::json;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// First summand.
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Small {
    #[schemars(range(min = 1, max = 10))]
    n: u8,
}

async fn add(Add { a, b }: Add) -> i64 {
    a + b
}

async fn fail(which: Object) -> Result<String, ToolError> {
    match which.text("how").as_deref() {
        Some("told") => Err(ToolError::new("as you wished")),
        Some("parse") => Ok("x".parse::<i64>()?.to_string()),
        _ => Err(types::Error::invalid_request("not a result").into()),
    }
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("fn", "A function."), add)
        .tool(Tool::new("async_closure", "One."), async |Add { a, b }: Add| (a + b).to_string())
        .tool(Tool::new("closure", "One."), |Add { a, b }: Add| async move { Json(Add { a: a + b, b: 0 }) })
        .tool(Tool::new("args_cx", "Both."), async |args: Add, cx: Cx| {
            format!("{} {}", args.a, cx.request().method)
        })
        .tool(Tool::new("cx", "Context."), async |cx: Cx| cx.session().revision.is_stateless())
        .tool(Tool::new("nothing", "Nothing.").inline(), async || ())
        .tool(Tool::new("raw", "Raw."), async |raw: RawJson| raw.as_bytes().len())
        .tool(Tool::new("fail", "Fails."), fail)
        .tool(Tool::new("small", "Takes a small number."), async |Small { n }: Small| n)
        .tool(
            Tool::with_schema(
                "pattern",
                "Takes what matches.",
                RawJson::parse(r#"{"type":"object","properties":{"x":{"type":"string","pattern":"^a+$"}}}"#)
                    .expect("the schema is JSON"),
            ),
            async |members: Object| members.text("x").map(std::borrow::Cow::into_owned).unwrap_or_default(),
        )
        .tool(Tool::new("blocks", "Several."), async || {
            CallToolResult::new([ContentBlock::text("one"), ContentBlock::text("two")])
        })
}

// covers: GGEN-2-03
#[tokio::test]
async fn every_form_of_handler_is_called() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let sum = json!({"a": 20, "b": 22});
        assert_eq!(peer.text("fn", sum.clone()).await, "42");
        assert_eq!(peer.text("async_closure", sum.clone()).await, "42");
        assert_eq!(peer.text("args_cx", sum.clone()).await, "20 tools/call");
        assert_eq!(peer.text("cx", json!({})).await, (era == Era::Stateless).to_string());
        assert_eq!(peer.text("raw", json!({"x": 1})).await, "7");
        assert_eq!(peer.tool("nothing", json!({})).await.unwrap()["content"], json!([]));
        assert_eq!(peer.tool("blocks", json!({})).await.unwrap()["content"][1]["text"], "two");
    }
}

// covers: GGEN-2-03, GGEN-8.1-02
#[tokio::test]
async fn a_structured_result_comes_with_its_text_and_schema() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let result = peer.tool("closure", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(result["structuredContent"], json!({"a": 3, "b": 0}));
        assert_eq!(result["content"][0]["text"], r#"{"a":3,"b":0}"#);
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        assert_eq!(tools["tools"][2]["outputSchema"]["required"], json!(["a", "b"]));
    }
}

#[tokio::test]
async fn omitted_and_null_arguments_are_none() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        for params in [json!({"name": "nothing"}), json!({"name": "raw", "arguments": null})] {
            let result = peer.call("tools/call", params).await.unwrap();
            assert!(result["isError"].is_null(), "{result}");
        }
    }
}

#[tokio::test]
async fn wrong_arguments_are_a_result_that_names_the_fault() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        for (tool, arguments, text) in [
            (
                "fn",
                json!({"a": "x", "b": 1}),
                "invalid arguments at `/a`: invalid type: string \"x\", expected i64",
            ),
            ("fn", json!({"a": 1}), "invalid arguments: missing field `b`"),
            ("fn", json!([1, 2]), "invalid arguments: expected an object"),
            ("raw", json!(7), "invalid arguments: expected an object"),
            ("small", json!({"n": 0}), "invalid arguments at `/n`: value is less than the minimum of 1"),
            ("small", json!({"n": 11}), "invalid arguments at `/n`: value is greater than the maximum of 10"),
            ("pattern", json!({"x": "b"}), "invalid arguments at `/x`: value does not match \"^a+$\""),
        ] {
            let result = peer.tool(tool, arguments).await.unwrap();
            assert_eq!(result["isError"], true, "{tool}");
            assert_eq!(result["content"][0]["text"], text);
        }
        assert_eq!(peer.text("pattern", json!({"x": "aa"})).await, "aa");
        assert_eq!(peer.text("small", json!({"n": 7})).await, "7");
    }
}

#[tokio::test]
async fn failures_are_results_and_protocol_errors_are_errors() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        for (how, text) in [("told", "as you wished"), ("parse", "invalid digit found in string")] {
            let result = peer.tool("fail", json!({"how": how})).await.unwrap();
            assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!(text)));
        }
        let error = peer.tool("fail", json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (-32600, "not a result"));
    }
}

#[tokio::test]
async fn a_schema_says_what_the_type_does_and_nothing_else() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        assert_eq!(
            tools["tools"][0]["inputSchema"],
            json!({
                "type": "object",
                "properties": {
                    "a": {"description": "First summand.", "type": "integer", "format": "int64"},
                    "b": {"type": "integer", "format": "int64"},
                },
                "required": ["a", "b"],
            })
        );
        assert_eq!(
            tools["tools"][5]["inputSchema"],
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }
}

#[tokio::test]
async fn a_cursor_keeps_its_place_when_tools_come_and_go() {
    for era in Era::BOTH {
        let server = server().page_size(4);
        let handle = server.handle();
        let mut peer = Peer::open(server, era).await;
        let first = peer.call("tools/list", json!({})).await.unwrap();
        assert!(handle.remove_tool("fn"));
        let second = peer.call("tools/list", json!({"cursor": first["nextCursor"]})).await.unwrap();
        assert_eq!(second["tools"][0]["name"], "cx");
    }
}

#[tokio::test]
async fn a_tool_without_arguments_takes_none() {
    for era in Era::BOTH {
        let none = Server::new("test", "1").tool(Tool::new("none", "Takes none."), async || "ran");
        let mut peer = Peer::open(none, era).await;
        assert_eq!(peer.text("none", json!({})).await, "ran");
        let refused = peer.tool("none", json!({"x": 1})).await.unwrap();
        assert_eq!(refused["isError"], true);
        let why = refused["content"][0]["text"].as_str().unwrap();
        assert!(why.contains("takes none, and got `x`"), "{why}");
    }
}

#[test]
fn names_follow_the_rule_of_the_specification() {
    let named =
        |name: String| Server::new("test", "1").tool(Tool::new(name, "A tool."), async || ()).accept();
    for name in ["a".to_owned(), "a.b-c_D9".to_owned(), "a".repeat(128)] {
        assert!(named(name.clone()).is_ok(), "{name}");
    }
    for name in ["", "a/b", "a b", "ä"].map(str::to_owned).into_iter().chain(["a".repeat(129)]) {
        assert!(named(name.clone()).is_err(), "{name}");
    }
}

#[tokio::test]
async fn what_a_handler_cannot_return_or_lacks_is_named_by_its_type() {
    struct Missing;
    #[derive(schemars::JsonSchema)]
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("it is broken"))
        }
    }
    let server = Server::new("test", "1")
        .tool(Tool::new("state", "Asks for state."), async |cx: Cx| {
            cx.state::<Missing>().map(|_| "there").map_err(ToolError::from)
        })
        .tool(Tool::new("json", "Returns what is no JSON."), async || Json(Unwritable));
    let mut peer = Peer::open(server, Era::BOTH[0]).await;
    let state = peer.tool("state", json!({})).await.unwrap_err().to_string();
    assert!(state.contains("Missing") && state.contains("`Server::state`"), "{state}");
    let json = peer.tool("json", json!({})).await.unwrap_err().to_string();
    assert!(json.contains("Unwritable") && json.contains("it is broken"), "{json}");
}

#[test]
fn every_fault_of_the_registration_is_named() {
    let schema = |text: &'static str| RawJson::parse(text).unwrap();
    let faults = Server::new("test", "1")
        .tool(Tool::new("bad name", "Has a space."), async || ())
        .tool(Tool::new("twice", "One."), async || ())
        .tool(Tool::new("twice", "Two."), async || ())
        .tool(Tool::new("array", "Takes no object."), async |_: Vec<i64>| ())
        .tool(Tool::with_schema("string", "Neither.", schema(r#"{"type":"string"}"#)), async |_: RawJson| ())
        .tool(
            Tool::with_schema(
                "remote",
                "Refers.",
                schema(r#"{"type":"object","$ref":"https://example.com/x"}"#),
            ),
            async |_: RawJson| (),
        )
        .accept()
        .unwrap_err()
        .to_string();
    for part in [
        "tool `bad name`: a name has",
        "tool `twice`: it is registered twice",
        "tool `array`",
        "tool `string`",
        "tool `remote`",
    ] {
        assert!(faults.contains(part), "{part} in {faults}");
    }
}
