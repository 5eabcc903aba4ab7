//! The paths of an HTTP server.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Method, StatusCode};
use http_body::Body;
use tower_service::Service;

use super::body::HttpBody;
use super::get::{SESSION_ID, not_allowed};
use super::respond::HttpRefusal;
use super::serve::HealthOnly;
use super::session_table::SessionId;
use super::{CheckedHead, HttpServer, PostTarget, ResponseFuture};
use crate::Accept;

/// An [`HttpServer`] at the paths of its configuration, with HTTP+SSE beside it; every other path is 404.
#[derive(Clone)]
pub struct Routes<A: Accept> {
    pub(super) server: HttpServer<A>,
}

impl<A: Accept> Routes<A> {
    /// Returns the server behind the paths.
    pub fn server(&self) -> &HttpServer<A> {
        &self.server
    }

    /// Answers one request.
    pub fn handle<B: Body>(&self, request: http::Request<B>) -> ResponseFuture<A, B> {
        let config = self.server.config();
        if request.extensions().get::<HealthOnly>().is_some() {
            let why = "too many connections are open; try again later";
            let refusal = HttpRefusal::because(StatusCode::SERVICE_UNAVAILABLE, why);
            return ResponseFuture::ready(refusal.into_response());
        }
        if request.uri().path() == &*config.path {
            return self.server.handle(request);
        }
        let (parts, body) = request.into_parts();
        let parts = Arc::new(parts);
        let checked = match &config.sse_paths {
            Some((stream, message)) if parts.uri.path() == &**stream => self.check_stream(&parts, message),
            Some((_, message)) if parts.uri.path() == &**message => self.check_message(&parts),
            _ => Err(HttpRefusal::because(StatusCode::NOT_FOUND, "there is nothing here")),
        };
        self.server.proceed(checked, parts, body)
    }

    fn check_stream(&self, parts: &Parts, message_path: &str) -> Result<CheckedHead, HttpRefusal> {
        let head = self.server.guarded(parts)?;
        if parts.method != Method::GET {
            return Err(not_allowed());
        }
        if !head.accepts.events && !self.server.config().lenient_accept {
            return Err(HttpRefusal::no_events());
        }
        self.server.sse_open(parts, message_path).map(CheckedHead::Done)
    }

    fn check_message(&self, parts: &Parts) -> Result<CheckedHead, HttpRefusal> {
        let head = self.server.guarded(parts)?;
        if parts.method != Method::POST {
            return Err(not_allowed());
        }
        HttpServer::<A>::check_body(&head)?;
        let id = session(parts.uri.query()).ok_or_else(HttpRefusal::no_session)?;
        self.server.session(id, parts, true)?;
        Ok(CheckedHead::Post(PostTarget::Sse(id)))
    }
}

fn session(query: Option<&str>) -> Option<SessionId> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    SessionId::parse(pairs.find(|(name, _)| *name == SESSION_ID)?.1.as_bytes())
}

impl<A: Accept, B: Body> Service<http::Request<B>> for Routes<A> {
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = ResponseFuture<A, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        self.handle(request)
    }
}

mgp_types::partial_debug!([A: Accept] Routes<A>, self => server: self.server);
