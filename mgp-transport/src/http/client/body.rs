//! Reading the bodies of answers.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http::Response;
use http_body::Body as _;
use hyper::body::{Frame, Incoming};
use mgp_types::frame::{self, Message, decode};
use mgp_types::{Error, Origin};

use super::pool::UsedConnection;
use super::status::HttpStatus;
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
    let status = HttpStatus::new(head.status, &head.headers);
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
