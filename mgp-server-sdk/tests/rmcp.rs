//! A server of ours and a client of rmcp, the official Rust SDK: both eras, over a byte stream and over HTTP.
#![cfg(all(unix, feature = "http", feature = "validate"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "rmcp/pair.rs"]
mod pair;

use mgp_server_sdk::Tool;
use rmcp::model::{
    CallToolRequest, CallToolResponse, ClientRequest, ElicitRequestParams, ElicitationAction,
    GetPromptRequestParams, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ResourceContents, ServerNotification, SubscriptionFilter,
};
use rmcp::service::PeerRequestOptions;
use serde_json::json;

use crate::pair::{Era, Pair, Via, WAYS, code, next, object, params, text, within};

#[tokio::test]
async fn both_agree_on_the_newest_revision_of_the_era() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let peer = pair.client.peer_info().unwrap();
        let revision = match way.0 {
            Era::Session => ProtocolVersion::V_2025_11_25,
            Era::Stateless => ProtocolVersion::V_2026_07_28,
        };
        assert_eq!(peer.protocol_version, revision, "{way:?}");
        assert_eq!(peer.server_info.as_ref().unwrap().name, "ours", "{way:?}");
        assert_eq!(peer.instructions.as_deref(), Some("Add."), "{way:?}");
        assert!(peer.capabilities.tools.is_some(), "{way:?}");
    }
}

#[tokio::test]
async fn tools_are_listed_page_by_page() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let first = within(pair.client.list_tools(None)).await.unwrap();
        assert_eq!(first.tools.len(), 2, "{way:?}");
        let rest = PaginatedRequestParams::default().with_cursor(first.next_cursor);
        let second = within(pair.client.list_tools(Some(rest))).await.unwrap();
        assert_eq!(second.tools.len(), 2, "{way:?}");

        let mut all = within(pair.client.list_all_tools()).await.unwrap();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<_> = all.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["add", "count", "fail", "hold", "name", "wait"], "{way:?}");
        assert_eq!(all[0].description.as_deref(), Some("Adds."), "{way:?}");
        assert_eq!(all[0].input_schema["required"], json!(["a", "b"]), "{way:?}");
    }
}

#[tokio::test]
async fn calls_run_side_by_side() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        let waiting = tokio::spawn({
            let peer = pair.client.peer().clone();
            async move { peer.call_tool_once(params("wait", json!({}))).await.is_ok() }
        });
        assert_eq!(next(&mut pair.events).await, "started", "{way:?}");
        let calls = (0..20).map(|n| {
            let pair = &pair;
            async move { assert_eq!(pair.text("add", json!({"a": n, "b": 1})).await, (n + 1).to_string()) }
        });
        futures_util::future::join_all(calls).await;
        assert!(!waiting.is_finished(), "{way:?}");
        waiting.abort();
    }
}

#[tokio::test]
async fn what_a_tool_fails_with_is_a_result() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let result = pair.call("fail", json!({})).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{way:?}");
        assert_eq!(text(&result), "there is no such city", "{way:?}");
        let wrong = pair.call("add", json!({"a": "forty"})).await.unwrap();
        assert_eq!(wrong.is_error, Some(true), "{way:?}");
    }
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_error() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        assert_eq!(code(pair.call("nothing", json!({})).await), -32602, "{way:?}");
    }
}

#[tokio::test]
async fn progress_reaches_the_caller() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        assert_eq!(pair.text("count", json!({})).await, "counted", "{way:?}");
        for (progress, message) in [(1.0, "one"), (2.0, "two")] {
            let report = next(&mut pair.progress).await;
            assert_eq!((report.progress, report.total), (progress, Some(2.0)), "{way:?}");
            assert_eq!(report.message.as_deref(), Some(message), "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_call_taken_back_ends_here_and_the_connection_goes_on() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("wait", json!({}))));
        let options = PeerRequestOptions::no_options();
        let call = within(pair.client.send_cancellable_request(request, options)).await.unwrap();
        assert_eq!(next(&mut pair.events).await, "started", "{way:?}");
        within(call.cancel(Some("enough".into()))).await.unwrap();
        assert_eq!(next(&mut pair.events).await, "dropped", "{way:?}");
        assert_eq!(pair.text("add", json!({"a": 1, "b": 1})).await, "2", "{way:?}");
    }
}

