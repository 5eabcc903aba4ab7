//! Revision 2026-07-28: requests stand alone.

use std::time::Duration;

use http::HeaderValue;
use http::header::AUTHORIZATION;
use mgp_transport::http::{HttpClient, HttpStatus, MirroredHeaders, SessionLost};
use mgp_transport::{ConnectionLimits, TooLong};
use mgp_types::{Error, Origin, Params, RawJson, Request, Revision};

use crate::server::*;

const REVISION: Revision = Revision::V2026_07_28;

async fn refused(respond: impl FnOnce(Exchange)) -> Error {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    respond(server.next().await);
    call.await.unwrap().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_call_is_posted_with_its_headers_and_answered_by_json() {
    let (builder, mut server) = server();
    let builder = builder.header(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    let client = builder.connect_with(Recorder::default()).unwrap();
    let mut mirrored = MirroredHeaders::default();
    mirrored.push("Region", RawJson::parse(r#""eu""#).unwrap());
    let mut request = within(REVISION, Request::call("tools/call", params(r#"{"name":"größe"}"#)));
    request.extensions.insert(mirrored);
    let call = start(&client, request);

    let asked = server.next_is("POST").await;
    assert_eq!(asked.head.uri.path(), "/mcp");
    for (name, value) in [
        ("host", "server.example"),
        ("authorization", "Bearer x"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?Z3LDtsOfZQ==?="),
        ("mcp-param-region", "eu"),
    ] {
        assert_eq!(asked.header(name), Some(value), "{name}");
    }
    assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe"}}"#);
    asked.ok();
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_sent_under_the_version_in_its_meta() {
    let (client, mut server, _) = connected();
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}"#;
    let call = start(&client, Request::call("server/discover", params(meta)));
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-protocol-version"), Some("2027-01-01"));
    assert_eq!(asked.header("mcp-method"), Some("server/discover"));
    asked.ok();
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn notifications_are_taken_in_in_order_before_the_answer() {
    let (client, mut server, recorder) = connected();
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.send(": hello\n\n");
    stream.event(&notification("notifications/a"));
    stream.event(&notification("notifications/b"));
    stream.event(&reply(1));
    is_ok(call.await);
    assert_eq!(recorder.seen(), ["notifications/a", "notifications/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_used_again_after_an_event_stream() {
    let (client, mut server, _) = connected();
    for id in 1..=3 {
        let call = start(&client, list());
        let stream = server.next().await.events();
        stream.event(&reply(id));
        is_ok(call.await);
        drop(stream);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_goes_on_after_its_answer_is_closed() {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.event(&reply(1));
    is_ok(call.await);
    stream.is_closed().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_not_used_again_when_servers_tend_to_close_it() {
    let (client, mut server, _) = connected();
    for connections in 1..=3 {
        let call = start(&client, list());
        server.next().await.ok();
        is_ok(call.await);
        assert_eq!(server.connections(), connections);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_closes_its_stream_and_sends_nothing() {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.event(&notification("notifications/a"));
    call.abort();
    stream.is_closed().await;

    let call = start(&client, list());
    let asked = server.next().await;
    call.abort();
    asked.given_up().await;
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_or_breaks_is_a_lost_connection_and_not_resumed() {
    for broken in [false, true] {
        let (client, mut server, _) = connected();
        let call = start(&client, list());
        let stream = server.next().await.events();
        stream.send("id: 1\nretry: 1\ndata:\n\n");
        if broken {
            stream.break_off();
        } else {
            drop(stream);
        }
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
        server.is_left_alone().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_code_data_and_status() {
    let error = refused(|asked| {
        let body =
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}"#;
        asked.json(400, body);
    })
    .await;
    assert_eq!((error.code(), error.origin()), (-32022, Origin::Peer));
    assert_eq!(error.data().unwrap().as_bytes(), br#"{"supported":[]}"#);
    assert_eq!(HttpStatus::of(&error).unwrap().code(), 400);

    let error = refused(|asked| {
        asked.json(200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":1000,"message":"no"}}"#);
    })
    .await;
    assert_eq!((error.code(), error.origin()), (1000, Origin::Peer));
    assert!(HttpStatus::of(&error).is_none());
}

#[tokio::test(start_paused = true)]
async fn an_error_may_have_any_id_where_the_status_says_it_is_ours() {
    for id in ["null", r#""server-error""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":""}}}}"#);
        let error = refused(|asked| asked.json(404, body)).await;
        assert_eq!(error.code(), -32601);
        assert_eq!(HttpStatus::of(&error).unwrap().code(), 404);
        assert!(!SessionLost::is_behind(&error));
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_without_a_message_says_who_is_at_fault() {
    for (status, origin) in [
        (400, Origin::Misbehaved),
        (403, Origin::Misbehaved),
        (404, Origin::Misbehaved),
        (405, Origin::Misbehaved),
        (500, Origin::Misbehaved),
        (502, Origin::Connection),
        (503, Origin::Connection),
    ] {
        let error = refused(|asked| asked.respond(status, &[("content-type", "text/html")], "<p>no")).await;
        assert_eq!(error.origin(), origin, "{status}");
        assert_eq!(HttpStatus::of(&error).unwrap().code(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_the_servers_fault() {
    let message = |body: &'static str| move |asked: Exchange| asked.json(200, body);
    for error in [
        refused(message(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)).await,
        refused(message(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#)).await,
        refused(message(r#"{"jsonrpc":"1.0","id":1,"result":{}}"#)).await,
        refused(message(r#"{"jsonrpc":"2.0","method":"notifications/a"}"#)).await,
        refused(message(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]"#))
            .await,
        refused(message("{")).await,
        refused(message("")).await,
        refused(|asked| asked.respond(200, &[("content-type", "text/html")], reply(1))).await,
        refused(|asked| asked.status(202)).await,
        refused(|asked| asked.events().event(&reply(7))).await,
        refused(|asked| asked.events().send(format!("data: {0}\n\ndata: {0}\n\n", reply(1)))).await,
    ] {
        assert_eq!(error.origin(), Origin::Misbehaved, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_are_no_messages_are_passed_over() {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.send("event: ping\ndata: x\n\ndata:\n\ndata: {broken\n\n");
    stream.event(&reply(1));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_too_long_are_refused() {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = 1000;
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "x".repeat(1000));
    let responses: [fn(Exchange, String); 3] = [
        |asked, long| asked.json(200, long),
        |asked, long| {
            let stream = asked.start(200, &[("content-type", "application/json")]);
            for piece in long.as_bytes().chunks(100) {
                stream.send(piece.to_vec());
            }
        },
        |asked, long| asked.events().event(&long),
    ];
    for respond in responses {
        let (builder, mut server) = server();
        let client = builder.limits(limits.clone()).connect_with(Recorder::default()).unwrap();
        let call = start(&client, list());
        respond(server.next().await, long.clone());
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(TooLong::of(&error), Some(&TooLong::Message { most_bytes: 1000 }), "{error:?}");
        assert!(error.code() == 3001 && error.message().contains("1000 bytes"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_server_is_not_answered_2026() {
    let (client, mut server, recorder) = connected();
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.event(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#);
    stream.event(r#"{"jsonrpc":"2.0","id":10,"method":"roots/list","params":7}"#);
    stream.event(&reply(1));
    is_ok(call.await);
    assert!(recorder.seen().is_empty());
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn notifications_are_posted_with_the_headers_of_a_request() {
    let (client, mut server, _) = connected();
    let sent = start(&client, within(REVISION, Request::notify("notifications/x", Params::new())));
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-method"), Some("notifications/x"));
    assert_eq!(asked.body, notification("notifications/x"));
    asked.status(202);
    sent.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_a_lost_connection() {
    let refusing = HttpClient::builder(URL).dial_with(|_| async {
        Err::<tokio::io::DuplexStream, _>(std::io::ErrorKind::ConnectionRefused.into())
    });
    let silent = HttpClient::builder(URL)
        .dial_with(|_| std::future::pending::<std::io::Result<tokio::io::DuplexStream>>());
    for builder in [refusing, silent] {
        let client = builder.connect_with(Recorder::default()).unwrap();
        let error = start(&client, list()).await.unwrap().unwrap_err();
        assert_eq!(error.origin(), Origin::Connection);
    }
}

#[tokio::test(start_paused = true)]
async fn many_calls_at_once_get_their_own_answers() {
    let (client, mut server, _) = connected();
    let calls: Vec<_> = (0..20).map(|_| start(&client, list())).collect();
    let mut asked = Vec::new();
    for _ in 0..20 {
        asked.push(server.next().await);
    }
    while let Some(exchange) = asked.pop() {
        exchange.ok();
    }
    for call in calls {
        is_ok(call.await);
    }
}

#[tokio::test]
async fn urls_that_lead_nowhere_are_refused() {
    for url in ["", "server", "ftp://server/", "http://user:secret@server/", "http:///x"] {
        assert!(HttpClient::builder(url).connect_with(Recorder::default()).is_err(), "{url}");
    }
    let https = HttpClient::builder("https://server/").connect_with(Recorder::default());
    assert_eq!(https.is_ok(), cfg!(feature = "tls"));
}
