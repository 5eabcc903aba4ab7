//! The frames on the wire, one by one.

use serde_json::{Value, json};

use crate::host::Kind;
use crate::leg::Leg;
use crate::runner::tests;
use crate::sections::raw::{CHUNK, Raw, STREAMING};

tests![
    a_stream_on_the_wire_is_as_the_specification_has_it if Leg::is_memory,
    a_plain_client_sees_nothing_of_it if Leg::is_memory,
    a_client_without_the_extension_sees_nothing_of_it if Leg::is_memory,
];

// covers: MGP-12.4-01..05, MGP-12.5-01..05
async fn a_stream_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, STREAMING).await;
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
    for kind in [Kind::Sections, Kind::Sectionless] {
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
    let mut raw = Raw::open(leg, Kind::Sections, &["lifecycle", "events"]).await;
    let said = everything_said(&mut raw, json!({"stream": true})).await;
    assert!(!said.contains("stream") && !said.contains("chunk"), "{said}");
    assert_eq!(raw.passed.len(), 6);
    raw.ask(10, "mgp/stream/cancel", json!({"request_id": 1})).await;
    assert_eq!(raw.answer(10).await["error"]["code"], -32601);
}
