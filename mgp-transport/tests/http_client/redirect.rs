//! Redirects keep method, body and origin, or are not followed.

use mgp_types::Origin;

use crate::server::*;

#[tokio::test(start_paused = true)]
async fn a_redirect_within_the_origin_is_followed_with_the_body() {
    for status in [307, 308] {
        let (client, mut server, _) = connected();
        let call = start(&client, list());
        let first = server.next().await;
        let body = first.body.clone();
        first.respond(status, &[("location", "/other?x")], "");
        let second = server.next_is("POST").await;
        assert_eq!(second.head.uri, "/other?x");
        assert_eq!(second.body, body);
        assert_eq!(second.header("mcp-method"), Some("tools/list"));
        second.ok();
        is_ok(call.await);
    }
}

#[tokio::test(start_paused = true)]
async fn other_redirects_are_not_followed() {
    for (status, location) in [
        (307, "http://other.example/mcp"),
        (307, "https://server.example/mcp"),
        (308, "http://server.example:8080/mcp"),
        (307, "//other.example/mcp"),
        (307, "ftp://server.example/"),
        (301, "/other"),
        (302, "/other"),
        (303, "/other"),
    ] {
        let (client, mut server, _) = connected();
        let call = start(&client, list());
        server.next().await.respond(status, &[("location", location)], "");
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Misbehaved, "{status} {location}");
        server.is_left_alone().await;
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_in_a_circle_end() {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    for _ in 0..4 {
        server.next().await.respond(307, &[("location", "/mcp")], "");
    }
    assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Misbehaved);
    server.is_left_alone().await;
}
