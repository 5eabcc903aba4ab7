//! Resources that are read once for many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::peer::{Believing, Era, Peer};
use mgp_server_sdk::mcp::CacheScope;
use mgp_server_sdk::types::Gate;
use mgp_server_sdk::{Cx, Resource, ResourceCache, ResourceTemplate, Server, Uri};
use serde_json::json;

const MINUTE: Duration = Duration::from_mins(1);

/// A server whose resources count how often they are read.
fn server(cache: &ResourceCache, scope: CacheScope) -> Server {
    let reads = Arc::new(AtomicUsize::new(0));
    let template = ResourceTemplate::new("page://{id}", "page").cache(MINUTE, scope.clone()).cached_in(cache);
    let fixed = Resource::new("count://", "count").cache(MINUTE, scope).cached_in(cache);
    let reads_of_fixed = reads.clone();
    let counted = move || {
        let number = reads_of_fixed.fetch_add(1, Ordering::SeqCst);
        async move { number.to_string() }
    };
    let page = move |Uri(uri): Uri| {
        let number = reads.fetch_add(1, Ordering::SeqCst);
        async move { format!("{uri} {number}") }
    };
    Server::new("test", "1").resource(fixed, counted).resource_template(template, page)
}

async fn read(peer: &mut Peer, uri: &str) -> String {
    let result = peer.call("resources/read", json!({"uri": uri})).await.unwrap();
    result["contents"][0]["text"].as_str().unwrap().to_owned()
}

// covers: GGEN-8.3-01, GGEN-8.3-02
#[tokio::test]
async fn cached_resources_are_listed_and_read() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(&ResourceCache::new(9, 1 << 16), CacheScope::Public), era).await;
        let list = peer.call("resources/list", json!({})).await.unwrap();
        assert_eq!(list["resources"][0]["uri"], "count://");
        assert_eq!(read(&mut peer, "count://").await, "0");
        assert_eq!(read(&mut peer, "page://a").await, "page://a 1");
        assert!(peer.call("resources/read", json!({"uri": "other://"})).await.is_err());
    }
}

// covers: GGEN-8.3-03
#[tokio::test]
async fn contents_are_cached_within_so_many_bytes() {
    // Each answer is larger than half of this cache.
    let cache = ResourceCache::new(100, 100);
    let mut peer = Peer::open(server(&cache, CacheScope::Public), Era::Stateless).await;
    read(&mut peer, "page://a").await;
    read(&mut peer, "page://b").await;
    assert_eq!(read(&mut peer, "page://b").await, "page://b 1");
    assert_eq!(read(&mut peer, "page://a").await, "page://a 2");
    cache.clear();
    assert_eq!(read(&mut peer, "page://a").await, "page://a 3");
    let cache = ResourceCache::new(100, 10);
    let mut peer = Peer::open(server(&cache, CacheScope::Public), Era::Stateless).await;
    read(&mut peer, "page://a").await;
    assert_eq!(read(&mut peer, "page://a").await, "page://a 1", "too large for the cache");
}

// covers: GGEN-8.3-03
#[tokio::test]
async fn a_reported_change_removes_what_it_concerns() {
    let cache = ResourceCache::new(9, 1 << 16);
    let server = server(&cache, CacheScope::Public);
    let handle = server.handle();
    let mut peer = Peer::open(server, Era::Session).await;
    assert_eq!(read(&mut peer, "count://").await, "0");
    assert_eq!(read(&mut peer, "page://a").await, "page://a 1");
    handle.resource_updated("page://a");
    assert_eq!(read(&mut peer, "count://").await, "0");
    assert_eq!(read(&mut peer, "page://a").await, "page://a 2");
    let other = Resource::new("count://", "count").cache(MINUTE, CacheScope::Public).cached_in(&cache);
    handle.add_resource(other, async || "other").unwrap();
    assert_eq!(read(&mut peer, "count://").await, "other");
}

#[tokio::test]
async fn contents_that_were_read_before_a_change_are_not_cached_after_it() {
    let cache = ResourceCache::new(9, 1 << 16);
    let resource = Resource::new("count://", "count").cache(MINUTE, CacheScope::Public).cached_in(&cache);
    let reads = Arc::new(AtomicUsize::new(0));
    let server = Server::new("test", "1").resource(resource, move |cx: Cx| {
        let number = reads.fetch_add(1, Ordering::SeqCst);
        cx.server().resource_updated("count://");
        async move { number.to_string() }
    });
    let mut peer = Peer::open(server, Era::Session).await;
    assert_eq!(read(&mut peer, "count://").await, "0");
    assert_eq!(read(&mut peer, "count://").await, "1");
}

// covers: GGEN-8.3-04
#[tokio::test(start_paused = true)]
async fn expired_contents_are_read_again() {
    let cache = ResourceCache::new(9, 1 << 16);
    let mut peer = Peer::open(server(&cache, CacheScope::Public), Era::Stateless).await;
    let ask = json!({"uri": "count://"});
    assert_eq!(peer.call("resources/read", ask.clone()).await.unwrap()["ttlMs"], 60_000);
    tokio::time::advance(Duration::from_secs(50)).await;
    let cached = peer.call("resources/read", ask.clone()).await.unwrap();
    assert_eq!(cached["contents"][0]["text"], "0");
    let left = cached["ttlMs"].as_u64().unwrap();
    assert!((9_000..=10_000).contains(&left), "the time that is left: {left}");
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(read(&mut peer, "count://").await, "1");
}

// covers: GGEN-8.3-04
#[tokio::test]
async fn private_contents_are_never_shared_over_principals() {
    let cache = ResourceCache::new(9, 1 << 16);
    let server = server(&cache, CacheScope::Private).layer(Believing.into_layer());
    let mut peer = Peer::open(server, Era::Session).await;
    for (caller, expected) in
        [("alice", "0"), ("bob", "1"), ("alice", "0"), ("bob", "1"), ("", "2"), ("", "2")]
    {
        let params = json!({"uri": "count://", "_meta": {"who": caller}});
        let result = peer.call("resources/read", params).await.unwrap();
        assert_eq!(result["contents"][0]["text"], expected, "{caller}");
    }
    for expected in ["3", "4"] {
        assert_eq!(read(&mut peer, "count://").await, expected, "nobody is known");
    }
}

#[test]
fn a_cached_resource_says_for_how_long() {
    let cache = ResourceCache::new(9, 1 << 16);
    let resource =
        Server::new("test", "1").resource(Resource::new("a://", "a").cached_in(&cache), async || "a");
    assert!(resource.accept().unwrap_err().to_string().contains("resource `a://`: nothing says how long"));
    let template = ResourceTemplate::new("a://{b}", "a").cached_in(&cache);
    assert!(Server::new("test", "1").resource_template(template, async || "a").accept().is_err());
}
