//! An id that the peer uses again after it took the request back.

use std::time::Duration;

use mgp_transport::ConnectionLimits;

use crate::support::*;

const CALL: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#;
const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;

#[tokio::test(start_paused = true)]
async fn what_is_left_of_the_old_request_does_not_answer_the_new_one() {
    let (service, mut requests) = handed();
    let (_wire, mut peer) = connected(service, ConnectionLimits::default());
    peer.send(&[CALL, CANCEL, CALL].join("\n")).await;
    let [old, new] = [requests.next().await, requests.next().await];
    settle().await;
    drop(old);
    settle().await;
    new.answer(r#"{"which":"new"}"#);
    assert_eq!(peer.line().await, r#"{"jsonrpc":"2.0","id":5,"result":{"which":"new"}}"#);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_work_under_the_id_is_counted_and_can_be_taken_back() {
    let (service, mut requests) = handed();
    let mut limits = ConnectionLimits::default();
    limits.max_in_flight = 1;
    let (_wire, mut peer) = connected(service, limits);
    peer.send(&[CALL, CANCEL, CALL].join("\n")).await;
    let _both = [requests.next().await, requests.next().await];
    settle().await;
    peer.send(&CALL.replace('5', "6")).await;
    let refused = peer.line().await;
    assert!(refused.contains(r#""id":6,"error":{"code":3001"#), "{refused}");
    peer.send(&[CANCEL, &CALL.replace('5', "6")].join("\n")).await;
    requests.next().await.answer("{}");
    assert_eq!(peer.line().await, r#"{"jsonrpc":"2.0","id":6,"result":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn no_task_outlives_its_connection() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (service, _requests) = handed();
    let (_, mut peer) = connected(service, ConnectionLimits::default());
    for _ in 0..10 {
        peer.send(&[CALL, CANCEL, CALL, CANCEL, CALL].join("\n")).await;
        settle().await;
        peer.send(CANCEL).await;
    }
    peer.send(CALL).await;
    drop(peer);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(tasks(), before);
}
