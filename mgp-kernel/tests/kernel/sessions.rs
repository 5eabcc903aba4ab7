//! Sessions with servers behind HTTP.

use std::time::Duration;

use mgp_types::mgp::ShutdownReason;
use serde_json::json;

use crate::host::{Host, ask, names, quiet, read, say, until};
use crate::runner::tests;
use crate::web::Web;

tests![no_refresh_leaks_a_session, a_session_that_the_server_forgot_is_begun_anew,];

async fn no_refresh_leaks_a_session() {
    let web = Web::start().await;
    let host = Host::ready([web.server("web")]).await;
    let client = host.client("one").await;
    let operator = host.operator().await;
    let lists = web.seen().lists;
    for _ in 0..5 {
        say(&client, "web.tell", json!({})).await;
        names(&client).await;
        ask(&operator, "mgp/health/ping", json!({"server_id": "web"})).await;
        tokio::time::sleep(Duration::from_millis(120)).await;
    }
    until("the list is listed again", || (web.seen().lists >= lists + 3).then_some(())).await;
    host.kernel.reload(read(quiet([web.server("web")]))).await.unwrap();
    names(&client).await;
    let seen = web.seen();
    assert_eq!((seen.begun, seen.open.len(), seen.ended), (1, 1, 0), "{seen:?}");

    // A restart ends what it replaces.
    for restart in 1..=3 {
        ask(&operator, "kernel/server/restart", json!({"server_id": "web"})).await;
        until("it is connected again", || (web.seen().begun == 1 + restart).then_some(())).await;
        host.up("web").await;
        until("the session before is over", || (web.seen().open.len() == 1).then_some(())).await;
    }
    host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
    let seen = web.seen();
    assert_eq!((seen.begun, seen.open.len(), seen.ended), (4, 0, 4), "{seen:?}");
}

async fn a_session_that_the_server_forgot_is_begun_anew() {
    let web = Web::start().await;
    let host = Host::ready([web.server("web")]).await;
    let client = host.client("one").await;
    assert_eq!(say(&client, "web.look", json!({})).await, "nobody");
    for round in 2..=3 {
        web.forget();
        // The caller notices nothing.
        assert_eq!(say(&client, "web.look", json!({})).await, "nobody");
        let seen = web.seen();
        assert_eq!((seen.begun, seen.open.len()), (round, 1), "{seen:?}");
    }
    assert_eq!(names(&client).await, ["web.look", "web.tell"]);
}
