//! Progress, in the form of MGP and in that of MCP (§12.6).

use std::sync::Arc;

use mgp_client_sdk::StreamPart;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{builder, connect, plain_builder};
use crate::host::{Kind, text};
use crate::leg::Leg;
use crate::runner::tests;
use crate::sections::raw::{CHUNK, Raw, STREAMING};

tests![
    a_stream_tells_how_far_it_is,
    whoever_asks_as_mcp_does_is_told_so,
    both_forms_come_where_both_are_asked_for if Leg::is_memory,
];

const PROGRESS: &str = "notifications/mgp.stream.progress";

// covers: MGP-12.6-01, MGP-12.6-03, MGP-12.6-04, MGP-12.6-05
async fn a_stream_tells_how_far_it_is(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = client.call_tool("step", json!({"to": 4})).stream().unwrap();
    let mut parts = Vec::new();
    while let Some(part) = streamed.next().await {
        parts.push(match part {
            StreamPart::Progress(progress) => {
                assert_eq!(progress.message.as_deref(), Some("step"));
                assert!(progress.estimated_remaining_ms.is_some());
                format!("{}", progress.progress)
            }
            StreamPart::Chunk(chunk) => chunk.content.as_text().unwrap().to_owned(),
            part => panic!("{part:?}"),
        });
    }
    assert_eq!(parts, ["0.25", "1 ", "0.5", "2 ", "0.75", "3 ", "1", "4 "]);
    assert_eq!(text(&streamed.finish().await.unwrap()), "1 2 3 4 ");
}

async fn whoever_asks_as_mcp_does_is_told_so(leg: Leg) {
    for builder in [builder(), plain_builder()] {
        let mut host = leg.host(Kind::Sections).await;
        let client = host.client(builder).await;
        let reported = Arc::<Mutex<Vec<f64>>>::default();
        let heard = reported.clone();
        let call = client.call_tool("step", json!({"to": 4}));
        let call = call.on_progress(move |report| heard.lock().push(report.progress.as_f64()));
        assert_eq!(text(&call.await.unwrap()), "1 2 3 4 ");
        assert_eq!(*reported.lock(), [1.0, 2.0, 3.0, 4.0]);
    }
}

// covers: MGP-12.6-01, MGP-12.6-02
async fn both_forms_come_where_both_are_asked_for(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, STREAMING).await;
    let params =
        |meta: Value, mgp: Value| json!({"name": "step", "arguments": {"to": 2}, "_meta": meta, "_mgp": mgp});
    raw.ask(7, "tools/call", params(json!({"progressToken": "t"}), json!({"stream": true}))).await;
    raw.answer(7).await;
    let methods: Vec<_> = raw.passed.iter().map(|message| message["method"].as_str().unwrap()).collect();
    let mcp = "notifications/progress";
    assert_eq!(methods, [mcp, PROGRESS, CHUNK, mcp, PROGRESS, CHUNK]);
    assert_eq!(
        raw.params(mcp)[0],
        json!({"progressToken": "t", "progress": 1, "total": 2, "message": "step"})
    );
    let mut reported = raw.params(PROGRESS)[0].clone();
    assert!(reported["estimated_remaining_ms"].take().is_u64());
    assert_eq!(
        reported,
        json!({"request_id": 7, "progress": 0.5, "message": "step", "estimated_remaining_ms": null})
    );

    raw.passed.clear();
    raw.ask(8, "tools/call", params(json!({}), json!({}))).await;
    raw.answer(8).await;
    assert!(raw.passed.iter().all(|message| message["method"] == PROGRESS), "{:#?}", raw.passed);
    assert_eq!(raw.params(PROGRESS).len(), 2);
}
