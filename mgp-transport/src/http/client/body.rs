use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::Response;
use http_body::Body;
use hyper::body::Incoming;
use mgp_types::frame::{Frame, Message, decode};
use mgp_types::{Error, Origin};

use super::status::HttpStatus;
use crate::{ConnectionLimits, TooLong};

/// Reads a whole body of bounded size.
pub(super) async fn read(mut body: Incoming, max_bytes: usize) -> Result<Bytes, Error> {
    let announced = body.size_hint().lower();
    if announced > max_bytes as u64 {
        return Err(TooLong::answer(max_bytes));
    }
    let Some(first) = next_chunk(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > max_bytes {
        return Err(TooLong::answer(max_bytes));
    }
    // The usual answer came in one piece, which nobody needs to copy.
    let Some(second) = next_chunk(&mut body).await? else { return Ok(first) };
    let mut whole = BytesMut::with_capacity(usize::try_from(announced).unwrap_or(0).max(first.len() * 2));
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        if whole.len() + chunk.len() > max_bytes {
            return Err(TooLong::answer(max_bytes));
        }
        whole.extend_from_slice(&chunk);
        next = next_chunk(&mut body).await?;
    }
    Ok(whole.freeze())
}

/// Reads a body whose content does not matter, so that its connection can be used again. One that is long
/// is left alone, and its connection closes.
pub(super) async fn discard(mut body: Incoming) {
    let mut left = MAX_DISCARDED_BYTES;
    while let Ok(Some(chunk)) = next_chunk(&mut body).await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The next data of a body; `None` at its end.
pub(super) async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, Error> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            Some(Ok(frame)) => {
                // Trailers say nothing that the protocol knows.
                if let Ok(chunk) = frame.into_data() {
                    return Ok(Some(chunk));
                }
            }
            Some(Err(error)) => {
                return Err(
                    Error::disconnected("the connection broke while the answer came").with_source(error)
                );
            }
            None => return Ok(None),
        }
    }
}

/// What of a body has arrived already.
pub(super) enum Arrived {
    Chunk(Bytes),
    Nothing,
    End,
}

/// Looks without waiting.
pub(super) async fn arrived(body: &mut Incoming) -> Arrived {
    let frame = poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
        Poll::Ready(frame) => Poll::Ready(Some(frame)),
        Poll::Pending => Poll::Ready(None),
    });
    match frame.await {
        Some(Some(Ok(frame))) => frame.into_data().map_or(Arrived::Nothing, Arrived::Chunk),
        Some(_) => Arrived::End,
        None => Arrived::Nothing,
    }
}

/// What an answer that is not a success says: the error in its body, or else that of its status.
pub(super) async fn refusal(response: Response<Incoming>, limits: &ConnectionLimits) -> Error {
    let (head, body) = response.into_parts();
    let status = HttpStatus::new(head.status, &head.headers);
    let Ok(body) = read(body, limits.max_frame_bytes.min(MAX_REFUSAL_BYTES)).await else {
        return status.into_error();
    };
    match decode(&body, limits.json) {
        // Servers put any id there that they have at hand, or none.
        Frame::Single(Ok(Message::Reply { outcome: Err(error), .. })) if error.origin() == Origin::Peer => {
            error.with_source(status)
        }
        _ => status.into_error(),
    }
}

const MAX_DISCARDED_BYTES: usize = 64 << 10;
const MAX_REFUSAL_BYTES: usize = 64 << 10;
