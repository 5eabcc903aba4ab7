//! Notifications of a server during a call, and cancellations of a client.

use std::sync::Arc;

use mgp_types::mcp::{LogLevel, Number};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::calls::text;
use crate::host::builder;
use crate::leg::Leg;
use crate::runner::tests;

tests![
    progress_comes_in_order_and_before_the_answer,
    log_messages_come_from_the_level_that_was_asked_for,
    who_listens_to_log_messages_hears_them_without_asking,
    a_dropped_call_ends_at_the_server,
];

async fn progress_comes_in_order_and_before_the_answer(leg: Leg) {
    let client = leg.connect().await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let report_sink = reports.clone();
    let call = client.call_tool("count", ()).on_progress(move |report| report_sink.lock().push(report));
    let result = call.await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("counted"));
    let reports = reports.lock();
    let steps: Vec<_> = reports.iter().map(|report| report.progress).collect();
    assert_eq!(steps, (1..=5).map(Number::from).collect::<Vec<_>>());
    assert!(reports.iter().all(|report| report.total == Some(Number::from(5))));
    let has_messages = leg.revision > mgp_types::Revision::V2024_11_05;
    assert_eq!(reports[0].message.as_deref(), has_messages.then_some("step"));
}

// covers: BASE-05
async fn log_messages_come_from_the_level_that_was_asked_for(leg: Leg) {
    let (tell, mut logged) = mpsc::unbounded_channel();
    let builder = builder().on_log(move |message| tell.send(message).unwrap());
    let client = leg.connect_as(builder).await;
    client.set_log_level(LogLevel::Warning).await.unwrap();
    text(&client, "log", json!({})).await;
    for level in [LogLevel::Warning, LogLevel::Error] {
        let message = logged.recv().await.unwrap();
        assert_eq!(message.level, level);
        assert_eq!(message.logger.as_deref(), Some("matrix"));
        assert_eq!(message.data.to::<Value>().unwrap(), json!({"level": level.as_str()}));
    }
    client.set_log_level(LogLevel::Error).await.unwrap();
    text(&client, "log", json!({})).await;
    // Nothing that was quieter came before.
    assert_eq!(logged.recv().await.unwrap().level, LogLevel::Error);
    assert!(logged.try_recv().is_err());
}

async fn who_listens_to_log_messages_hears_them_without_asking(leg: Leg) {
    let (tell, mut logged) = mpsc::unbounded_channel();
    let client = leg.connect_as(builder().on_log(move |message| tell.send(message).unwrap())).await;
    text(&client, "log", json!({})).await;
    assert_ne!(logged.recv().await.unwrap().level, LogLevel::Debug);
}

async fn a_dropped_call_ends_at_the_server(leg: Leg) {
    let client = leg.connect().await;
    let (tell, mut started) = mpsc::unbounded_channel();
    let call = client.call_tool("hang", ()).on_progress(move |report| tell.send(report).unwrap());
    let mut call = Box::pin(call.into_future());
    tokio::select! {
        outcome = &mut call => panic!("it never ends: {outcome:?}"),
        report = started.recv() => assert!(report.is_some()),
    }
    drop(call);
    text(&client, "stopped", json!({})).await;
    assert_eq!(text(&client, "add", json!({"a": 1, "b": 1})).await, "2");
}
