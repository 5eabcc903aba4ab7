//! The layer that carries calls with a key out once, and how it knows such a call.

use std::future::ready;
use std::sync::Arc;

use futures_util::future::Either;
use mgp_types::canonical::{Digest, digest};
use mgp_types::ext::{IDEMPOTENCY_HEADER, IdempotencyKey, IdempotentCall};
use mgp_types::{BoxFuture, Error, Method, RawJson, Request, RequestKind, Response, RpcService};
use tower_service::Service;

use super::book::{IdempotencyBook, patience};

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
        let mut meta = request.params.object("_meta").unwrap_or_default();
        let in_body = IdempotentCall::read(&meta)?;
        let Some(key) = key_in_header(request)? else { return Ok(in_body) };
        match in_body {
            Some(call) if call.key != key => {
                Err(refuse(request, "the header X-Idempotency-Key and `_meta.idempotency_key` differ"))
            }
            Some(call) => Ok(Some(call)),
            None => {
                // The time for which the key holds is in the metadata.
                IdempotentCall::new(key).write(&mut meta);
                IdempotentCall::read(&meta)
            }
        }
    }

    /// Returns the answer to a call whose key is not new: the outcome of the first call, for which the answer waits, or
    /// 4020. There is none, now or at the end of the search among other kernels' calls, if the call has no key or a new one.
    ///
    /// A gateway asks before it has a person confirm the call, so that nobody is asked about a call that is not made.
    pub fn answer_again(
        &self,
        request: &Request,
    ) -> Option<BoxFuture<'static, Option<Result<Response, Error>>>> {
        match self.keyed(request) {
            Ok(Some((book, call))) if book.may_know(&call) => {
                let (book, patience) = (book.clone(), patience(request));
                Some(Box::pin(async move { book.answer(&call, patience).await }))
            }
            Ok(_) => None,
            Err(error) => Some(Box::pin(ready(Some(Err(error))))),
        }
    }

    /// Returns the key of a call, and the book that it belongs to; `None` if the call passes untouched.
    fn keyed(&self, request: &Request) -> Result<Option<(&IdempotencyBook, KeyedCall)>, Error> {
        let Some(book) = &self.book else {
            // A key that is none is refused by whoever could not have kept it, too.
            return key_in_header(request).map(|_| None);
        };
        let Some(call) = KeyedCall::of(request)? else { return Ok(None) };
        let is_done_behind = self.is_done_behind.as_ref().is_some_and(|is_done| is_done());
        Ok((!is_done_behind).then_some((book, call)))
    }
}

mgp_types::layer!(IdempotencyLayer, self, inner => IdempotencyService { layer: self.clone(), inner });

/// The service of an [`IdempotencyLayer`].
#[derive(Debug, Clone)]
pub struct IdempotencyService<S> {
    layer: IdempotencyLayer,
    inner: S,
}

impl<S: RpcService> Service<Request> for IdempotencyService<S> {
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Error>>>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        match self.layer.keyed(&request) {
            Ok(None) => Either::Left(self.inner.call(request)),
            Ok(Some((book, call))) => Either::Right(book.clone().call(call, request, self.inner.clone())),
            Err(error) => Either::Right(Box::pin(ready(Err(error)))),
        }
    }
}

/// A call with a key.
#[derive(Debug, Clone)]
pub(super) struct KeyedCall {
    /// The key, and the time for which it holds.
    pub(super) key_terms: IdempotentCall,
    /// The digest of the caller, the server, the tool and the key.
    pub(super) id: Digest,
    /// The digest of the caller.
    pub(super) caller: Digest,
    /// The digest of the arguments.
    pub(super) arguments: Digest,
}

impl KeyedCall {
    /// Reads the call; `None` if the request calls no tool, or has no key.
    ///
    /// # Errors
    /// The key has another form, the header names another one, or the arguments have no canonical form.
    pub(super) fn of(request: &Request) -> Result<Option<Self>, Error> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return Ok(None);
        }
        let Some(key_terms) = IdempotencyLayer::key_of(request)? else { return Ok(None) };
        let principal = request.context.principal.as_ref();
        let who = principal.map_or(["", ""], |principal| [principal.kind().as_str(), principal.as_str()]);
        let tool = request.context.tool.as_deref();
        let name = request.params.text("name").unwrap_or_default();
        let (server, tool) = tool.map_or(("", &*name), |tool| (tool.server.as_str(), tool.name.as_str()));
        let what = [server, tool, key_terms.key.as_str()];
        let arguments = request.params.get("arguments").unwrap_or(RawJson::empty_object());
        let arguments = digest(&arguments).map_err(|error| {
            Error::invalid_params("the arguments cannot be tied to an idempotency key").with_source(error)
        })?;
        let of = |purpose: &str, more: &[&str]| {
            let parts = std::iter::once(purpose).chain(who).chain(more.iter().copied());
            Digest::of_parts(parts.map(str::as_bytes))
        };
        Ok(Some(Self {
            id: of("mgp idempotent call 1", &what),
            caller: of("mgp caller 1", &[]),
            arguments,
            key_terms,
        }))
    }
}

/// Returns the key in the HTTP header of a request.
fn key_in_header(request: &Request) -> Result<Option<IdempotencyKey>, Error> {
    let head = request.extensions.get::<http::request::Parts>();
    let Some(header) = head.and_then(|head| head.headers.get(IDEMPOTENCY_HEADER)) else { return Ok(None) };
    let key = header.to_str().ok().and_then(|key| key.parse().ok());
    let wrong = "the header X-Idempotency-Key has 1 to 128 letters, digits or characters of `_-:.`";
    key.map(Some).ok_or_else(|| refuse(request, wrong))
}

fn refuse(request: &Request, message: &'static str) -> Error {
    let is_stateless =
        request.context.session.as_ref().is_some_and(|session| session.revision.is_stateless());
    if is_stateless { Error::header_mismatch(message) } else { Error::invalid_params(message) }
}
