//! The time limits of calls, and their progress.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::{Origin, code};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::peer::*;

// covers: BASE-28
#[tokio::test(start_paused = true)]
async fn a_call_without_answer_ends_after_a_minute_and_is_taken_back() {
    for era in ERAS {
        let (peer, client) =
            Peer::connect(
                era,
                builder(),
                |method, _| {
                    if method == "tools/call" { json!(null) } else { json!({}) }
                },
            )
            .await;
        let started = Instant::now();
        let error = fails(client.call_tool("slow", ())).await;
        assert_eq!((error.origin(), error.code()), (Origin::Timeout, code::TIMEOUT));
        assert_eq!(started.elapsed(), Duration::from_mins(1));
        let cancelled = peer.until_seen("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], peer.seen("tools/call")[0]["id"]);
        // The answer that comes too late is ignored, and the connection goes on.
        peer.push(&json!({"jsonrpc": "2.0", "id": peer.seen("tools/call")[0]["id"], "result": text("late")}));
        client.ping().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn progress_gives_a_call_more_time_up_to_its_maximum() {
    for era in ERAS {
        let (peer, client) = Peer::connect(era, builder(), |_, _| json!(null)).await;
        let reports = Arc::new(Mutex::new(Vec::new()));
        let report_sink = reports.clone();
        let started = Instant::now();
        let call = client
            .call_tool("slow", ())
            .timeout(Duration::from_secs(10))
            .max_timeout(Duration::from_secs(25))
            .on_progress(move |report| report_sink.lock().push(report.progress.as_f64()));
        let call = tokio::spawn(call.into_future());
        let token = peer.until_seen("tools/call").await["params"]["_meta"]["progressToken"].clone();
        assert!(token.is_i64());
        for step in 1..10 {
            tokio::time::sleep(Duration::from_secs(6)).await;
            let params = json!({"progressToken": token, "progress": step});
            peer.push(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        }
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Timeout);
        assert_eq!(*reports.lock(), [1.0, 2.0, 3.0, 4.0]);
        assert!(started.elapsed() >= Duration::from_secs(25));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_have_all_the_time_there_is() {
    for era in ERAS {
        let (peer, client) = Peer::connect(era, builder(), |_, _| json!(null)).await;
        let call = client.call_tool("slow", ()).timeout(Duration::MAX).max_timeout(Duration::MAX);
        let call = tokio::spawn(call.on_progress(|_| {}).into_future());
        let sent = peer.until_seen("tools/call").await;
        let params = json!({"progressToken": sent["params"]["_meta"]["progressToken"], "progress": 1});
        peer.push(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        tokio::time::sleep(Duration::from_hours(24)).await;
        peer.push(&json!({"jsonrpc": "2.0", "id": sent["id"], "result": text("at last")}));
        assert_eq!(call.await.unwrap().unwrap().content[0].as_text(), Some("at last"));
    }
}

#[tokio::test]
async fn progress_goes_to_the_call_it_belongs_to() {
    for era in ERAS {
        let stray = Arc::new(Mutex::new(0));
        let counted = stray.clone();
        let (_, client) =
            Peer::connect(era, builder().on_progress(move |_| *counted.lock() += 1), |_, params| {
                let note = |token: &serde_json::Value, progress: &serde_json::Value| {
                    let params = json!({"progressToken": token, "progress": progress});
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
                };
                let own = note(&params["_meta"]["progressToken"], &params["arguments"]["n"]);
                json!({"before": [own, note(&json!("stranger"), &json!(0))], "content": []})
            })
            .await;
        let calls = (0..5).map(|n| {
            let got = Arc::new(Mutex::new(Vec::new()));
            let report_sink = got.clone();
            let call = client.call_tool("slow", json!({"n": n})).on_progress(move |report| {
                report_sink.lock().push(report.progress.as_i64().unwrap());
            });
            (n, got, tokio::spawn(call.into_future()))
        });
        for (n, got, call) in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
            assert_eq!(*got.lock(), [n]);
        }
        assert_eq!(*stray.lock(), 5);
    }
}
