//! The forms of functions that a tool runs.

use std::pin::Pin;
use std::sync::Arc;

use mgp_types::{Error, Object, RawJson, Request};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use super::arguments::{self, ArgumentFault};
use super::{IntoToolResult, ToolResult};
use crate::cx::{CallExtras, Cx};
use crate::schema;

/// An async function that a tool runs.
///
/// The function takes nothing, its arguments, the context ([`Cx`]), or the arguments and then the context, and returns
/// a type that implements [`IntoToolResult`]. Arguments are a struct that derives `serde::Deserialize` and
/// `schemars::JsonSchema`, or an [`Object`] or [`RawJson`] as the client sent it. The marker `M` keeps these forms
/// apart and is always inferred.
///
/// ```
/// use mgp_server_sdk::{Cx, Server, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     name: String,
/// }
///
/// async fn greet(Greet { name }: Greet, cx: Cx) -> String {
///     cx.progress(1.0, None, Some("greeting")).await;
///     format!("Hello, {name}!")
/// }
///
/// Server::new("greeter", "1.0.0")
///     .tool(Tool::new("greet", "Greets somebody."), greet)
///     .tool(Tool::new("wave", "Waves."), async || "👋");
/// ```
///
/// A closure clones its captured values for each call, since calls run side by side: `move |args: Greet| { let state =
/// state.clone(); async move { … } }`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's handler",
    label = "not an async function of a tool",
    note = "a handler is an async function of nothing, its arguments, `Cx`, or its arguments and then `Cx`",
    note = "the arguments must derive `serde::Deserialize` and `schemars::JsonSchema`, or be an `Object`",
    note = "the result must implement `IntoToolResult`, and the future must be `Send`",
    note = "a closure that captures must clone what it captured: `move |args: Args| {{ let state = state.clone(); async move {{ .. }} }}`"
)]
pub trait ToolHandler<M>: Send + Sync + 'static {
    /// Returns the types that the handler takes and returns.
    #[doc(hidden)]
    fn types() -> HandlerTypes;

    /// Reads the arguments and makes the future of one call.
    #[doc(hidden)]
    fn start(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault>;
}

/// The future of one call of a tool.
pub(crate) type ToolFuture = Pin<Box<dyn Future<Output = Result<ToolResult, Error>> + Send>>;

/// The types that a handler takes and returns.
#[doc(hidden)]
#[derive(Debug)]
pub struct HandlerTypes {
    pub(crate) arguments: ArgumentMode,
    pub(crate) output: Option<Schema>,
}

/// The arguments that a handler takes.
#[derive(Debug)]
pub(crate) enum ArgumentMode {
    Nothing,
    Typed(Schema),
    Raw,
}

/// One call of a tool, for its handler to read.
#[doc(hidden)]
#[derive(Debug)]
pub struct CallInput {
    pub(crate) request: Request,
    pub(crate) extras: CallExtras,
}

impl CallInput {
    pub(crate) fn into_cx(self) -> Cx {
        Cx::new(self.request, self.extras)
    }
}

/// The forms of handlers, as types.
pub(crate) mod form {
    use std::marker::PhantomData;

    #[derive(Debug)]
    pub struct Bare;
    #[derive(Debug)]
    pub struct Context;
    #[derive(Debug)]
    pub struct Args<A>(PhantomData<A>);
    #[derive(Debug)]
    pub struct ArgsContext<A>(PhantomData<A>);
    #[derive(Debug)]
    pub struct Members;
    #[derive(Debug)]
    pub struct MembersContext;
    #[derive(Debug)]
    pub struct Raw;
    #[derive(Debug)]
    pub struct RawContext;
}

macro_rules! forms {
    ($($form:ty, [$($generic:ident)?] ($($argument:ty),*), $takes:expr, |$handler:ident, $input:ident| $call:expr;)+) => {
        $(impl<F, Fut, R $(, $generic)?> ToolHandler<$form> for F
        where
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: IntoToolResult + 'static,
            $($generic: DeserializeOwned + JsonSchema + 'static,)?
        {
            fn types() -> HandlerTypes {
                HandlerTypes { arguments: $takes, output: R::output_schema() }
            }

            fn start(&self, $input: CallInput) -> Result<ToolFuture, ArgumentFault> {
                let $handler = self;
                Ok($call)
            }
        })+
    };
}

forms! {
    form::Bare, [] (), ArgumentMode::Nothing, |handler, _input| plain(handler());
    form::Context, [] (Cx), ArgumentMode::Nothing, |handler, input| streaming((), input, |(), cx| handler(cx));
    form::Args<A>, [A] (A), ArgumentMode::Typed(schema::read_by::<A>()), |handler, input| {
        let arguments = arguments::read(&input.request.params)?;
        drop(input);
        plain(handler(arguments))
    };
    form::ArgsContext<A>, [A] (A, Cx), ArgumentMode::Typed(schema::read_by::<A>()), |handler, input| {
        streaming(arguments::read::<A>(&input.request.params)?, input, handler)
    };
    form::Members, [] (Object), ArgumentMode::Raw, |handler, input| plain(handler(arguments::members(&input.request.params)?));
    form::MembersContext, [] (Object, Cx), ArgumentMode::Raw, |handler, input| {
        streaming(arguments::members(&input.request.params)?, input, handler)
    };
    form::Raw, [] (RawJson), ArgumentMode::Raw, |handler, input| plain(handler(arguments::raw(&input.request.params)?));
    form::RawContext, [] (RawJson, Cx), ArgumentMode::Raw, |handler, input| {
        streaming(arguments::raw(&input.request.params)?, input, handler)
    };
}

/// Runs a handler that cannot stream.
fn plain<R: IntoToolResult>(future: impl Future<Output = R> + Send + 'static) -> ToolFuture {
    Box::pin(async { future.await.into_tool_result() })
}

/// Runs a handler that may stream its result instead of returning it.
fn streaming<A, R: IntoToolResult, F: Future<Output = R> + Send + 'static>(
    arguments: A,
    input: CallInput,
    handler: impl FnOnce(A, Cx) -> F,
) -> ToolFuture {
    let cx = input.into_cx();
    let future = handler(arguments, cx.clone());
    Box::pin(async move {
        let result = future.await.into_tool_result()?.or_parts(|| cx.take_parts());
        #[cfg(feature = "ext")]
        let result = result.with_hints(&cx.result_hints());
        Ok(result)
    })
}

/// A handler with its type erased.
pub(crate) type ErasedTool = Arc<dyn Fn(CallInput) -> Result<ToolFuture, ArgumentFault> + Send + Sync>;
