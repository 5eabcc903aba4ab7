//! What servers say beside their answers, and to whom it comes.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::mcp::{CreateMessageResult, Role, SamplingContents};
use mgp_types::{RawJson, Revision};
use parking_lot::Mutex;
use serde_json::json;

use crate::host::{Host, child, say, until};
use crate::runner::tests;

tests![
    two_clients_with_equal_progress_tokens_get_their_own,
    a_question_goes_to_the_client_whose_call_it_is_about,
];

async fn two_clients_with_equal_progress_tokens_get_their_own() {
    let host = Host::start(vec![child("files")]).await;
    host.up("files").await;
    let connect = async |agent: &'static str| {
        let heard = Arc::<Mutex<Vec<(String, f64)>>>::default();
        let told = heard.clone();
        let builder = Client::builder("tests", "1.0.0").on_progress(move |report| {
            let token = serde_json::to_string(&report.progress_token).unwrap();
            // The kernel's own reports, while the server starts, have no total.
            told.lock().extend(report.total.map(|total| (token, total.as_f64())));
        });
        (host.connect(agent, builder).await, heard)
    };
    let ((one, of_one), (other, of_other)) = (connect("one").await, connect("other").await);
    let token = || RawJson::from_value(&7).unwrap();
    let calls = (
        one.call_tool("files.count", json!({"to": 20})).meta("progressToken", token()),
        other.call_tool("files.count", json!({"to": 30})).meta("progressToken", token()),
    );
    let (first, second) = tokio::join!(calls.0.into_future(), calls.1.into_future());
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    for (heard, total) in [(of_one, 20.0), (of_other, 30.0)] {
        until("progress is told", || (heard.lock().len() >= 10).then_some(())).await;
        let heard = heard.lock();
        assert!(heard.iter().all(|(token, of)| token == "7" && (of - total).abs() < 0.1), "{heard:?}");
    }
}

async fn a_question_goes_to_the_client_whose_call_it_is_about() {
    let host = Host::start(vec![child("files")]).await;
    host.up("files").await;
    let connect = async |agent: &'static str, revision| {
        let builder =
            Client::builder("tests", "1.0.0").revisions([revision]).on_sampling(move |_, _| async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                CreateMessageResult::new(Role::Assistant, SamplingContents::from("I am"), agent)
            });
        host.connect(agent, builder).await
    };
    let one = connect("one", Revision::V2025_11_25).await;
    let other = connect("other", Revision::V2025_06_18).await;
    let stateless = connect("stateless", Revision::V2026_07_28).await;
    for _ in 0..3 {
        for (client, model) in [(&one, "one"), (&other, "other"), (&stateless, "stateless")] {
            assert_eq!(say(client, "files.think", json!({})).await, model);
        }
    }
}
