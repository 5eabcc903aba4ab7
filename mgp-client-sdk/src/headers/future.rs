//! The future of a call whose answer may change the headers of later calls.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Method, Object, Request, Response, RpcService, code};
use pin_project_lite::pin_project;

use super::plans::HeaderPlans;

pin_project! {
    /// The future of [`HeaderMirror`](super::HeaderMirror).
    pub struct HeaderMirrorFuture<S: RpcService> {
        #[pin]
        inner: S::Future,
        watch: Option<AnswerWatch<S>>,
        again: Option<BoxFuture<'static, Result<Response, Error>>>,
    }
}

/// The reason for a look at an answer.
pub(super) enum AnswerWatch<S> {
    /// The answer lists tools.
    Learn(HeaderPlans),
    /// The answer holds tools that a search found.
    LearnFound(HeaderPlans),
    /// The answer may refuse the headers.
    Retry(Box<Retry<S>>),
}

/// The values that are needed to send a call once more.
pub(super) struct Retry<S> {
    pub(super) plans: HeaderPlans,
    pub(super) inner: S,
    pub(super) request: Request,
}

impl<S: RpcService> HeaderMirrorFuture<S> {
    pub(super) fn new(inner: S::Future, watch: Option<AnswerWatch<S>>) -> Self {
        Self { inner, watch, again: None }
    }
}

impl<S: RpcService> Future for HeaderMirrorFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.again.is_none() {
            let outcome = ready!(this.inner.poll(cx));
            match (this.watch.take(), outcome) {
                (Some(AnswerWatch::Learn(plans)), Ok(response)) => {
                    return Poll::Ready(Ok(plans.learn(response)));
                }
                (Some(AnswerWatch::LearnFound(plans)), Ok(response)) => {
                    plans.learn_found(&response);
                    return Poll::Ready(Ok(response));
                }
                (Some(AnswerWatch::Retry(retry)), Err(error)) if error.code() == code::HEADER_MISMATCH => {
                    *this.again = Some(Box::pin(list_and_retry(*retry, error)));
                }
                (_, outcome) => return Poll::Ready(outcome),
            }
        }
        match this.again {
            Some(again) => again.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

const MAX_PAGES: usize = 100;

/// Lists the tools again, until the called one was seen, and calls it once more.
async fn list_and_retry<S: RpcService>(retry: Retry<S>, refusal: Error) -> Result<Response, Error> {
    let Retry { plans, mut inner, mut request } = retry;
    tracing::debug!("the server refuses the headers; listing the tools again");
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = Object::new();
        if let Some(cursor) = cursor.take() {
            params.set("cursor", cursor);
        }
        poll_fn(|cx| inner.poll_ready(cx)).await?;
        let Ok(page) = inner.call(Request::call(Method::TOOLS_LIST, params)).await else {
            return Err(refusal);
        };
        let page = plans.learn(page);
        cursor = Object::from_raw(&page.result).ok().and_then(|page| page.get("nextCursor"));
        if cursor.is_none() {
            break;
        }
    }
    plans.apply(&mut request);
    poll_fn(|cx| inner.poll_ready(cx)).await?;
    inner.call(request).await
}

impl<S: RpcService> fmt::Debug for HeaderMirrorFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderMirrorFuture").field("again", &self.again.is_some()).finish_non_exhaustive()
    }
}
