//! The future of an HTTP request's answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use http::request::Parts;
use http_body::Body;
use pin_project_lite::pin_project;

use super::HttpServer;
use super::body::HttpBody;
use super::call::RunningCall;
use super::head::BodyHeaders;
use super::read::BodyReader;
use super::respond::PostAnswer;
use super::session_table::SessionId;
use crate::Accept;

pin_project! {
    /// The future of an answer of [`HttpServer`].
    ///
    /// Dropping it cancels the call, unless the call belongs to a session: then the call goes on.
    pub struct ResponseFuture<A: Accept, B> {
        #[pin]
        state: State<A, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<A: Accept, B> {
        Reading {
            #[pin]
            body: BodyReader<B>,
            post: Option<Post<A>>,
        },
        Calling { calling: RunningCall },
        Done { response: Option<Response<HttpBody>> },
    }
}

/// A POST whose body is being read.
pub(super) struct Post<A: Accept> {
    pub(super) server: HttpServer<A>,
    pub(super) parts: Arc<Parts>,
    pub(super) target: PostTarget,
}

/// The receiver of the body.
pub(super) enum PostTarget {
    /// The endpoint of both eras.
    Endpoint(BodyHeaders),
    /// A session of HTTP+SSE.
    Sse(SessionId),
}

impl<A: Accept, B> ResponseFuture<A, B> {
    pub(super) fn reading(body: BodyReader<B>, post: Post<A>) -> Self {
        Self { state: State::Reading { body, post: Some(post) } }
    }

    pub(super) fn ready(response: Response<HttpBody>) -> Self {
        Self { state: State::Done { response: Some(response) } }
    }
}

impl<A: Accept, B: Body> Future for ResponseFuture<A, B> {
    type Output = Result<Response<HttpBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let step = match state.as_mut().project() {
                StateProjection::Reading { body, post } => {
                    let read = ready!(body.poll_read(cx));
                    match (read, post.take()) {
                        (Ok(bytes), Some(Post { server, parts, target })) => match target {
                            PostTarget::Endpoint(marks) => server.post(parts, &marks, &bytes),
                            PostTarget::Sse(session) => {
                                server.sse_message(session, &parts, &bytes).map(|()| None)
                            }
                        },
                        (Err(refusal), _) => Err(refusal),
                        (Ok(_), None) => return Poll::Pending,
                    }
                }
                StateProjection::Calling { calling } => return calling.poll(cx).map(Ok),
                StateProjection::Done { response } => {
                    return response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)));
                }
            };
            state.set(match step {
                Ok(Some(calling)) => State::Calling { calling },
                Ok(None) => State::Done { response: Some(PostAnswer::ACCEPTED.into_response()) },
                Err(refusal) => State::Done { response: Some(refusal.into_response()) },
            });
        }
    }
}

mgp_types::partial_debug!([A: Accept, B] ResponseFuture<A, B>);
