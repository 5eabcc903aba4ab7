//! The port that authorizes the requests of a client.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use mgp_transport::http::{
    AfterRefusal, AuthorizationAnswer, Authorize, HttpClient, HttpStatus, OutgoingRequest,
};
use mgp_types::{BoxFuture, Error, Origin, Params, Request, Revision, Session, code};
use parking_lot::Mutex;

use crate::server::*;

/// An authorizer that numbers its tokens, and lets `resends` refused requests be sent again.
#[derive(Default)]
struct Numbered {
    resends: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: u32,
    /// What the port heard, in order.
    heard: Vec<String>,
}

impl Numbered {
    fn resending(resends: u32) -> Arc<Self> {
        Arc::new(Self { resends, state: Mutex::default() })
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().heard)
    }
}

impl Authorize for Numbered {
    fn authorize<'a>(&'a self, request: &'a OutgoingRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, Error>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut state = self.state.lock();
            state.tokens += 1;
            let OutgoingRequest { method, url, attempt, .. } = request;
            state.heard.push(format!("{method} {url} {attempt}"));
            let token = HeaderValue::try_from(format!("Bearer {}", state.tokens)).unwrap();
            Ok(HeaderMap::from_iter([(AUTHORIZATION, token)]))
        })
    }

    fn refused<'a>(
        &'a self,
        request: &'a OutgoingRequest<'a>,
        answer: &'a AuthorizationAnswer<'a>,
    ) -> BoxFuture<'a, Result<AfterRefusal, Error>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let challenge =
                answer.headers.get("www-authenticate").map_or("", |value| value.to_str().unwrap());
            self.state.lock().heard.push(format!("refused {} {challenge}", answer.status.as_u16()));
            let again = request.attempt < self.resends;
            Ok(if again { AfterRefusal::Resend } else { AfterRefusal::Keep })
        })
    }

    fn answered(&self, request: &OutgoingRequest<'_>, answer: &AuthorizationAnswer<'_>) {
        let nonce = answer.headers.get("dpop-nonce").map_or("", |value| value.to_str().unwrap());
        let line = format!("answered {} {} {nonce}", answer.status.as_u16(), request.url.path());
        self.state.lock().heard.push(line);
    }
}

/// An authorizer without authorization: it fails before a request is sent, or after one was refused.
struct Failing {
    early: bool,
}

impl Authorize for Failing {
    fn authorize<'a>(&'a self, _: &'a OutgoingRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, Error>> {
        let outcome = if self.early { Err(login_needed()) } else { Ok(HeaderMap::new()) };
        Box::pin(std::future::ready(outcome))
    }

    fn refused<'a>(
        &'a self,
        _: &'a OutgoingRequest<'a>,
        _: &'a AuthorizationAnswer<'a>,
    ) -> BoxFuture<'a, Result<AfterRefusal, Error>> {
        Box::pin(std::future::ready(Err(login_needed())))
    }
}

/// Returns a client whose authorizer lets `resends` refused requests be sent again.
fn authorized(resends: u32) -> (HttpClient<Recorder>, Server, Arc<Numbered>) {
    let (builder, server) = server();
    let authorizer = Numbered::resending(resends);
    let client = builder.authorize_with(authorizer.clone()).connect_with(Recorder::default()).unwrap();
    (client, server, authorizer)
}

fn login_needed() -> Error {
    Error::new(code::AUTH_REQUIRED, "nobody has logged in")
}

