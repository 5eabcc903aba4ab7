//! The service manifest, and how long the client keeps it.

use std::time::Duration;

use mgp_client_sdk::Revision;
use serde_json::{Value, json};

use crate::peer::{ERAS, Peer, PlainClient, builder};

/// A peer whose manifest stays fresh as long as `fresh` says, and has another revision each time.
async fn tracker(era: Revision, fresh: Value) -> (Peer, PlainClient) {
    let mut revision = 0;
    let answer = move |method: &str, _: &Value| {
        if method != "mgp/manifest/get" {
            return json!({"resultType": "complete", "tools": []});
        }
        revision += 1;
        let mut manifest = json!({
            "resultType": "complete", "manifest_version": "0.1.0", "revision": format!("r{revision}"),
            "server": {"name": "tracker", "version": "1.0.0", "mcp_spec_version": "2025-11-25"},
            "tools": [{"name": "search", "description": "Searches.", "input_schema": {"type": "object"}}],
        });
        manifest.as_object_mut().unwrap().extend(fresh.as_object().unwrap().clone());
        manifest
    };
    Peer::connect(era, builder(), answer).await
}

async fn revision(client: &PlainClient) -> String {
    client.manifest().await.unwrap().revision.unwrap().into()
}

// covers: EXT-01-13
#[tokio::test(start_paused = true)]
async fn a_manifest_is_asked_for_again_only_after_its_time() {
    for era in ERAS {
        for (fresh, seconds) in [
            (json!({"manifest_ttl_seconds": 60}), 60),
            (json!({}), 300),
            (json!({"manifest_ttl_seconds": 60, "ttlMs": 5000, "cacheScope": "private"}), 5),
            (json!({"manifest_ttl_seconds": 900_000}), 86_400),
        ] {
            let (peer, client) = tracker(era, fresh).await;
            assert_eq!(revision(&client).await, "r1");
            tokio::time::sleep(Duration::from_millis(seconds * 1000 - 1)).await;
            assert_eq!(revision(&client).await, "r1");
            assert_eq!(peer.seen("mgp/manifest/get").len(), 1, "within {seconds} s");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(revision(&client).await, "r2");
        }
        let (_, client) = tracker(era, json!({"manifest_ttl_seconds": 0})).await;
        assert_eq!((revision(&client).await, revision(&client).await), ("r1".into(), "r2".into()));
    }
}

// covers: EXT-01-13
#[tokio::test]
async fn a_manifest_that_changed_is_asked_for_again_at_once() {
    for era in ERAS {
        let (peer, client) = tracker(era, json!({"manifest_ttl_seconds": 3600})).await;
        assert_eq!(revision(&client).await, "r1");
        for (change, known) in [
            ("notifications/mgp.manifest.changed", "r2"),
            ("notifications/tools/list_changed", "r3"),
            ("notifications/prompts/list_changed", "r3"),
        ] {
            peer.push(&json!({"jsonrpc": "2.0", "method": change, "params": {"revision": "r9"}}));
            // The notification comes before the answer to a later request.
            client.request("x", ()).await.unwrap();
            assert_eq!(revision(&client).await, known, "after {change}");
        }
        client.clear_cache();
        assert_eq!(revision(&client).await, "r4");
    }
}
