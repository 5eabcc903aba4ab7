use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::Response;
use http_body::Body as _;
use hyper::body::{Frame, Incoming};
use mgp_types::frame::{self, Message, decode};
use mgp_types::{Error, Origin};

use super::pool::Used;
use super::status::HttpStatus;
use crate::{ConnectionLimits, TooLong};

/// The body of an answer. One that has been read to its end makes its connection free for the next request; one that is
/// dropped before closes it.
#[derive(Debug)]
pub(super) struct Body {
    incoming: Incoming,
    connection: Option<Used>,
}

impl Body {
    pub(super) fn new(incoming: Incoming, connection: Used) -> Self {
        let mut body = Self { incoming, connection: Some(connection) };
        if body.incoming.is_end_stream() {
            body.end();
        }
        body
    }

    /// Whether nothing is left to be read.
    pub(super) fn is_over(&self) -> bool {
        self.connection.is_none()
    }

    /// The next data; `None` at the end.
    pub(super) async fn next_chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let Some(frame) = poll_fn(|cx| self.poll_frame(cx)).await else { return Ok(None) };
            let frame = frame.map_err(|error| {
                Error::disconnected("the connection broke while the answer came").with_source(error)
            })?;
            // Trailers say nothing that the protocol knows.
            if let Ok(chunk) = frame.into_data() {
                return Ok(Some(chunk));
            }
        }
    }

    /// What has arrived already, without waiting.
    pub(super) async fn arrived(&mut self) -> Arrived {
        let frame = poll_fn(|cx| match self.poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        match frame.await {
            Some(Some(Ok(frame))) => frame.into_data().map_or(Arrived::Nothing, Arrived::Chunk),
            Some(_) => Arrived::End,
            None => Arrived::Nothing,
        }
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
pub(super) async fn read(mut body: Body, max_bytes: usize) -> Result<Bytes, Error> {
    let announced = body.incoming.size_hint().lower();
    if announced > max_bytes as u64 {
        return Err(TooLong::answer(max_bytes));
    }
    let Some(first) = body.next_chunk().await? else { return Ok(Bytes::new()) };
    if first.len() > max_bytes {
        return Err(TooLong::answer(max_bytes));
    }
    // The usual answer came in one piece, which nobody needs to copy.
    if body.is_over() {
        return Ok(first);
    }
    let Some(second) = body.next_chunk().await? else { return Ok(first) };
    let mut whole = BytesMut::with_capacity(usize::try_from(announced).unwrap_or(0).max(first.len() * 2));
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        if whole.len() + chunk.len() > max_bytes {
            return Err(TooLong::answer(max_bytes));
        }
        whole.extend_from_slice(&chunk);
        next = body.next_chunk().await?;
    }
    Ok(whole.freeze())
}

/// Reads a body whose content does not matter, so that its connection can be used again. One that is long
/// is left alone, and its connection closes.
pub(super) async fn discard(mut body: Body) {
    let mut left = MAX_DISCARDED_BYTES;
    while let Ok(Some(chunk)) = body.next_chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// What of a body has arrived already.
pub(super) enum Arrived {
    Chunk(Bytes),
    Nothing,
    End,
}

/// What an answer that is not a success says: the error in its body, or else that of its status.
pub(super) async fn refusal(response: Response<Body>, limits: &ConnectionLimits) -> Error {
    let (head, body) = response.into_parts();
    let status = HttpStatus::new(head.status, &head.headers);
    let Ok(body) = read(body, limits.max_frame_bytes.min(MAX_REFUSAL_BYTES)).await else {
        return status.into_error();
    };
    match decode(&body, limits.json) {
        // Servers put any id there that they have at hand, or none.
        frame::Frame::Single(Ok(Message::Reply { outcome: Err(error), .. }))
            if error.origin() == Origin::Peer =>
        {
            error.with_source(status)
        }
        _ => status.into_error(),
    }
}

const MAX_DISCARDED_BYTES: usize = 64 << 10;
const MAX_REFUSAL_BYTES: usize = 64 << 10;