#[tokio::test]
async fn what_a_tool_asks_reaches_the_user_and_the_answer_comes_back() {
    for way in WAYS {
        for (action, answer) in [
            (ElicitationAction::Accept, "Ada"),
            (ElicitationAction::Decline, "declined"),
            (ElicitationAction::Cancel, "cancelled"),
        ] {
            let mut pair = Pair::connect_answering(way, action).await;
            assert_eq!(pair.text("name", json!({})).await, answer, "{way:?}");
            let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } =
                next(&mut pair.asked).await
            else {
                panic!("{way:?}: not a form");
            };
            assert_eq!(message, "Who?", "{way:?}");
            assert!(requested_schema.properties.contains_key("name"), "{way:?}");
        }
    }
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let listed = within(pair.client.list_all_resources()).await.unwrap();
        assert_eq!((&*listed[0].uri, &*listed[0].name), ("test://greeting", "greeting"), "{way:?}");
        assert_eq!(listed[0].mime_type.as_deref(), Some("text/plain"), "{way:?}");
        let templates = within(pair.client.list_all_resource_templates()).await.unwrap();
        assert_eq!(templates[0].uri_template, "test://item/{id}", "{way:?}");
        for (uri, expected) in [("test://greeting", "Hello, world"), ("test://item/7", "item 7")] {
            let read = ReadResourceRequestParams::new(uri);
            let result = within(pair.client.read_resource(read)).await.unwrap();
            let ResourceContents::TextResourceContents { uri: of, text, .. } = &result.contents[0] else {
                panic!("{way:?}: {result:?}");
            };
            assert_eq!((&**of, &**text), (uri, expected), "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_resource_that_does_not_exist_is_an_error_of_the_era() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let read = ReadResourceRequestParams::new("test://nothing");
        let expected = if way.0 == Era::Session { -32002 } else { -32602 };
        assert_eq!(code(within(pair.client.read_resource(read)).await), expected, "{way:?}");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let listed = within(pair.client.list_all_prompts()).await.unwrap();
        assert_eq!(listed[0].name, "greet", "{way:?}");
        let argument = &listed[0].arguments.as_ref().unwrap()[0];
        assert_eq!((&*argument.name, argument.required), ("name", Some(true)), "{way:?}");
        let get = GetPromptRequestParams::new("greet").with_arguments(object(json!({"name": "Ada"})));
        let got = within(pair.client.get_prompt(get)).await.unwrap();
        assert_eq!(got.messages[0].role, rmcp::model::Role::User, "{way:?}");
        assert_eq!(got.messages[0].content.as_text().unwrap().text, "Hello, Ada", "{way:?}");
    }
}

#[tokio::test]
async fn a_client_hears_that_the_tools_changed() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        let mut subscription = match way.0 {
            Era::Session => None,
            Era::Stateless => Some(within(pair.client.listen(filter)).await.unwrap()),
        };
        pair.server.add_tool(Tool::new("new", "New."), async || ()).unwrap();
        match &mut subscription {
            None => next(&mut pair.changed).await,
            Some(subscription) => {
                let heard = within(subscription.next()).await.unwrap().unwrap();
                assert!(matches!(heard, ServerNotification::ToolListChangedNotification(_)), "{heard:?}");
            }
        }
        let names: Vec<_> =
            within(pair.client.list_all_tools()).await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert!(names.iter().any(|name| name == "new"), "{way:?}: {names:?}");
    }
}

#[tokio::test]
async fn an_answer_outlives_its_connection_in_a_session() {
    let mut pair = Pair::connect((Era::Session, Via::Http)).await;
    let call = tokio::spawn({
        let peer = pair.client.peer().clone();
        async move { peer.call_tool_once(params("hold", json!({}))).await }
    });
    next(&mut pair.progress).await;
    pair.cut().await;
    pair.release.notify_one();
    let CallToolResponse::Complete(result) = within(call).await.unwrap().unwrap() else {
        panic!("nothing is asked");
    };
    assert_eq!(text(&result), "held");
    assert!(pair.progress.try_recv().is_err(), "nothing is told twice");
}