fn token(exchange: &Exchange) -> Vec<&str> {
    let values = exchange.head.headers.get_all(AUTHORIZATION);
    values.iter().map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_post_get_and_delete_of_a_session_is_authorized_by_itself() {
    let (client, mut server, _) = authorized(0);
    let opening = start(&client, Request::call("initialize", Params::new()));
    let asked = server.next_is("POST").await;
    assert_eq!(token(&asked), ["Bearer 1"]);
    let body = reply(asked.id());
    asked.respond(200, &[("content-type", "application/json"), ("mcp-session-id", "s1")], body);
    is_ok(opening.await);

    let notify = Request::notify("notifications/initialized", Params::new());
    let sent = start(&client, within(Revision::V2025_11_25, notify));
    let asked = server.next_is("POST").await;
    assert_eq!(token(&asked), ["Bearer 2"]);
    asked.status(202);
    sent.await.unwrap().unwrap();
    let asked = server.next_is("GET").await;
    assert_eq!(token(&asked), ["Bearer 3"]);
    // The answer to a question of the server is a request like any other.
    let stream = asked.events();
    stream.event(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#);
    let asked = server.next_is("POST").await;
    assert_eq!(token(&asked), ["Bearer 4"]);
    asked.status(202);

    let session = Session::new(Revision::V2025_11_25);
    let closing = tokio::spawn(async move { client.close(Some(&session)).await });
    let asked = server.next_is("DELETE").await;
    assert_eq!(token(&asked), ["Bearer 5"]);
    asked.status(204);
    closing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_stream_and_the_messages_of_http_sse_are_authorized() {
    let (builder, mut server) = server_of("http://server.example/sse");
    let builder = builder.authorize_with(Numbered::resending(1));
    let connecting = tokio::spawn(builder.connect_sse_with(Recorder::default()));
    let asked = server.next_is("GET").await;
    assert_eq!(token(&asked), ["Bearer 1"]);
    asked.status(401);
    let asked = server.next_is("GET").await;
    assert_eq!(token(&asked), ["Bearer 2"]);
    let stream = asked.events();
    stream.send("event: endpoint\ndata: /message\n\n");
    let client = connecting.await.unwrap().unwrap();
    let call = start(&client, within(Revision::V2024_11_05, Request::call("tools/list", Params::new())));
    let asked = server.next_is("POST").await;
    assert_eq!(token(&asked), ["Bearer 3"]);
    asked.status(401);
    let asked = server.next_is("POST").await;
    assert_eq!(token(&asked), ["Bearer 4"]);
    asked.status(202);
    stream.event(&reply(1));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_sent_again_with_the_same_message_and_new_headers() {
    for status in [401, 403] {
        let (client, mut server, authorizer) = authorized(1);
        let call = start(&client, list());
        let first = server.next_is("POST").await;
        let body = first.body.clone();
        first.respond(status, &[("www-authenticate", "Bearer scope=\"a\"")], "who are you?");
        let second = server.next_is("POST").await;
        assert_eq!((token(&second), &second.body), (vec!["Bearer 2"], &body));
        let body = reply(second.id());
        second.respond(200, &[("content-type", "application/json"), ("dpop-nonce", "n1")], body);
        is_ok(call.await);
        assert_eq!(
            authorizer.heard(),
            [
                format!("POST {URL} 0"),
                format!("answered {status} /mcp "),
                format!("refused {status} Bearer scope=\"a\""),
                format!("POST {URL} 1"),
                "answered 200 /mcp n1".to_owned(),
            ]
        );
        // The body of the refusal was read, so its connection serves on.
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_the_authorizer_keeps_is_the_outcome() {
    let (client, mut server, _) = authorized(1);
    let call = start(&client, list());
    server.next().await.status(401);
    server.next().await.respond(403, &[("www-authenticate", "Bearer error=\"insufficient_scope\"")], "");
    let error = call.await.unwrap().unwrap_err();
    let status = HttpStatus::of(&error).unwrap();
    assert_eq!(status.code(), 403);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn an_authorizer_that_never_gives_up_does_not_send_for_ever() {
    let (client, mut server, _) = authorized(u32::MAX);
    let call = start(&client, list());
    for _ in 0..17 {
        server.next().await.status(401);
    }
    assert_eq!(HttpStatus::of(&call.await.unwrap().unwrap_err()).unwrap().code(), 401);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn other_statuses_are_not_shown_as_refusals() {
    for status in [400, 404, 407, 429, 500] {
        let (client, mut server, authorizer) = authorized(9);
        let call = start(&client, list());
        server.next().await.status(status);
        call.await.unwrap().unwrap_err();
        assert_eq!(authorizer.heard(), [format!("POST {URL} 0"), format!("answered {status} /mcp ")]);
        server.is_left_alone().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_authorizer_takes_the_place_of_the_answer() {
    for early in [true, false] {
        let (builder, mut server) = server();
        let builder = builder.authorize_with(Arc::new(Failing { early }));
        let call = start(&builder.connect_with(Recorder::default()).unwrap(), list());
        if !early {
            server.next().await.json(401, "{}");
        }
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((error.code(), error.origin()), (code::AUTH_REQUIRED, Origin::Local), "early: {early}");
        server.is_left_alone().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_authorized_anew_for_the_url_that_it_leads_to() {
    let (client, mut server, authorizer) = authorized(1);
    let call = start(&client, list());
    server.next().await.respond(307, &[("location", "/other")], "");
    let redirected = server.next().await;
    assert_eq!(token(&redirected), ["Bearer 2"]);
    redirected.status(401);
    // What is sent again begins where the client began: the redirect may have been for that time alone.
    let again = server.next().await;
    assert_eq!((again.head.uri.path(), token(&again)), ("/mcp", vec!["Bearer 3"]));
    again.ok();
    is_ok(call.await);
    assert_eq!(
        authorizer.heard(),
        [
            format!("POST {URL} 0"),
            "POST http://server.example/other 0".to_owned(),
            "answered 401 /other ".to_owned(),
            "refused 401 ".to_owned(),
            format!("POST {URL} 1"),
            "answered 200 /mcp ".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn no_token_goes_to_another_origin() {
    let (client, mut server, authorizer) = authorized(1);
    let call = start(&client, list());
    server.next().await.respond(307, &[("location", "http://other.example/mcp")], "");
    assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Misbehaved);
    assert_eq!(authorizer.heard(), [format!("POST {URL} 0")]);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_the_authorizer_replace_those_of_the_builder() {
    let (builder, mut server) = server();
    let builder = builder
        .header(AUTHORIZATION, HeaderValue::from_static("Bearer of-the-builder"))
        .header(AUTHORIZATION, HeaderValue::from_static("Bearer twice"));
    let client = builder.authorize_with(Numbered::resending(0)).connect_with(Recorder::default()).unwrap();
    let call = start(&client, list());
    let asked = server.next().await;
    assert_eq!(token(&asked), ["Bearer 1"]);
    asked.ok();
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_whose_body_never_ends_does_not_hold_up_what_is_sent_again() {
    let (client, mut server, _) = authorized(1);
    let call = start(&client, list());
    let _endless = server.next().await.start(StatusCode::UNAUTHORIZED.as_u16(), &[]);
    let again = server.next().await;
    assert_eq!(token(&again), ["Bearer 2"]);
    again.ok();
    is_ok(call.await);
}
