//! Resources that a server keeps for a while, read through the kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mgp_server_sdk::mcp::CacheScope;
use mgp_server_sdk::{Resource, ResourceCache, ResourceTemplate, Server, Uri};
use mgp_types::Revision;
use serde_json::json;

use crate::host::{Host, Served, quiet, until_found};
use crate::runner::tests;
use crate::sections::raw::Raw;

tests![
    contents_are_kept_within_bounds_and_uses_are_counted,
    contents_that_expired_are_read_again_and_private_ones_are_for_their_reader_alone,
];

const HOUR: Duration = Duration::from_hours(1);

/// A server whose resources say how often they were read.
fn server(cache: &ResourceCache, kept: Duration, scope: CacheScope) -> Server {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = move || {
        let number = reads.fetch_add(1, Ordering::SeqCst);
        async move { number.to_string() }
    };
    let fixed = Resource::new("count://all", "count").cache(kept, scope.clone()).cached_in(cache);
    let template = ResourceTemplate::new("page://{id}", "page").cache(kept, scope).cached_in(cache);
    Server::new("books", "1.0.0")
        .resource(fixed, counted)
        .resource_template(template, async |Uri(uri): Uri| uri)
}

async fn host(books: Server) -> (Host, Served) {
    let served = Served::start("books", books).await;
    let host = Host::with(quiet([served.config.clone()])).await;
    let mut ada = Raw::plain(&host, "ada", Revision::V2025_11_25).await;
    until_found("the resource is listed", async || {
        let listed = ada.result("resources/list", json!({})).await;
        (listed["resources"][0]["uri"] == "count://all").then_some(())
    })
    .await;
    (host, served)
}

async fn read(client: &mut Raw, uri: &str) -> String {
    let result = client.result("resources/read", json!({"uri": uri})).await;
    result["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

// covers: GGEN-8.3-03
async fn contents_are_kept_within_bounds_and_uses_are_counted() {
    let cache = ResourceCache::new(2, 1 << 16);
    let (host, _served) = host(server(&cache, HOUR, CacheScope::Public)).await;
    let mut ada = Raw::plain(&host, "ada", Revision::V2025_11_25).await;
    for uri in ["page://a", "page://b", "page://a"] {
        assert_eq!(read(&mut ada, uri).await, uri);
    }
    assert_eq!((cache.hits(), cache.misses()), (1, 2));
    // The third page takes the place of the one that was not asked for the longest.
    read(&mut ada, "page://c").await;
    read(&mut ada, "page://a").await;
    assert_eq!((cache.hits(), cache.misses()), (2, 3));
    read(&mut ada, "page://b").await;
    assert_eq!((cache.hits(), cache.misses()), (2, 4));
}

// covers: GGEN-8.3-04
async fn contents_that_expired_are_read_again_and_private_ones_are_for_their_reader_alone() {
    let cache = ResourceCache::new(9, 1 << 16);
    let (public, _served) = host(server(&cache, HOUR, CacheScope::Public)).await;
    let mut ada = Raw::plain(&public, "ada", Revision::V2025_11_25).await;
    let mut bob = Raw::plain(&public, "bob", Revision::V2025_11_25).await;
    assert_eq!(
        (read(&mut ada, "count://all").await, read(&mut bob, "count://all").await),
        ("0".into(), "0".into())
    );

    let cache = ResourceCache::new(9, 1 << 16);
    let (short, _served) = host(server(&cache, Duration::from_millis(40), CacheScope::Public)).await;
    let mut ada = Raw::plain(&short, "ada", Revision::V2025_11_25).await;
    let first = read(&mut ada, "count://all").await;
    until_found("what expired is read again", async || {
        (read(&mut ada, "count://all").await != first).then_some(())
    })
    .await;

    // The kernel asks for many agents, so the server cannot tell whose contents these are, and keeps none of them.
    let cache = ResourceCache::new(9, 1 << 16);
    let (private, _served) = host(server(&cache, HOUR, CacheScope::Private)).await;
    let mut contents = Vec::new();
    for agent in ["ada", "bob", "ada"] {
        let mut client = Raw::plain(&private, agent, Revision::V2025_11_25).await;
        contents.push(read(&mut client, "count://all").await);
    }
    assert_eq!((contents, cache.hits()), (vec!["0".to_owned(), "1".to_owned(), "2".to_owned()], 0));
}
