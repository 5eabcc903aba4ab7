//! Calls that come while the needs of their server are settled.

use mgp_types::mgp::Version;
use tokio::sync::Semaphore;

use super::*;

#[tokio::test]
async fn a_call_that_comes_while_the_needs_of_its_server_are_settled_waits_for_that() {
    let book = book(&Arc::default()).await;
    let gate = unasking(policy(ApprovalPolicy::AutoApprove), &book);
    let session = session(Revision::V2025_11_25, Version::OURS, &["shell"]);
    let may_answer = Arc::new(Semaphore::new(0));
    let may = Arc::clone(&may_answer);
    let mut server = TestServer::working(move |_| {
        let may = Arc::clone(&may);
        Box::pin(async move {
            may.acquire().await.unwrap().forget();
            Ok(Response::empty())
        })
    });
    let negotiated = gate.clone();
    let negotiating = tokio::spawn(async move { negotiated.negotiate(&mut server, &session).await });
    gate.0.negotiating.subscribe().wait_for(|is_so| *is_so).await.unwrap();
    let called = gate.clone();
    let calling = tokio::spawn(async move { call(&called, needing(&SHELL)).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!calling.is_finished());
    may_answer.add_permits(8);
    negotiating.await.unwrap().unwrap();
    calling.await.unwrap().unwrap();
}
