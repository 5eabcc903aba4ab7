//! A client of ours and a server of rmcp, the official Rust SDK: every era, over a byte stream and over HTTP.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "rmcp/pair.rs"]
mod pair;
#[path = "rmcp/server.rs"]
mod server;

use mgp_client_sdk::{Change, Elicited};
use mgp_transport::era::EraMode;
use mgp_types::mcp::{ListToolsParams, Role, SubscriptionFilter};
use mgp_types::{Origin, Revision};
use rmcp::model::ProtocolVersion;
use serde_json::json;
use tokio::sync::mpsc;

use crate::pair::{Pair, Via, WAYS, builder, next, within};
use crate::server::TOOLS;

const OLDER: &[ProtocolVersion] = &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25];
const NEWER: &[ProtocolVersion] = &[ProtocolVersion::V_2026_07_28];

#[tokio::test]
async fn both_agree_on_the_newest_revision_of_the_era() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let revision = if way.0 == EraMode::Session { Revision::V2025_11_25 } else { Revision::V2026_07_28 };
        assert_eq!(pair.client.revision(), Some(revision), "{way:?}");
        assert_eq!(pair.client.server_info().unwrap().name, "theirs", "{way:?}");
        assert_eq!(pair.client.instructions().as_deref(), Some("Add."), "{way:?}");
        assert!(pair.client.capabilities().contains("tools"), "{way:?}");
    }
}

#[tokio::test]
async fn a_client_that_asks_finds_a_server_that_knows_sessions_only_and_speaks_what_it_knows_itself() {
    for via in [Via::Stream, Via::Http, Via::HttpJson] {
        let older = || builder().revisions([Revision::V2025_06_18]);
        for (builder, revision) in [(builder(), Revision::V2025_11_25), (older(), Revision::V2025_06_18)] {
            let pair = Pair::connect_as((EraMode::Auto, via), builder, OLDER).await.unwrap();
            assert_eq!(pair.client.revision(), Some(revision), "{via:?}");
            assert_eq!(pair.text("add", json!({"a": 40, "b": 2})).await, "42", "{via:?}");
        }
    }
}

#[tokio::test]
async fn a_server_of_the_other_era_is_refused() {
    for via in [Via::Stream, Via::Http] {
        for (mode, revisions) in [(EraMode::Session, NEWER), (EraMode::Stateless, OLDER)] {
            let outcome = Pair::connect_as((mode, via), builder(), revisions).await;
            let error = outcome.map(|_| ()).unwrap_err();
            assert_eq!((error.code(), error.origin()), (-32022, Origin::Peer), "{mode:?} {via:?}: {error}");
        }
    }
}

#[tokio::test]
async fn tools_are_listed_page_by_page() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let first = within(pair.client.send(&ListToolsParams::new())).await.unwrap();
        assert_eq!((first.tools.len(), first.next_cursor.as_deref()), (4, Some("4")), "{way:?}");
        let tools = within(pair.client.list_tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, TOOLS, "{way:?}");
        assert_eq!(tools[0].description.as_deref(), Some("A tool."), "{way:?}");
        let schema: serde_json::Value = tools[0].input_schema.to().unwrap();
        assert_eq!(schema["required"], json!(["a", "b"]), "{way:?}");
    }
}

#[tokio::test]
async fn calls_run_side_by_side() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        let waiting = tokio::spawn(pair.client.call_tool("wait", ()).into_future());
        assert_eq!(next(&mut pair.events).await, "started", "{way:?}");
        let calls: Vec<_> = (0..20)
            .map(|n| tokio::spawn(pair.client.call_tool("add", json!({"a": n, "b": 1})).into_future()))
            .collect();
        for (n, call) in (0..).zip(calls) {
            let result = within(call).await.unwrap().unwrap();
            assert_eq!(result.content[0].as_text(), Some(&*(n + 1).to_string()), "{way:?}");
        }
        assert!(!waiting.is_finished(), "{way:?}");
        waiting.abort();
    }
}

