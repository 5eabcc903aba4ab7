//! Changes at a server while a client is connected.

use mgp_client_sdk::{Change, Subscription};
use mgp_types::BoxedService;
use mgp_types::mcp::SubscriptionFilter;
use serde_json::json;

use crate::calls::text;
use crate::leg::Leg;
use crate::runner::tests;

tests![
    changed_lists_are_told_and_list_what_is_new,
    an_updated_resource_is_told_to_those_who_want_it,
    a_subscription_that_was_closed_tells_nothing,
];

async fn next(changes: &mut Subscription<BoxedService>) -> Change {
    changes.next().await.unwrap().unwrap()
}

async fn changed_lists_are_told_and_list_what_is_new(leg: Leg) {
    let client = leg.connect().await;
    let filter = SubscriptionFilter::new()
        .with_tools_list_changed(true)
        .with_prompts_list_changed(true)
        .with_resources_list_changed(true);
    let mut changes = client.subscribe(filter).await.unwrap();
    for (tool, is_there) in [("grow", true), ("shrink", false)] {
        text(&client, tool, json!({})).await;
        let mut received = [next(&mut changes).await, next(&mut changes).await, next(&mut changes).await];
        received.sort_by_key(|change| format!("{change:?}"));
        assert_eq!(received, [Change::Prompts, Change::Resources, Change::Tools]);
        let tools = client.list_tools().await.unwrap();
        assert_eq!(tools.iter().any(|tool| tool.name == "grown"), is_there);
        let prompts = client.list_prompts().await.unwrap();
        assert_eq!(prompts.iter().any(|prompt| prompt.name == "grown"), is_there);
        let resources = client.list_resources().await.unwrap();
        assert_eq!(resources.iter().any(|resource| resource.name == "grown"), is_there);
        assert_eq!(client.call_tool("grown", ()).await.is_ok(), is_there);
    }
}

async fn an_updated_resource_is_told_to_those_who_want_it(leg: Leg) {
    let client = leg.connect().await;
    let filter = SubscriptionFilter::new().with_resource_subscriptions(["matrix://text".to_owned()]);
    let mut changes = client.subscribe(filter).await.unwrap();
    for _ in 0..2 {
        // Another resource changes first, which is nothing to this subscription.
        text(&client, "touch", json!({})).await;
        assert_eq!(next(&mut changes).await, Change::Resource { uri: "matrix://text".into() });
    }
}

async fn a_subscription_that_was_closed_tells_nothing(leg: Leg) {
    let client = leg.connect().await;
    let of = |uri: &str| SubscriptionFilter::new().with_resource_subscriptions([uri.to_owned()]);
    let first = client.subscribe(of("matrix://bytes")).await.unwrap();
    let mut second = client.subscribe(of("matrix://text")).await.unwrap();
    first.close().await.unwrap();
    text(&client, "touch", json!({})).await;
    assert_eq!(next(&mut second).await, Change::Resource { uri: "matrix://text".into() });
    second.close().await.unwrap();
    text(&client, "touch", json!({})).await;
}
