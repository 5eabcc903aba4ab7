use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use ::http::{Request, Response, StatusCode};
use hyper::body::{Body, Bytes, Frame};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::auth::{Authenticated, HttpAuthLayer};
use crate::limit::{Limiter, Rates};

/// The body of a request, which notes that it was read.
#[derive(Clone, Default)]
struct TestBody {
    frames: usize,
    is_held_back: bool,
    was_read: Arc<AtomicBool>,
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_held_back {
            return Poll::Pending;
        }
        if let Some(left) = self.frames.checked_sub(1) {
            self.frames = left;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[0; 1024])))));
        }
        self.was_read.store(true, Ordering::Relaxed);
        Poll::Ready(None)
    }
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_refused_request_is_read_if_it_is_short_and_comes_soon() {
    let mut guarded = HttpAuthLayer::new(ring()).layer(Server::default());
    for (frames, is_held_back, is_read) in
        [(0, false, true), (2, false, true), (1 << 10, false, false), (1, true, false)]
    {
        let body = TestBody { frames, is_held_back, ..TestBody::default() };
        let was_read = Arc::clone(&body.was_read);
        let refused = guarded.call(Request::post("/").body(body).unwrap()).await.unwrap();
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(was_read.load(Ordering::Relaxed), is_read, "{frames}");
    }
}

/// A server that keeps what it was asked.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Vec<Request<TestBody>>>>);

impl Service<Request<TestBody>> for Server {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<TestBody>) -> Self::Future {
        self.0.lock().push(request);
        std::future::ready(Ok(Response::new("served".to_owned())))
    }
}

fn get(key: &str) -> Request<TestBody> {
    Request::get("/").header("authorization", format!("Bearer {key}")).body(TestBody::default()).unwrap()
}

#[tokio::test]
async fn a_stream_needs_a_key_too() {
    let ring = ring();
    let (_, key) = issue(&ring, &[]).await;
    let server = Server::default();
    let mut guarded = HttpAuthLayer::new(ring).layer(server.clone());
    let without = guarded.call(Request::get("/").body(TestBody::default()).unwrap()).await.unwrap();
    assert_eq!(without.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(without.headers()["www-authenticate"], "Bearer");
    assert!(
        without.body().contains("`mgp keys list`") && without.body().contains("Bearer KEY"),
        "{without:?}"
    );
    let wrong = guarded.call(get("wrong")).await.unwrap();
    assert_eq!((wrong.status(), wrong.body()), (StatusCode::UNAUTHORIZED, without.body()));
    assert_eq!(guarded.call(get(key.expose())).await.unwrap().body(), "served");
    let asked = server.0.lock();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].headers().contains_key("authorization"));
    assert_eq!(
        asked[0].extensions().get::<Principal>(),
        Some(&Principal::of(mgp_types::PrincipalKind::KeyHolder, "agent.one"))
    );
    assert!(asked[0].extensions().get::<Authenticated>().is_some());
}

#[tokio::test]
async fn where_keys_are_optional_a_wrong_one_is_refused_all_the_same() {
    let ring = ring();
    let (_, key) = issue(&ring, &[]).await;
    let server = Server::default();
    let mut guarded = HttpAuthLayer::new(ring).optional().layer(server.clone());
    let without = guarded.call(Request::get("/").body(TestBody::default()).unwrap()).await.unwrap();
    assert_eq!(without.body(), "served");
    assert_eq!(guarded.call(get("wrong")).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(guarded.call(get(key.expose())).await.unwrap().body(), "served");
    let asked = server.0.lock();
    let known: Vec<_> =
        asked.iter().map(|request| request.extensions().get::<Principal>().is_some()).collect();
    assert_eq!(known, [false, true]);
}

#[tokio::test]
async fn an_expired_key_and_one_used_too_often_are_told_apart() {
    let hands = ManualClock::default();
    let ring = KeyRing::open(database(), hands.clock()).unwrap();
    let wanted = KeyTerms {
        rate_limit: Some(Rates::new().per_hour(n(1))),
        expires_at: Some(at(9)),
        ..KeyTerms::new(Principal::new("a"))
    };
    let (_, key) = ring.issue(wanted).await.unwrap();
    let mut guarded = HttpAuthLayer::new(ring).layer(Server::default());
    assert_eq!(guarded.call(get(key.expose())).await.unwrap().status(), StatusCode::OK);
    let often = guarded.call(get(key.expose())).await.unwrap();
    assert_eq!(often.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds: u32 = often.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&seconds), "{seconds}");
    hands.set(9);
    let expired = guarded.call(get(key.expose())).await.unwrap();
    assert_eq!(expired.status(), StatusCode::UNAUTHORIZED);
    assert!(expired.headers()["www-authenticate"].to_str().unwrap().contains("expired"));
    assert!(expired.body().contains("expired") && often.body().contains("too often"), "{expired:?}");
}

#[tokio::test]
async fn a_key_whose_last_uses_other_kernels_do_not_know_waits_until_they_do() {
    let (ring, limiter) = (ring(), Arc::new(Limiter::new(Some(7))));
    ring.count_with(Arc::clone(&limiter));
    let rate_limit = Some(Rates::new().per_hour(n(20)));
    let wanted = KeyTerms { rate_limit, ..KeyTerms::new(Principal::new("a")) };
    let (_, key) = ring.issue(wanted).await.unwrap();
    let mut guarded = HttpAuthLayer::new(ring).layer(Server::default());
    assert_eq!(guarded.call(get(key.expose())).await.unwrap().status(), StatusCode::OK);
    let tell = async {
        let unreported = limiter.unreported();
        assert_eq!(unreported.len(), 1);
        limiter.learn(&unreported.into_iter().map(|(id, used, _)| (id, used)).collect());
    };
    let (answer, ()) = tokio::join!(guarded.call(get(key.expose())), tell);
    assert_eq!(answer.unwrap().status(), StatusCode::OK);
    assert_eq!(limiter.unreported().len(), 1, "the second use");
}

#[tokio::test]
async fn a_request_that_was_let_in_counts_once() {
    let ring = ring();
    let rate_limit = Some(Rates::new().per_hour(n(1)));
    let wanted = KeyTerms { rate_limit, ..KeyTerms::new(Principal::new("a")) };
    let (_, key) = ring.issue(wanted).await.unwrap();
    let server = Server::default();
    HttpAuthLayer::new(ring.clone()).layer(server.clone()).call(get(key.expose())).await.unwrap();
    let (parts, _) = server.0.lock().pop().unwrap().into_parts();
    let mut request = mgp_types::Request::call("ping", mgp_types::Object::new());
    request.extensions.insert(parts);
    let mut service = crate::auth::AuthLayer::http(ring).layer(Asked);
    assert_eq!(service.call(request).await.unwrap_err().message(), "asked by key holder \"a\"");
}

/// A service that says who asked it.
#[derive(Clone)]
struct Asked;

impl Service<mgp_types::Request> for Asked {
    type Response = mgp_types::Response;
    type Error = mgp_types::Error;
    type Future = std::future::Ready<Result<mgp_types::Response, mgp_types::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), mgp_types::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: mgp_types::Request) -> Self::Future {
        let by = request.context.principal.unwrap();
        std::future::ready(Err(mgp_types::Error::internal(format!("asked by {by:?}"))))
    }
}