#[tokio::test]
async fn what_a_tool_fails_with_is_a_result() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let result = within(pair.client.call_tool("fail", ())).await.unwrap();
        assert!(result.is_error(), "{way:?}");
        assert_eq!(result.content[0].as_text(), Some("there is no such city"), "{way:?}");
    }
}

#[tokio::test]
async fn what_the_server_refuses_is_an_error() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let error = within(pair.client.call_tool("nothing", ())).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (-32602, "there is no such tool"), "{way:?}");
        assert_eq!(error.origin(), Origin::Peer, "{way:?}");
        let error = within(pair.client.request("vendor/nothing", ())).await.unwrap_err();
        assert_eq!(error.code(), -32601, "{way:?}");
    }
}

#[tokio::test]
async fn progress_is_told_in_order_and_before_the_answer() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let (report, mut reports) = mpsc::unbounded_channel();
        let call = pair.client.call_tool("count", ()).on_progress(move |update| report.send(update).unwrap());
        let result = within(call).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("counted"), "{way:?}");
        for (progress, message) in [(1, "one"), (2, "two")] {
            let update = reports.try_recv().unwrap();
            assert_eq!((update.progress, update.total), (progress.into(), Some(2.into())), "{way:?}");
            assert_eq!(update.message.as_deref(), Some(message), "{way:?}");
        }
        assert!(reports.try_recv().is_err(), "{way:?}");
    }
}

#[tokio::test]
async fn a_call_taken_back_ends_at_the_server_and_the_connection_goes_on() {
    for way in WAYS {
        let mut pair = Pair::connect(way).await;
        let call = tokio::spawn(pair.client.call_tool("wait", ()).into_future());
        assert_eq!(next(&mut pair.events).await, "started", "{way:?}");
        call.abort();
        assert_eq!(next(&mut pair.events).await, "cancelled", "{way:?}");
        assert_eq!(pair.text("add", json!({"a": 1, "b": 1})).await, "2", "{way:?}");
    }
}

#[tokio::test]
async fn what_a_tool_asks_reaches_the_user_and_the_answer_comes_back() {
    for way in WAYS {
        for answer in ["Ada", "declined", "cancelled"] {
            let (ask, mut asked) = mpsc::unbounded_channel();
            let builder = builder().on_elicitation(move |form, _| {
                ask.send(form).unwrap();
                async move {
                    match answer {
                        "declined" => Elicited::Declined,
                        "cancelled" => Elicited::Cancelled,
                        name => Elicited::Accepted(json!({"name": name})),
                    }
                }
            });
            let pair = Pair::connect_as(way, builder, ProtocolVersion::KNOWN_VERSIONS).await.unwrap();
            assert_eq!(pair.text("name", json!({})).await, answer, "{way:?}");
            let form = next(&mut asked).await;
            assert_eq!(form.message, "Who?", "{way:?}");
            assert!(form.requested_schema.properties.get("name").is_some(), "{way:?}");
            assert!(asked.try_recv().is_err(), "{way:?}: it is asked once");
        }
    }
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let listed = within(pair.client.list_resources()).await.unwrap();
        assert_eq!((&*listed[0].uri, &*listed[0].name), ("test://greeting", "greeting"), "{way:?}");
        assert_eq!(listed[0].mime_type.as_deref(), Some("text/plain"), "{way:?}");
        assert!(within(pair.client.list_resource_templates()).await.unwrap().is_empty(), "{way:?}");
        let read = within(pair.client.read_resource("test://greeting")).await.unwrap();
        assert_eq!(read.contents[0].uri, "test://greeting", "{way:?}");
        assert_eq!(read.contents[0].text.as_deref(), Some("Hello, world"), "{way:?}");
    }
}

#[tokio::test]
async fn a_resource_that_does_not_exist_is_an_error_of_the_era() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let error = within(pair.client.read_resource("test://nothing")).await.unwrap_err();
        let expected = if way.0 == EraMode::Session { -32002 } else { -32602 };
        assert_eq!(error.code(), expected, "{way:?}");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let listed = within(pair.client.list_prompts()).await.unwrap();
        assert_eq!(listed[0].name, "greet", "{way:?}");
        let argument = &listed[0].arguments.as_ref().unwrap()[0];
        assert_eq!((&*argument.name, argument.required), ("name", Some(true)), "{way:?}");
        let got = within(pair.client.get_prompt("greet", json!({"name": "Ada"}))).await.unwrap();
        assert_eq!(got.messages[0].role, Role::User, "{way:?}");
        assert_eq!(got.messages[0].content.as_text(), Some("Hello, Ada"), "{way:?}");
    }
}

