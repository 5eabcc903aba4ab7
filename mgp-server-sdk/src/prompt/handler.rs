//! The forms of functions that make the messages of a prompt, and the values that they may return.

use std::future::Future;

use mgp_types::mcp::{ContentBlock, GetPromptResult, Map, PromptMessage, Role};
use mgp_types::{BoxFuture, Error};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::cx::Cx;
use crate::erased::Erased;
use crate::tool::{CallInput, ToolError, form};
use crate::{schema, strings};

/// An async function that makes the messages of a prompt.
///
/// The function takes nothing, its arguments, the context ([`Cx`]), or the arguments and then the context. Arguments
/// are a struct that derives `serde::Deserialize` and `schemars::JsonSchema`, whose members are read from texts, or a
/// [`Map<String>`](Map) as the client sent it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a prompt's handler",
    label = "not an async function of a prompt",
    note = "a handler is an async function of nothing, its arguments, `Cx`, or its arguments and then `Cx`",
    note = "the arguments must derive `serde::Deserialize` and `schemars::JsonSchema`, or be a `Map<String>`",
    note = "the result must implement `IntoPrompt`, and the future must be `Send`"
)]
pub trait PromptHandler<M>: Send + Sync + 'static {
    /// Returns the schema of the arguments.
    #[doc(hidden)]
    fn arguments() -> Option<Schema>;

    /// Makes the future of one request.
    #[doc(hidden)]
    fn get(&self, wanted: PromptRequest) -> Result<PromptFuture, Error>;
}

pub(crate) type PromptFuture = BoxFuture<'static, Result<GetPromptResult, Error>>;

/// One request for a prompt.
#[doc(hidden)]
#[derive(Debug)]
pub struct PromptRequest {
    pub(crate) input: CallInput,
    pub(crate) arguments: Map<String>,
}

impl PromptRequest {
    fn arguments<A: DeserializeOwned>(&self) -> Result<A, Error> {
        let arguments = self.arguments.iter().map(|(name, value)| (name, &**value));
        strings::read(arguments)
            .map_err(|fault| Error::invalid_params(format!("invalid prompt arguments: {fault}")))
    }
}

macro_rules! forms {
    ($($form:ty, [$($generic:ident)?] ($($argument:ty),*), $schema:expr, |$handler:ident, $wanted:ident| $call:expr;)+) => {
        $(impl<F, Fut, R $(, $generic)?> PromptHandler<$form> for F
        where
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: IntoPrompt + 'static,
            $($generic: DeserializeOwned + JsonSchema + 'static,)?
        {
            fn arguments() -> Option<Schema> {
                $schema
            }

            fn get(&self, $wanted: PromptRequest) -> Result<PromptFuture, Error> {
                let $handler = self;
                let future = $call;
                Ok(Box::pin(async move { future.await.into_prompt() }))
            }
        })+
    };
}

forms! {
    form::Bare, [] (), None, |handler, _wanted| handler();
    form::Context, [] (Cx), None, |handler, wanted| handler(wanted.input.into_cx());
    form::Raw, [] (Map<String>), None, |handler, wanted| handler(wanted.arguments);
    form::RawContext, [] (Map<String>, Cx), None, |handler, wanted| {
        handler(wanted.arguments, wanted.input.into_cx())
    };
    form::Args<A>, [A] (A), Some(schema::read_by::<A>()), |handler, wanted| handler(wanted.arguments()?);
    form::ArgsContext<A>, [A] (A, Cx), Some(schema::read_by::<A>()), |handler, wanted| {
        handler(wanted.arguments()?, wanted.input.into_cx())
    };
}

/// A handler with its type erased.
pub(crate) type ErasedPrompt = Erased<PromptRequest, Result<PromptFuture, Error>>;

/// A value that a prompt's handler may return.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "not the messages of a prompt",
    note = "return a text, a `ContentBlock`, a `PromptMessage`, a `Vec` or array of messages, a `GetPromptResult`, or a \
            `Result` of one of these and `ToolError`"
)]
pub trait IntoPrompt {
    /// Returns the messages.
    ///
    /// # Errors
    /// The request is answered with a JSON-RPC error.
    fn into_prompt(self) -> Result<GetPromptResult, Error>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(GetPromptResult::new(self))
    }
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        [self].into_prompt()
    }
}

impl IntoPrompt for ContentBlock {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        PromptMessage::new(Role::User, self).into_prompt()
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        ContentBlock::text(self).into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        ContentBlock::text(self).into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<ToolError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        self.map_err(|error| error.into().into_error())?.into_prompt()
    }
}
