//! What clients want to hear of, and servers tell.

use mgp_client_sdk::{Change, Client};
use mgp_transport::era::EraMode;
use mgp_types::mcp::SubscriptionFilter;
use serde_json::json;

use super::child;
use crate::host::{Host, say};
use crate::runner::tests;

tests![a_resource_that_changes_is_told_to_clients_of_both_eras,];

const WATCHED: &str = "test://watched";

async fn a_resource_that_changes_is_told_to_clients_of_both_eras() {
    let host = Host::ready(vec![child("files")]).await;
    for era in [EraMode::Session, EraMode::Stateless] {
        let client = host.connect("ada", Client::builder("tests", "1.0.0").era(era)).await;
        let filter = SubscriptionFilter::new().with_resource_subscriptions(vec![WATCHED.into()]);
        let mut changes = client.subscribe(filter).await.unwrap();
        for _ in 0..2 {
            assert_eq!(say(&client, "files.stir", json!({})).await, "stirred");
            let change = tokio::time::timeout(std::time::Duration::from_secs(10), changes.next()).await;
            assert_eq!(
                change.unwrap().unwrap().unwrap(),
                Change::Resource { uri: WATCHED.into() },
                "{era:?}"
            );
        }
    }
}
