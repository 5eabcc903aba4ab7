//! Reading the bodies of answers, and the errors that stand for the status of those that are none.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http::{Response, StatusCode};
use http_body::Body as _;
use hyper::body::{Frame, Incoming};
use mgp_types::frame::{self, Message, decode};
use mgp_types::{Error, Origin, code};

use super::pool::UsedConnection;
use crate::ConnectionLimits;
use crate::limits::BudgetShare;

/// The body of an answer. A body that was read to its end frees its connection for the next request; one that is
/// dropped before closes it.
#[derive(Debug)]
pub(super) struct ResponseBody {
    incoming: Incoming,
    connection: Option<UsedConnection>,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, connection: UsedConnection) -> Self {
        let mut body = Self { incoming, connection: Some(connection) };
        if body.incoming.is_end_stream() {
            body.end();
        }
        body
    }

    /// Returns whether the body is read to its end.
    pub(super) fn is_over(&self) -> bool {
        self.connection.is_none()
    }

    /// Returns the next data; `None` at the end.
    pub(super) async fn next_chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let Some(frame) = poll_fn(|cx| self.poll_frame(cx)).await else { return Ok(None) };
            let frame = frame.map_err(|error| {
                Error::disconnected("the connection broke while the answer came").with_source(error)
            })?;
            // Trailers hold nothing that the protocol knows.
            if let Ok(chunk) = frame.into_data() {
                return Ok(Some(chunk));
            }
        }
    }

    /// Returns the data that have arrived already, without waiting.
    pub(super) fn arrived(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.poll_frame(cx)).now_or_never()??.ok()?.into_data().ok()
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        if frame.is_none() || self.incoming.is_end_stream() {
            self.end();
        }
        Poll::Ready(frame)
    }

    fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.free();
        }
    }
}

/// Reads a whole body of bounded size.
pub(super) async fn read(mut body: ResponseBody, limits: &ConnectionLimits) -> Result<Bytes, Error> {
    let mut share = limits.memory.share();
    let mut admit = |bytes: usize| admit(&mut share, bytes, limits);
    let announced = usize::try_from(body.incoming.size_hint().lower()).unwrap_or(usize::MAX);
    admit(announced)?;
    let Some(first) = body.next_chunk().await? else { return Ok(Bytes::new()) };
    admit(first.len())?;
    // The usual answer came in one piece, which needs no copy.
    if body.is_over() {
        return Ok(share.hold(first));
    }
    let Some(second) = body.next_chunk().await? else { return Ok(share.hold(first)) };
    let mut whole = BytesMut::with_capacity(announced.max(first.len() * 2));
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        admit(whole.len() + chunk.len())?;
        whole.extend_from_slice(&chunk);
        next = body.next_chunk().await?;
    }
    Ok(share.hold(whole.freeze()))
}

/// Takes the memory for `bytes` bytes of a message.
pub(super) fn admit(share: &mut BudgetShare, bytes: usize, limits: &ConnectionLimits) -> Result<(), Error> {
    limits.admit(share, bytes).map_err(|why| why.answer(limits.setting_names))
}

const MAX_DISCARDED_BYTES: usize = 64 << 10;
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Reads a body whose content does not matter, so that its connection can be used again. A long body is left alone, and
/// its connection closes.
pub(super) async fn discard(mut body: ResponseBody) {
    let mut left = MAX_DISCARDED_BYTES;
    while let Ok(Some(chunk)) = body.next_chunk().await {
        let Some(rest) = left.checked_sub(chunk.len()) else { return };
        left = rest;
    }
}

/// Returns the error of an answer that is no success: the one in its body, or else that of its status.
pub(super) async fn refusal(response: Response<ResponseBody>, limits: &ConnectionLimits) -> Error {
    let (head, body) = response.into_parts();
    let status = HttpStatus::new(head.status);
    let mut of_refusal = limits.clone();
    of_refusal.max_frame_bytes = of_refusal.max_frame_bytes.min(MAX_REFUSAL_BYTES);
    let Ok(body) = read(body, &of_refusal).await else {
        return status.into_error();
    };
    match decode(&body) {
        // Servers put any id there, or none.
        frame::Frame::Single(Ok(Message::Reply { outcome: Err(error), .. }))
            if error.origin() == Origin::Peer =>
        {
            error.with_source(status)
        }
        _ => status.into_error(),
    }
}

/// The HTTP status behind an error, kept as the error's source.
///
/// The era of a server, and its wish for authorization, can only be told from the status. An
/// [`Authorize`](super::Authorize) sees the challenges of an answer as well.
///
/// ```
/// # use mgp_transport::http::HttpStatus;
/// # fn judge(error: &mgp_types::Error) -> bool {
/// HttpStatus::of(error).is_some_and(|status| status.code() == 401)
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server answered with HTTP status {code}")]
pub struct HttpStatus {
    code: u16,
}

/// The source of an error: the server no longer knows the session, because it answered 404 to a request that named one.
///
/// The error has [`Origin::Connection`]; the session has to be opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server no longer knows the session")]
#[non_exhaustive]
pub struct SessionLost;

impl HttpStatus {
    pub(super) fn new(status: StatusCode) -> Self {
        Self { code: status.as_u16() }
    }

    /// Returns the status behind `error`, if a server answered with one.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the status, like 404.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns the error for an answer whose body is not one of the protocol.
    pub(super) fn into_error(self) -> Error {
        let message = format!("the server answered with HTTP status {}", self.code);
        let error = match self.code {
            // A proxy answered, or the server is busy: the request has no answer yet.
            408 | 429 | 502..=504 => Error::disconnected(message),
            _ => Error::misbehaved(message),
        };
        error.with_source(self)
    }
}

impl SessionLost {
    /// Returns whether `error` means that the session has to be opened again.
    pub fn is_behind(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Self>)
    }

    pub(super) fn into_error(self) -> Error {
        let message = "the server no longer knows the session";
        Error::from_origin(Origin::Connection, code::UPSTREAM_UNAVAILABLE, message).with_source(self)
    }
}