#[tokio::test]
async fn a_client_hears_that_the_tools_changed() {
    for way in WAYS {
        let pair = Pair::connect(way).await;
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        let mut subscription = within(pair.client.subscribe(filter)).await.unwrap();
        assert_eq!(pair.text("change", json!({})).await, "changed", "{way:?}");
        assert_eq!(within(subscription.next()).await.unwrap().unwrap(), Change::Tools, "{way:?}");
        within(subscription.close()).await.unwrap();
        assert_eq!(pair.text("add", json!({"a": 1, "b": 1})).await, "2", "{way:?}");
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_understood_in_both_eras() {
    for mode in [EraMode::Auto, EraMode::Session, EraMode::Stateless] {
        let pair = Pair::connect((mode, Via::HttpJson)).await;
        let tools = within(pair.client.list_tools()).await.unwrap();
        assert_eq!(tools.len(), TOOLS.len(), "{mode:?}");
        assert_eq!(pair.text("add", json!({"a": 40, "b": 2})).await, "42", "{mode:?}");
        let (report, mut reports) = mpsc::unbounded_channel();
        let call = pair.client.call_tool("count", ()).on_progress(move |update| report.send(update).unwrap());
        within(call).await.unwrap();
        assert_eq!(next(&mut reports).await.progress, 1.into(), "{mode:?}");
        within(pair.client.close()).await.unwrap();
    }
}

#[tokio::test]
async fn closing_ends_the_connection_or_the_session() {
    for mode in [EraMode::Auto, EraMode::Session, EraMode::Stateless] {
        let mut pair = Pair::connect((mode, Via::Stream)).await;
        assert_eq!(pair.text("add", json!({"a": 40, "b": 2})).await, "42", "{mode:?}");
        within(pair.client.close()).await.unwrap();
        assert_eq!(next(&mut pair.events).await, "closed", "{mode:?}");
    }
    let pair = Pair::connect((EraMode::Session, Via::Http)).await;
    assert_eq!(pair.sessions.sessions.read().await.len(), 1);
    within(pair.client.close()).await.unwrap();
    assert_eq!(pair.sessions.sessions.read().await.len(), 0);
}

#[tokio::test]
async fn no_session_is_opened_where_there_are_none() {
    for mode in [EraMode::Auto, EraMode::Stateless] {
        let pair = Pair::connect((mode, Via::Http)).await;
        assert_eq!(pair.text("add", json!({"a": 40, "b": 2})).await, "42", "{mode:?}");
        assert_eq!(pair.sessions.sessions.read().await.len(), 0, "{mode:?}");
    }
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_opened_anew() {
    let pair = Pair::connect((EraMode::Session, Via::Http)).await;
    pair.sessions.sessions.write().await.clear();
    assert_eq!(pair.text("add", json!({"a": 40, "b": 2})).await, "42");
    assert_eq!(pair.sessions.sessions.read().await.len(), 1);
}

#[tokio::test]
async fn an_answer_outlives_its_connection_in_a_session() {
    let mut pair = Pair::connect((EraMode::Session, Via::Http)).await;
    let (report, mut reports) = mpsc::unbounded_channel();
    let call = pair.client.call_tool("hold", ()).on_progress(move |update| report.send(update).unwrap());
    let call = tokio::spawn(call.into_future());
    for expected in [1, 2] {
        assert_eq!(next(&mut reports).await.progress, expected.into());
    }
    pair.cut();
    for stream in ["the call's", "the session's"] {
        assert_eq!(next(&mut pair.events).await, "resumed", "{stream}");
    }
    // Only now: this server loses what it says while nobody listens.
    pair.release.notify_one();
    let result = within(call).await.unwrap().unwrap();
    assert_eq!(result.content[0].as_text(), Some("held"));
}
