//! The layer that carries calls with a key out once.

use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::Either;
use mgp_types::ext::IdempotentCall;
use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use super::book::{IdempotencyBook, patience};
use super::keyed_call::{self, KeyedCall};

/// A layer that carries calls of tools with an idempotency key out once.
///
/// It sits behind all that decides whether the caller may make the call, because a result that is told again passes those as
/// any call does; and in front of the execution. It reads `context.principal` and `context.tool`, if they are there. A call
/// without a key passes untouched. A call with one is made in a task of its own, which goes on when the caller gives up.
#[derive(Clone)]
pub struct IdempotencyLayer {
    book: Option<IdempotencyBook>,
    is_done_behind: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

mgp_types::partial_debug!(IdempotencyLayer, self => book: self.book);

impl IdempotencyLayer {
    /// Returns the layer that notes the keys of calls in `book`. Without a book all calls pass untouched.
    pub fn new(book: impl Into<Option<IdempotencyBook>>) -> Self {
        Self { book: book.into(), is_done_behind: None }
    }

    /// Lets calls pass untouched while `is_done_behind` returns true: the one that carries them out knows their keys itself.
    #[must_use]
    pub fn unless(mut self, is_done_behind: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_done_behind = Some(Arc::new(is_done_behind));
        self
    }

    /// Returns the key in the metadata of a request, or in its HTTP header, and the time for which it is to hold.
    ///
    /// # Errors
    /// The key has another form, or the header names another one.
    pub fn key_of(request: &Request) -> Result<Option<IdempotentCall>, Error> {
        keyed_call::key_of(request)
    }

    /// Returns the answer to a call whose key is not new: the outcome of the first call, for which the answer waits, or
    /// 4020. `None` if the call has no key, or a new one.
    ///
    /// A gateway asks before it has a person confirm the call, so that nobody is asked about a call that is not made.
    pub fn answer_again(&self, request: &Request) -> Option<BoxFuture<'static, Result<Response, Error>>> {
        match self.keyed(request) {
            Ok(None) => None,
            Ok(Some((book, call))) => {
                let known = book.known(&call)?;
                Some(Box::pin(book.clone().again(call, known, patience(request))))
            }
            Err(error) => Some(Box::pin(ready(Err(error)))),
        }
    }

    /// Returns the key of a call, and the book that it belongs to; `None` if the call passes untouched.
    fn keyed(&self, request: &Request) -> Result<Option<(&IdempotencyBook, KeyedCall)>, Error> {
        let Some(book) = &self.book else {
            // A key that is none is refused by whoever could not have kept it, too.
            return keyed_call::key_in_header(request).map(|_| None);
        };
        let Some(call) = KeyedCall::of(request)? else { return Ok(None) };
        let is_done_behind = self.is_done_behind.as_ref().is_some_and(|is_done| is_done());
        Ok((!is_done_behind).then_some((book, call)))
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IdempotencyService { layer: self.clone(), inner }
    }
}

/// The service of an [`IdempotencyLayer`].
#[derive(Debug, Clone)]
pub struct IdempotencyService<S> {
    layer: IdempotencyLayer,
    inner: S,
}

impl<S: RpcService> Service<Request> for IdempotencyService<S> {
    type Response = Response;
    type Error = Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.layer.keyed(&request) {
            Ok(None) => Either::Left(self.inner.call(request)),
            Ok(Some((book, call))) => {
                Either::Right(Box::pin(book.clone().call(call, request, self.inner.clone())))
            }
            Err(error) => Either::Right(Box::pin(ready(Err(error)))),
        }
    }
}
