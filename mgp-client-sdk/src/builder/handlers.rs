//! The handlers of a client: answers to the server's questions, and receivers of its notifications.

use std::future::Future;
use std::sync::Arc;

use mgp_stream::callback::{CallbackHandler, CallbackInboundLayer, CallbackResponder};
use mgp_types::mcp::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    LoggingMessageParams, ProgressParams, Root,
};
use mgp_types::mgp::{Extension, ExtensionSet, Offer, ServerId};
use mgp_types::{BoxFuture, Context, Error, Method, Params, RawJson, Request, Response};
use serde::de::DeserializeOwned;
use tower_layer::Stack;

use super::ClientBuilder;
use crate::handlers::{IntoReply, Roots, asking};

impl<L, I> ClientBuilder<L, I> {
    /// Answers the server when it has a form to fill in: with an [`Elicited`](crate::Elicited) of its fields.
    ///
    /// ```
    /// use mgp_client_sdk::{Client, Elicited, json};
    ///
    /// let builder = Client::builder("my-app", "1.0.0").on_elicitation(async |form, _| {
    ///     if form.message.starts_with("Delete") {
    ///         return Elicited::Declined;
    ///     }
    ///     Elicited::Accepted(json!({"name": "Ada"}))
    /// });
    /// ```
    pub fn on_elicitation<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitFormParams, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<ElicitResult>> + Send + 'static,
    {
        self.options.registry.on_form(asking(handler));
        self
    }

    /// Answers the server when the user has to visit a page. The handler should show the whole address and ask first.
    pub fn on_url_elicitation<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitUrlParams, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<ElicitResult>> + Send + 'static,
    {
        self.options.registry.on_url(asking(handler));
        self
    }

    /// Answers the server when it asks the client's model, without tools.
    pub fn on_sampling<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<CreateMessageResult>> + Send + 'static,
    {
        self.options.registry.on_sampling(false, asking(handler));
        self
    }

    /// Answers the server when it asks the client's model, which may call tools.
    pub fn on_sampling_with_tools<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<CreateMessageResult>> + Send + 'static,
    {
        self.options.registry.on_sampling(true, asking(handler));
        self
    }

    /// Answers the server when it asks for the roots.
    pub fn on_roots<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<Vec<Root>>> + Send + 'static,
    {
        self.options.registry.on_roots(false, asking(move |_, context| handler(context)));
        self
    }

    /// Sets the roots; [`Client::set_roots`](crate::Client::set_roots) replaces them later.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots = Roots::new(roots.into_iter().collect::<Vec<_>>().into());
        self.options.roots = Some(roots.clone());
        let current = move |_, _| std::future::ready(roots.read().clone());
        self.options.registry.on_roots(true, asking(current));
        self
    }

    /// Answers any other method of the server.
    pub fn on_request<F, A>(mut self, method: impl Into<Method>, handler: F) -> Self
    where
        F: Fn(Params, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<RawJson>> + Send + 'static,
    {
        let handler = move |request: Request| -> BoxFuture<'static, Result<Response, Error>> {
            let answer = handler(request.params, *request.context);
            Box::pin(async { answer.await.into_reply().map(Response::new) })
        };
        self.options.registry.requests.insert(method.into(), Arc::new(handler));
        self
    }

    /// Answers the server's questions in the middle of calls, as MGP asks them (§13.4).
    ///
    /// The answer is any JSON: for a confirmation or a selection one of the options, `null` for a user who closed the
    /// question. Without an answer the server waits until its time is over.
    pub fn on_callback<H: CallbackHandler>(
        mut self,
        handler: H,
    ) -> ClientBuilder<L, Stack<CallbackInboundLayer, I>> {
        let offer = self.options.identity.offer.get_or_insert_with(|| Offer::new(ExtensionSet::new()));
        offer.extensions.insert(Extension::Callbacks);
        // Each client has a responder of its own, so the responder has one server only.
        let responder = CallbackResponder::new(handler).of_server(ServerId::from("server"));
        self.inbound_layer(CallbackInboundLayer::new(responder))
    }

    /// Handles a notification of the server.
    ///
    /// Handlers start in the order of the notifications; a handler that waits does not keep the next from starting.
    pub fn on_notification<F, A>(mut self, method: impl Into<Method>, handler: F) -> Self
    where
        F: Fn(Params, Context) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let handler = move |request: Request| -> BoxFuture<'static, Result<Response, Error>> {
            let done = handler(request.params, *request.context);
            Box::pin(async {
                done.await;
                Ok(Response::empty())
            })
        };
        self.options.registry.notifications.insert(method.into(), Arc::new(handler));
        self
    }

    /// Handles the server's log messages.
    pub fn on_log(self, handler: impl Fn(LoggingMessageParams) + Send + Sync + 'static) -> Self {
        self.on_typed(Method::MESSAGE, handler)
    }

    /// Handles reports of progress that belong to no call of [`Call::on_progress`](crate::Call::on_progress).
    pub fn on_progress(self, handler: impl Fn(ProgressParams) + Send + Sync + 'static) -> Self {
        self.on_typed(Method::PROGRESS, handler)
    }

    fn on_typed<P: DeserializeOwned>(
        self,
        method: Method,
        handler: impl Fn(P) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification(method.clone(), move |params, _| {
            match params.to() {
                Ok(params) => handler(params),
                Err(error) => tracing::debug!(%error, %method, "a notification is malformed"),
            }
            std::future::ready(())
        })
    }
}
