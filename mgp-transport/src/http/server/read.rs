//! Reading the body of a request, within its bounds.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::connection::AwaitedBody;

pin_project! {
    /// A body on its way in. A body of one chunk, which nearly all are, is not copied.
    pub(super) struct Reader<B> {
        #[pin]
        body: B,
        first: Bytes,
        more: Vec<u8>,
        max_bytes: usize,
        timeout: Duration,
        // Most bodies arrive with the head and never wait.
        deadline: Option<Pin<Box<Sleep>>>,
        awaited: Option<AwaitedBody>,
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    TooLong,
    TooSlow,
    Broken,
}

impl<B: Body> Reader<B> {
    pub(super) fn new(body: B, max_bytes: usize, timeout: Duration) -> Self {
        Self {
            body,
            first: Bytes::new(),
            more: Vec::new(),
            max_bytes,
            timeout,
            deadline: None,
            awaited: None,
        }
    }

    pub(super) fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Bytes, Unread>> {
        let mut this = self.project();
        loop {
            if this.body.is_end_stream() {
                return Poll::Ready(Ok(whole(this.first, this.more)));
            }
            let frame = match this.body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    if this.deadline.is_none() {
                        *this.awaited = AwaitedBody::begin();
                    }
                    let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(*this.timeout)));
                    ready!(deadline.as_mut().poll(cx));
                    return Poll::Ready(Err(Unread::TooSlow));
                }
            };
            let mut data = match frame {
                None => return Poll::Ready(Ok(whole(this.first, this.more))),
                Some(Err(_)) => return Poll::Ready(Err(Unread::Broken)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => data,
                    Err(_) => continue,
                },
            };
            let len = data.remaining();
            if this.first.len() + this.more.len() + len > *this.max_bytes {
                return Poll::Ready(Err(Unread::TooLong));
            }
            if this.first.is_empty() && this.more.is_empty() {
                *this.first = data.copy_to_bytes(len);
                continue;
            }
            if !this.first.is_empty() {
                let expected = usize::try_from(this.body.size_hint().lower()).unwrap_or(0);
                let room = this.first.len() + len + expected.min(*this.max_bytes);
                this.more.reserve(room);
                this.more.extend_from_slice(&std::mem::take(this.first));
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                let read = chunk.len();
                this.more.extend_from_slice(chunk);
                data.advance(read);
            }
        }
    }
}

fn whole(first: &mut Bytes, more: &mut Vec<u8>) -> Bytes {
    if more.is_empty() { std::mem::take(first) } else { std::mem::take(more).into() }
}
