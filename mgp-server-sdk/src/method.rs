//! Handlers of completion, and of methods and notifications that the specification does not define.

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mcp::{Completion, Map};
use mgp_types::{BoxFuture, Error, Request, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cx::Cx;
use crate::tool::{CallInput, ToolError, form, turn_into};

/// An async function that serves a method of a vendor.
///
/// The function takes the typed params, the params and then [`Cx`], or the whole [`Request`], and returns a `Result` of
/// a serializable result (a [`Response`] for the whole request) and an error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot serve a method",
    label = "not an async function that serves a method",
    note = "a handler is an async function of `Params`, of `Params` and then `Cx`, or of `Request`",
    note = "it returns `Result<T, E>` where `T: serde::Serialize`, or `Result<Response, E>` for a `Request`"
)]
pub trait MethodHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn serve(&self, input: CallInput) -> Result<MethodFuture, Error>;
}

/// An async function that handles a notification of a vendor: its typed params, the params and then [`Cx`], or the
/// whole [`Request`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take a notification",
    label = "not an async function that takes a notification",
    note = "a handler is an async function of `Params`, of `Params` and then `Cx`, or of `Request`, and returns nothing"
)]
pub trait NotificationHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn take(&self, input: CallInput) -> Result<MethodFuture, Error>;
}

pub(crate) type MethodFuture = BoxFuture<'static, Result<Response, Error>>;

impl<F, Fut, E> MethodHandler<form::Raw> for F
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Response, E>> + Send + 'static,
    E: Into<ToolError> + 'static,
{
    fn serve(&self, input: CallInput) -> Result<MethodFuture, Error> {
        let future = self(input.request);
        Ok(Box::pin(async move { future.await.map_err(|error| error.into().into_error()) }))
    }
}

impl<F, Fut> NotificationHandler<form::Raw> for F
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn take(&self, input: CallInput) -> Result<MethodFuture, Error> {
        Ok(taken(self(input.request)))
    }
}

/// Implements both traits for functions of typed params.
macro_rules! typed {
    ($($form:ident($($argument:ty),+), |$handler:ident, $input:ident| $call:expr;)+) => {$(
        impl<F, Fut, P, T, E> MethodHandler<form::$form<P>> for F
        where
            F: Fn($($argument),+) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<T, E>> + Send + 'static,
            P: DeserializeOwned + 'static,
            T: Serialize + 'static,
            E: Into<ToolError> + 'static,
        {
            fn serve(&self, $input: CallInput) -> Result<MethodFuture, Error> {
                let $handler = self;
                Ok(written($call))
            }
        }

        impl<F, Fut, P> NotificationHandler<form::$form<P>> for F
        where
            F: Fn($($argument),+) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = ()> + Send + 'static,
            P: DeserializeOwned + 'static,
        {
            fn take(&self, $input: CallInput) -> Result<MethodFuture, Error> {
                let $handler = self;
                Ok(taken($call))
            }
        }
    )+};
}

typed! {
    Args(P), |handler, input| handler(input.request.body()?);
    ArgsContext(P, Cx), |handler, input| handler(input.request.body()?, input.into_cx());
}

fn written<T: Serialize + 'static, E: Into<ToolError> + 'static>(
    future: impl Future<Output = Result<T, E>> + Send + 'static,
) -> MethodFuture {
    Box::pin(async move {
        let result = future.await.map_err(|error| error.into().into_error())?;
        Response::with_body(&result)
    })
}

fn taken(future: impl Future<Output = ()> + Send + 'static) -> MethodFuture {
    Box::pin(async move {
        future.await;
        Ok(Response::empty())
    })
}

/// A handler of a method or notification with its type erased.
pub(crate) type ErasedMethod = Arc<dyn Fn(CallInput) -> Result<MethodFuture, Error> + Send + Sync>;

/// A request for completion.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The text that has been typed so far.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub arguments: Map<String>,
}

/// An async function of [`CompletionRequest`], or of it and then [`Cx`], that returns the values which complete an
/// argument, the best first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot complete an argument",
    label = "not an async function that completes",
    note = "a handler is an async function of `CompletionRequest`, or of it and then `Cx`",
    note = "the result must be texts, a `Completion`, or a `Result` of one of these and `ToolError`"
)]
pub trait CompletionHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn complete(&self, wanted: CompletionRequest, input: CallInput) -> CompletionFuture;
}

pub(crate) type CompletionFuture = BoxFuture<'static, Result<Completion, Error>>;

/// A value that a completion may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    note = "return a `Vec` or array of texts, a `Completion`, or a `Result` of one of these and `ToolError`"
)]
pub trait IntoCompletion {
    /// Returns the values.
    ///
    /// # Errors
    /// The request is answered with a JSON-RPC error.
    fn into_completion(self) -> Result<Completion, Error>;
}

turn_into! { IntoCompletion::into_completion -> Completion {
    [] Completion: |completion| completion;
    [S: Into<String>] Vec<S>: |values| Completion::new(values.into_iter().map(Into::into).collect::<Vec<_>>());
    [S: Into<String>, const N: usize] [S; N]: |values| Completion::new(values.map(Into::<String>::into));
} }

impl<T: IntoCompletion, E: Into<ToolError>> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, Error> {
        self.map_err(|error| error.into().into_error())?.into_completion()
    }
}

impl<F, Fut, R> CompletionHandler<form::Bare> for F
where
    F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoCompletion + 'static,
{
    fn complete(&self, wanted: CompletionRequest, _: CallInput) -> CompletionFuture {
        let future = self(wanted);
        Box::pin(async move { future.await.into_completion() })
    }
}

impl<F, Fut, R> CompletionHandler<form::Context> for F
where
    F: Fn(CompletionRequest, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoCompletion + 'static,
{
    fn complete(&self, wanted: CompletionRequest, input: CallInput) -> CompletionFuture {
        let future = self(wanted, input.into_cx());
        Box::pin(async move { future.await.into_completion() })
    }
}

/// The completions of a server, by the argument that each completes.
pub(crate) type Completers = HashMap<(ArgumentOwner, Box<str>), ErasedCompleter>;

/// A handler with its type erased.
pub(crate) type ErasedCompleter = Arc<dyn Fn(CompletionRequest, CallInput) -> CompletionFuture + Send + Sync>;

/// The prompt or resource template whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ArgumentOwner {
    Prompt(Box<str>),
    Template(Box<str>),
}
