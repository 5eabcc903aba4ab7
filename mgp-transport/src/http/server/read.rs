//! Reading the body of a request, within its bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes};
use http::StatusCode;
use http_body::Body;
use mgp_types::Id;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::HttpConfig;
use super::respond::HttpRefusal;
use super::watched_connection::AwaitedBody;
use crate::TooLong;
use crate::memory_budget::BudgetShare;
use crate::skipped_message::{MessageHead, SkippedMessage, head, id_at_end};

pin_project! {
    /// A body on its way in. A body of one chunk, which nearly all are, is not copied.
    pub(super) struct BodyReader<B> {
        #[pin]
        body: B,
        first: Bytes,
        more: Vec<u8>,
        config: Arc<HttpConfig>,
        // The memory that the body takes of the budget for long ones.
        share: Option<BudgetShare>,
        refused: Option<RefusedBody>,
        // The deadline starts late, because most bodies arrive with the head and never wait.
        deadline: Option<Pin<Box<Sleep>>>,
        // The number of bytes that came since the deadline was set.
        in_time: usize,
        awaited: Option<AwaitedBody>,
    }
}

/// A body that is refused. It is read to its end all the same, or its sender would not read the answer.
#[derive(Debug)]
struct RefusedBody {
    why: TooLong,
    skipped: SkippedMessage,
}

impl RefusedBody {
    /// Returns the id of the request in the body, if one of its ends holds it.
    fn id(&self) -> Option<Id> {
        match head(&self.skipped.first) {
            MessageHead::Request(Some(id)) => Some(id),
            MessageHead::Request(None) | MessageHead::Unclear => id_at_end(&self.skipped.last),
            MessageHead::Answer(_) => None,
        }
    }
}

/// The number of bytes of a body that have to come in its time.
const ENOUGH_IN_TIME: usize = 1 << 20;

impl<B: Body> BodyReader<B> {
    pub(super) fn new(body: B, config: Arc<HttpConfig>) -> Self {
        Self {
            body,
            first: Bytes::new(),
            more: Vec::new(),
            share: Some(config.limits.memory.share()),
            config,
            refused: None,
            deadline: None,
            in_time: 0,
            awaited: None,
        }
    }

    pub(super) fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Bytes, HttpRefusal>> {
        let mut this = self.project();
        while !this.body.is_end_stream() {
            let frame = match this.body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    if this.deadline.is_none() {
                        *this.awaited = AwaitedBody::begin();
                    }
                    let timeout = this.config.body_timeout;
                    let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
                    ready!(deadline.as_mut().poll(cx));
                    let why = "the body took too long";
                    return Poll::Ready(Err(HttpRefusal::because(StatusCode::REQUEST_TIMEOUT, why)));
                }
            };
            let Some(frame) = frame else { break };
            let Ok(frame) = frame else {
                return Poll::Ready(Err(HttpRefusal::invalid("the body ended early")));
            };
            let Ok(mut data) = frame.into_data() else { continue };
            let len = data.remaining();
            *this.in_time += len;
            if *this.in_time >= ENOUGH_IN_TIME {
                // A long body gets the same time again, or only a fast peer could send one.
                (*this.deadline, *this.in_time) = (None, 0);
            }
            let length = this.first.len() + this.more.len() + len;
            if this.refused.is_none()
                && let Some(share) = this.share
                && let Err(why) = this.config.limits.admit(share, length)
            {
                let mut skipped = SkippedMessage::default();
                skipped.skip(&std::mem::take(this.first));
                skipped.skip(&std::mem::take(this.more));
                *this.refused = Some(RefusedBody { why, skipped });
                *this.share = None;
            }
            if let Some(RefusedBody { skipped, .. }) = this.refused {
                skipped.skip(&data.copy_to_bytes(len));
                if skipped.bytes > this.config.limits.max_skipped_bytes {
                    break;
                }
                continue;
            }
            if this.first.is_empty() && this.more.is_empty() {
                *this.first = data.copy_to_bytes(len);
                continue;
            }
            if !this.first.is_empty() {
                let expected = usize::try_from(this.body.size_hint().lower()).unwrap_or(0);
                let room = this.first.len() + len + expected.min(this.config.limits.max_frame_bytes);
                this.more.reserve(room);
                this.more.extend_from_slice(&std::mem::take(this.first));
            }
            this.more.put(data);
        }
        Poll::Ready(match this.refused.take() {
            None => {
                let (first, more) = (std::mem::take(this.first), std::mem::take(this.more));
                let whole = if more.is_empty() { first } else { more.into() };
                Ok(match this.share.take() {
                    Some(share) => share.hold(whole),
                    None => whole,
                })
            }
            Some(refused) => {
                let status = match refused.why {
                    TooLong::Memory { .. } => StatusCode::SERVICE_UNAVAILABLE,
                    TooLong::Message { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                };
                let error = refused.why.refusal(this.config.limits.setting_names);
                Err(HttpRefusal::new(status, error).of(refused.id()))
            }
        })
    }
}
