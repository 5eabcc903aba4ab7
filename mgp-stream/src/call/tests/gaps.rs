//! Tests of chunks that are asked for again.

use mgp_types::StreamId;

use super::{chunk, layered, start, streamed_call, tell};
use crate::doubles::{TestPort, settle};

const GAP: &str = "notifications/mgp.stream.gap";

#[tokio::test]
async fn what_is_missing_is_sent_again_and_what_is_gone_is_named() {
    let (_, mut service) = layered(|request| async move {
        for index in 0..300 {
            request.context.outbox.notify(chunk(&index.to_string())).await?;
        }
        std::future::pending().await
    });
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    settle().await;
    while port.params().len() < 300 {
        tokio::task::yield_now().await;
    }
    let missing = r#"{"missing_indices":[299,7,50,50,300,18446744073709551615,3]}"#;
    tell(&mut service, running.stream, GAP, missing).await;
    let again = |index| {
        format!(
            r#"{{"index":{index},"content":{{"type":"text","text":"{index}"}},"done":false,"_mgp":{{"retransmit":true}}}}"#
        )
    };
    assert_eq!(port.params()[300..], [again(50), again(299), r#"{"missing_indices":[3,7]}"#.to_owned()]);
    assert_eq!(port.methods()[302], "mgp.stream.gap_unrecoverable");
    assert_eq!(port.streams()[302], running.stream);
    running.task.abort();
}

#[tokio::test]
async fn gaps_that_are_none_change_nothing() {
    let (_, mut service) = layered(|request| async move {
        request.context.outbox.notify(chunk("a")).await?;
        std::future::pending().await
    });
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    for params in
        [r#"{"missing_indices":[]}"#, r#"{"missing_indices":"0"}"#, r#"{"missing_indices":[-1]}"#, "{}"]
    {
        tell(&mut service, running.stream, GAP, params).await;
    }
    tell(&mut service, StreamId::STANDALONE, GAP, r#"{"missing_indices":[0]}"#).await;
    assert_eq!(port.params().len(), 1);
    running.task.abort();
}
