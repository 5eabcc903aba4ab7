//! Completion of the arguments of prompts and the variables of resource templates.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use mgp_types::mcp::{Completion, Map};
use mgp_types::{BoxFuture, Error};

use crate::cx::Cx;
use crate::tool::{CallInput, ToolError, form};

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
    note = "a handler is an async function of `Complete`, or of `Complete` and then `Cx`",
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

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, Error> {
        Ok(self)
    }
}

impl<S: Into<String>> IntoCompletion for Vec<S> {
    fn into_completion(self) -> Result<Completion, Error> {
        Ok(Completion::new(self.into_iter().map(Into::into).collect::<Vec<_>>()))
    }
}

impl<S: Into<String>, const N: usize> IntoCompletion for [S; N] {
    fn into_completion(self) -> Result<Completion, Error> {
        Vec::from(self).into_completion()
    }
}

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
