//! The innermost service of a client: it answers the server's requests and handles its notifications.

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::sync::Arc;

use futures_util::future::Either;
use mgp_stream::event::Subscriber;
use mgp_types::mcp::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    Elicited, ForRevision, ListRootsResult, Root,
};
use mgp_types::{BoxFuture, Context, Error, Method, Object, RawJson, Request, RequestKind, Response};
use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower_service::Service;

use crate::cache::CacheStore;
use crate::changes::{ChangeRoutes, ProgressRoutes};

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
    pub(crate) cache: Option<CacheStore>,
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
    type Future = HandlersFuture;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> HandlersFuture {
        match request.kind {
            RequestKind::Call => self.0.answer(request),
            RequestKind::Notify => self.0.notice(request),
        }
    }
}

mgp_types::partial_debug!(Handlers, self => registry: self.0.registry);

pub(crate) type QuestionHandler<P, R> =
    Arc<dyn Fn(P, Context) -> BoxFuture<'static, Result<R, Error>> + Send + Sync>;

/// The handlers by method, and the capabilities that follow from them.
#[derive(Clone, Default)]
pub(crate) struct HandlerRegistry {
    pub(crate) requests: HashMap<Method, AnswerFn>,
    pub(crate) notifications: HashMap<Method, AnswerFn>,
    form: Option<QuestionHandler<ElicitFormParams, ElicitResult>>,
    url: Option<QuestionHandler<ElicitUrlParams, ElicitResult>>,
    /// The capabilities of the client, in the form of the newest revision with sessions.
    pub(crate) capabilities: Object,
}

impl HandlerRegistry {
    pub(crate) fn on_form(&mut self, handler: QuestionHandler<ElicitFormParams, ElicitResult>) {
        self.form = Some(handler);
        self.elicit();
    }

    pub(crate) fn on_url(&mut self, handler: QuestionHandler<ElicitUrlParams, ElicitResult>) {
        self.url = Some(handler);
        self.elicit();
    }

    fn elicit(&mut self) {
        let modes = [("form", self.form.is_some()), ("url", self.url.is_some())].into_iter();
        let modes = modes.filter(|(_, is_answered)| *is_answered);
        let modes: Object = modes.map(|(mode, _)| (mode, RawJson::empty_object())).collect();
        self.capabilities.set("elicitation", modes.to_raw());
        let (form, url) = (self.form.clone(), self.url.clone());
        self.on(Method::ELICIT, move |params: ElicitParams, context| match (params, &form, &url) {
            (ElicitParams::Form(params), Some(form), _) => form(params, context),
            (ElicitParams::Url(params), _, Some(url)) => url(params, context),
            _ => Box::pin(async {
                Err(Error::invalid_params("the client did not declare this mode of elicitation"))
            }),
        });
    }

    pub(crate) fn on_sampling(
        &mut self,
        tools: bool,
        handler: QuestionHandler<CreateMessageParams, CreateMessageResult>,
    ) {
        let members: Object = tools.then(|| ("tools", RawJson::empty_object())).into_iter().collect();
        self.capabilities.set("sampling", members.to_raw());
        self.on(Method::CREATE_MESSAGE, move |params, context| handler(params, context));
    }

    pub(crate) fn on_roots(&mut self, list_changed: bool, handler: QuestionHandler<Object, Vec<Root>>) {
        let members = list_changed.then(|| ("listChanged", RawJson::from_written(b"true".to_vec())));
        self.capabilities.set("roots", members.into_iter().collect::<Object>().to_raw());
        self.on(Method::ROOTS_LIST, move |params, context| {
            let roots = handler(params, context);
            Box::pin(async { roots.await.map(ListRootsResult::new) })
        });
    }

    /// Answers a method by its typed params.
    fn on<P: DeserializeOwned, R: Serialize + ForRevision + 'static>(
        &mut self,
        method: Method,
        handler: impl Fn(P, Context) -> BoxFuture<'static, Result<R, Error>> + Send + Sync + 'static,
    ) {
        let handler = move |request: Request| -> BoxFuture<'static, Result<Response, Error>> {
            let params = match request.body() {
                Ok(params) => params,
                Err(error) => return Box::pin(async { Err(error) }),
            };
            let revision = request.context.session.as_ref().map(|session| session.revision);
            let answer = handler(params, *request.context);
            Box::pin(async move {
                let mut answer = answer.await?;
                if let Some(revision) = revision {
                    answer.fit(revision);
                }
                Response::with_body(&answer)
            })
        };
        self.requests.insert(method, Arc::new(handler));
    }
}

/// Erases the type of a handler of questions.
pub(crate) fn asking<P, R, A: Future<Output: IntoReply<R>> + Send + 'static>(
    handler: impl Fn(P, Context) -> A + Send + Sync + 'static,
) -> QuestionHandler<P, R> {
    Arc::new(move |params, context| {
        let answer = handler(params, context);
        Box::pin(async { answer.await.into_reply() })
    })
}

mgp_types::partial_debug!(HandlerRegistry, self =>
    requests: self.requests.keys(),
    notifications: self.notifications.keys(),
);

/// A value that a handler may return: the answer, or a result with the answer.
#[diagnostic::on_unimplemented(
    message = "a handler for this request has to return `{T}` or `Result<{T}, mgp_client_sdk::Error>`",
    label = "`{Self}` is returned instead",
    note = "a handler of `on_elicitation` or `on_url_elicitation` may return an `Elicited` of what can be written as JSON, too"
)]
pub trait IntoReply<T> {
    /// Returns the answer, or the error in its place.
    ///
    /// # Errors
    /// The handler failed.
    fn into_reply(self) -> Result<T, Error>;
}

impl<T> IntoReply<T> for T {
    fn into_reply(self) -> Result<T, Error> {
        Ok(self)
    }
}

impl<T> IntoReply<T> for Result<T, Error> {
    fn into_reply(self) -> Self {
        self
    }
}

impl<T: Serialize> IntoReply<ElicitResult> for Elicited<T> {
    fn into_reply(self) -> Result<ElicitResult, Error> {
        self.write()
    }
}

impl<T: Serialize> IntoReply<ElicitResult> for Result<Elicited<T>, Error> {
    fn into_reply(self) -> Result<ElicitResult, Error> {
        self?.write()
    }
}

/// The roots of a client that can replace them.
pub(crate) type Roots = Arc<RwLock<Vec<Root>>>;
