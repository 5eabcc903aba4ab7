//! The frames on the wire, one by one.

use serde_json::{Value, json};

use crate::leg::Leg;
use crate::raw::{CHUNK, Raw, STREAMING};
use crate::runner::tests;
use crate::server::Kind;

tests![
    a_stream_on_the_wire_is_as_the_specification_has_it if Leg::is_memory,
    ids_may_be_texts if Leg::is_memory,
    a_stream_is_stopped_by_its_id if Leg::is_memory,
    a_plain_client_sees_nothing_of_it if Leg::is_memory,
    a_client_without_the_extension_sees_nothing_of_it if Leg::is_memory,
    a_client_of_a_plain_server_gets_what_mcp_has if Leg::is_memory,
];

// covers: MGP-12.4-01..05, MGP-12.5-01..05
async fn a_stream_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Mgp, STREAMING).await;
    raw.call(20, "think", json!({}), json!({"stream": true})).await;
    let answer = raw.answer(20).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let chunk = |index: u64, content: Value| {
        json!({"jsonrpc": "2.0", "method": CHUNK, "params": {
            "request_id": 20, "index": index, "content": content, "done": false,
        }})
    };
    let expected = [chunk(0, text("Quantum computing is")), chunk(1, text(" a paradigm that uses"))];
    assert_eq!(raw.passed, expected);
    let mut result = answer["result"].clone();
    assert!(result["_mgp"]["duration_ms"].take().is_u64(), "{answer}");
    assert_eq!(result["content"], json!([text("Quantum computing is a paradigm that uses...")]));
    assert_eq!(result["_mgp"], json!({"streamed": true, "chunks_sent": 2, "duration_ms": null}));
}

// covers: MGP-12.4-02, MGP-12.7-02
async fn ids_may_be_texts(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Mgp, STREAMING).await;
    raw.call("call-a", "hang", json!({}), json!({"stream": true})).await;
    for _ in 0..2 {
        assert_eq!(raw.next_notification(CHUNK).await["params"]["request_id"], "call-a");
    }
    // A text is not the number it looks like.
    raw.call("7", "hang", json!({}), json!({"stream": true})).await;
    assert_eq!(raw.next_notification(CHUNK).await["params"]["request_id"], "7");
    raw.ask("stop", "mgp/stream/cancel", json!({"request_id": 7})).await;
    assert_eq!(raw.answer("stop").await["result"]["cancelled"], false);
    raw.ask("stop again", "mgp/stream/cancel", json!({"request_id": "call-a"})).await;
    assert_eq!(raw.answer("call-a").await["result"]["_mgp"]["cancelled"], true);
}

// covers: MGP-12.7-01..06
async fn a_stream_is_stopped_by_its_id(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Mgp, STREAMING).await;
    raw.call(20, "hang", json!({}), json!({"stream": true})).await;
    raw.next_notification(CHUNK).await;
    raw.next_notification(CHUNK).await;
    raw.ask(22, "mgp/stream/cancel", json!({"request_id": 20, "reason": "user_cancelled"})).await;
    let (mut stopped, mut answered) = (json!(null), json!(null));
    while stopped.is_null() || answered.is_null() {
        let message = raw.next().await.unwrap();
        match message["id"].as_u64() {
            Some(20) => answered = message["result"].clone(),
            Some(22) => stopped = message["result"].clone(),
            _ => panic!("{message}"),
        }
    }
    let content = json!([{"type": "text", "text": "one two"}]);
    assert_eq!((&stopped["cancelled"], &stopped["partial_result"]["content"]), (&json!(true), &content));
    assert_eq!((&answered["_mgp"]["cancelled"], &answered["content"]), (&json!(true), &content));
    raw.state.stopped.notified().await;

    raw.ask(23, "mgp/stream/cancel", json!({"request_id": 20})).await;
    let again = raw.answer(23).await["result"].clone();
    assert_eq!((&again["cancelled"], &again["reason"]), (&json!(false), &json!("not_active")));
}

/// Calls that stream, tell progress, ask and fail, and what came.
async fn everything_said(raw: &mut Raw, streaming: Value) -> String {
    let mgp = |call: &Value| call.to_string();
    for (id, tool, arguments) in [
        (1, "count", json!({"to": 3})),
        (2, "think", json!({})),
        (3, "step", json!({"to": 2})),
        (4, "fail", json!({})),
        (5, "remark", json!({})),
        (6, "publish", json!({"channel": "tool.done", "severity": "error", "count": 2})),
    ] {
        raw.call(id, tool, arguments, streaming.clone()).await;
        let answer = raw.answer(id).await;
        raw.passed.push(answer);
    }
    assert_eq!(raw.passed[0]["result"]["content"], json!([{"type": "text", "text": "0 1 2 "}]));
    raw.passed.iter().map(mgp).collect()
}

// covers: MGP-1.2-02, MGP-12.3-02, MGP-12.5-05
async fn a_plain_client_sees_nothing_of_it(leg: Leg) {
    for kind in [Kind::Mgp, Kind::Mcp] {
        let mut raw = Raw::open(leg, kind, &[]).await;
        let said = everything_said(&mut raw, json!({"stream": true, "deadline_ms": 5000})).await;
        assert!(!said.contains("mgp"), "{said}");
        for (id, method) in [
            (10, "mgp/stream/cancel"),
            (11, "mgp/events/subscribe"),
            (12, "mgp/health/ping"),
            (13, "mgp/lifecycle/shutdown"),
            (14, "mgp/callback/respond"),
        ] {
            raw.ask(id, method, json!({"request_id": 1, "channels": ["*"], "reason": "idle_timeout"})).await;
            assert_eq!(raw.answer(id).await["error"]["code"], -32601, "{method}");
        }
        assert_eq!(raw.passed.len(), 6, "{:#?}", raw.passed);
    }
}

// covers: MGP-12.2-01
async fn a_client_without_the_extension_sees_nothing_of_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Mgp, &["lifecycle", "events"]).await;
    let said = everything_said(&mut raw, json!({"stream": true})).await;
    assert!(!said.contains("stream") && !said.contains("chunk"), "{said}");
    assert_eq!(raw.passed.len(), 6);
    raw.ask(10, "mgp/stream/cancel", json!({"request_id": 1})).await;
    assert_eq!(raw.answer(10).await["error"]["code"], -32601);
}

async fn a_client_of_a_plain_server_gets_what_mcp_has(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Mcp, &["streaming", "events", "lifecycle", "callbacks"]).await;
    let said = everything_said(&mut raw, json!({"stream": true})).await;
    assert!(!said.contains("mgp"), "{said}");
}
