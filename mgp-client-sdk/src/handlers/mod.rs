//! The innermost service of a client: it answers the server's requests and handles its notifications.

mod registry;

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures_util::future::Either;
use mgp_stream::event::Subscriber;
use mgp_types::{BoxFuture, Error, Method, Request, RequestKind, Response};
use tower_service::Service;

pub use self::registry::IntoReply;
pub(crate) use self::registry::{HandlerRegistry, Roots, asking};
use crate::cache::CacheStore;
use crate::changes::ChangeRoutes;
use crate::progress::ProgressRoutes;

/// The future of [`Handlers`], which is boxed where a handler runs; without a handler the answer is there at once.
type HandlersFuture = Either<BoxFuture<'static, Result<Response, Error>>, Ready<Result<Response, Error>>>;

/// A function that answers one of the server's requests, whatever way it came.
pub(crate) type AnswerFn = Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync>;

/// The innermost service for the server's messages to the client: it runs the handlers.
///
/// The service sits under all inbound layers. The service reads `context` only to hand it to the handlers. A request
/// without a handler is refused with -32601.
#[derive(Clone)]
pub struct Handlers(Arc<HandlersInner>);

struct HandlersInner {
    registry: HandlerRegistry,
    listeners: NotificationListeners,
}

/// The further receivers of the server's notifications.
#[derive(Clone)]
pub(crate) struct NotificationListeners {
    pub(crate) progress: Arc<ProgressRoutes>,
    pub(crate) changes: Arc<ChangeRoutes>,
    pub(crate) cache: Option<Arc<CacheStore>>,
    pub(crate) subscriber: Subscriber,
}

impl Handlers {
    pub(crate) fn new(registry: HandlerRegistry, listeners: NotificationListeners) -> Self {
        Self(Arc::new(HandlersInner { registry, listeners }))
    }
}

impl HandlersInner {
    fn answer(&self, request: Request) -> HandlersFuture {
        match self.registry.requests.get(&request.method) {
            Some(handler) => Either::Left(handler(request)),
            None => Either::Right(ready(Err(Error::method_not_found(&request.method)))),
        }
    }

    fn notice(&self, notification: Request) -> HandlersFuture {
        let nothing = || Either::Right(ready(Ok(Response::empty())));
        let method = &notification.method;
        let NotificationListeners { progress, changes, cache, subscriber } = &self.listeners;
        if *method == Method::PROGRESS && progress.route(&notification.params) {
            return nothing();
        }
        #[cfg(feature = "ext")]
        if *method == *mgp_types::ext::SubscriptionEnded::METHOD {
            subscriber.receive_end(&notification);
        }
        if *method == Method::EVENT {
            subscriber.receive(&notification);
        } else {
            // The cache goes first: a handler of a change must not read an older result.
            if let Some(cache) = cache {
                cache.invalidate(method, &notification.params);
            }
            changes.tell(method, &notification.params);
        }
        if let Some(handler) = self.registry.notifications.get(method) {
            return Either::Left(handler(notification));
        }
        tracing::trace!(%method, "nobody listens to a notification");
        nothing()
    }
}

impl Service<Request> for Handlers {
    type Response = Response;
    type Error = Error;
    type Future = HandlersFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> HandlersFuture {
        match request.kind {
            RequestKind::Call => self.0.answer(request),
            RequestKind::Notify => self.0.notice(request),
        }
    }
}

mgp_types::partial_debug!(Handlers, self => registry: self.0.registry);
