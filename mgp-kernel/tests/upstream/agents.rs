//! Agents that have connections of their own.

use mgp_types::mgp::ServerState;
use serde_json::json;

use crate::host::{Host, child, names, say, until};
use crate::tests;

tests![an_agent_calls_with_its_own_credentials_and_nobody_else_reaches_the_server,];

async fn an_agent_calls_with_its_own_credentials_and_nobody_else_reaches_the_server() {
    let mut server = child("mail");
    server["env"] = json!({"TOKEN": "nobody's"});
    server["agents"] = json!({"ada": {"env": {"TOKEN": "ada's"}}, "bob": {"env": {"TOKEN": "bob's"}}});
    let host = Host::start(vec![server]).await;
    let (ada, bob, eve) = (host.client("ada").await, host.client("bob").await, host.client("eve").await);
    assert_eq!(host.view("mail").state, ServerState::Registered);
    assert!(names(&eve).await.is_empty());
    assert_eq!((host.view("mail").state, host.view("mail").agent), (ServerState::Registered, None));

    // The connection begins when its agent first comes.
    names(&ada).await;
    assert_eq!(host.view("mail").agent.as_deref(), Some("ada"));
    host.up("mail").await;
    for _ in 0..2 {
        assert_eq!(say(&ada, "mail.variable", json!({"name": "TOKEN"})).await, "ada's");
        assert_eq!(say(&bob, "mail.variable", json!({"name": "TOKEN"})).await, "bob's");
    }
    until(|| (host.kernel.servers().len() == 2).then_some(())).await;
    let refused = eve.call_tool("mail.variable", json!({"name": "TOKEN"})).await;
    assert!(refused.is_err() || refused.unwrap().is_error == Some(true));
    assert!(names(&eve).await.is_empty());
}
