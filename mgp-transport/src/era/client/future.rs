//! The future of a call, which repeats it once after a new handshake.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::agreement::Agreed;
use super::service::Shared;

pin_project! {
    /// The future of [`ClientEra`](super::ClientEra).
    pub struct EraFuture<W: RpcService> {
        #[pin]
        inner: W::Future,
        replay: Option<Replay<W>>,
        again: Option<BoxFuture<'static, Result<Response, Error>>>,
    }
}

/// The values that are needed to send a call once more.
pub(super) struct Replay<W> {
    pub(super) shared: Arc<Shared<W>>,
    pub(super) request: Request,
    pub(super) agreed: Arc<Agreed>,
}

impl<W: RpcService> EraFuture<W> {
    pub(super) fn new(inner: W::Future, replay: Option<Replay<W>>) -> Self {
        Self { inner, replay, again: None }
    }
}

impl<W: RpcService> Future for EraFuture<W> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.again.is_none() {
            let error = match ready!(this.inner.poll(cx)) {
                Ok(response) => {
                    if let Some(replay) = this.replay.take() {
                        replay.shared.standing.note(&replay.request);
                    }
                    return Poll::Ready(Ok(response));
                }
                Err(error) => error,
            };
            let Some(replay) = this.replay.take() else { return Poll::Ready(Err(error)) };
            if !replay.shared.can_renew(&error, &replay.agreed) {
                return Poll::Ready(Err(error));
            }
            *this.again = Some(Box::pin(async move {
                replay.shared.renew(replay.agreed.generation).await?;
                replay.shared.again(replay.request).await
            }));
        }
        match this.again {
            Some(again) => again.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<W: RpcService> fmt::Debug for EraFuture<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EraFuture").field("again", &self.again.is_some()).finish_non_exhaustive()
    }
}
