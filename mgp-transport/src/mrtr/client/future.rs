//! The future of a call whose result may ask questions.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memmem;
use mgp_types::{BoxFuture, Error, Object, RawJson, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::InputLoop;
use super::rounds::answer_rounds;

pin_project! {
    /// The future of [`InputLoop`].
    pub struct InputLoopFuture<W: RpcService, H> {
        #[pin]
        inner: Option<W::Future>,
        watched: Option<WatchedCall<W, H>>,
        rounds: Option<BoxFuture<'static, Result<Response, Error>>>,
    }
}

/// A call whose result is searched for questions.
pub(super) struct WatchedCall<W, H> {
    /// The request to send again; `None` for a method whose results cannot ask.
    pub(super) request: Option<Request>,
    pub(super) service: InputLoop<W, H>,
}

impl<W: RpcService, H> InputLoopFuture<W, H> {
    pub(super) fn new(inner: W::Future, watched: Option<WatchedCall<W, H>>) -> Self {
        Self { inner: Some(inner), watched, rounds: None }
    }

    /// Creates the future of a call that is refused.
    pub(super) fn refused(error: Error) -> Self {
        Self { inner: None, watched: None, rounds: Some(Box::pin(std::future::ready(Err(error)))) }
    }
}

impl<W: RpcService, H: RpcService> Future for InputLoopFuture<W, H> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.rounds.is_none()
            && let Some(inner) = this.inner.as_pin_mut()
        {
            let response = ready!(inner.poll(cx))?;
            let Some(watched) = this.watched.take() else { return Poll::Ready(Ok(response)) };
            let asked = match ResultKind::of(&response.result)? {
                ResultKind::Final => return Poll::Ready(Ok(response)),
                ResultKind::InputRequired(asked) => asked,
            };
            let Some(request) = watched.request else {
                return Poll::Ready(Err(Error::misbehaved("the server asks for input where it may not")));
            };
            *this.rounds = Some(Box::pin(answer_rounds(watched.service, request, asked)));
        }
        match this.rounds {
            Some(rounds) => rounds.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<W: RpcService, H> fmt::Debug for InputLoopFuture<W, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputLoopFuture").field("asked", &self.rounds.is_some()).finish_non_exhaustive()
    }
}

/// The kind of a result, by its `resultType`.
pub(super) enum ResultKind {
    /// The result of the method, or a task in its place.
    Final,
    /// Questions of the server.
    InputRequired(Object),
}

const COMPLETE: &[u8] = br#"{"resultType":"complete""#;

impl ResultKind {
    pub(super) fn of(result: &RawJson) -> Result<Self, Error> {
        // Servers write the member in front or not at all, so this search is nearly always enough.
        let bytes = result.as_bytes();
        if bytes.starts_with(COMPLETE) || memmem::find(bytes, br#""resultType""#).is_none() {
            return Ok(Self::Final);
        }
        let object =
            Object::from_raw(result).map_err(|_| Error::misbehaved("the result is not an object"))?;
        match object.text("resultType").as_deref() {
            Some("complete" | "task") => Ok(Self::Final),
            Some("input_required") => Ok(Self::InputRequired(object)),
            None if !object.contains("resultType") => Ok(Self::Final),
            //= mcp 2026-07-28
            //# If the client does not recognise the value, it MUST treat the response as invalid.
            _ => Err(Error::misbehaved("the result is of a type that was not agreed on")),
        }
    }
}
