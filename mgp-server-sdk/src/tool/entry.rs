//! The entries of tools in the catalog, and the forms of functions that a tool runs.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use mgp_types::mcp::{ForRevision, Meta, MirroredArgument, TaskSupport, ToolExecution};
use mgp_types::mgp::{EXTENSION_ID, ToolSecurity};
use mgp_types::{Error, Object, Params, RawJson, Request, mcp};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{self, ArgumentFault};
#[cfg(feature = "ext")]
use super::extended::EntryExtensions;
#[cfg(feature = "ext")]
use super::guard::with_tokens;
use super::{IntoToolResult, TaskMode, Tool, ToolResult};
use crate::cx::{CallExtras, Cx};
use crate::error::Fault;
use crate::list::{ListDialect, ListEntry};
use crate::schema::{self, Validator, to_raw};
#[cfg(feature = "ext")]
use crate::tokens::TokenTool;

/// A tool with its handler and its checks.
pub(crate) struct ToolEntry {
    pub(crate) name: Arc<str>,
    pub(super) wire: mcp::Tool,
    security: Option<RawJson>,
    pub(crate) handler: ErasedTool,
    pub(crate) inline: bool,
    pub(crate) mode: TaskMode,
    takes_none: bool,
    /// The validator for the demands that reading the arguments does not check.
    validator: Option<Validator>,
    #[cfg(feature = "http")]
    headers: Vec<MirroredArgument>,
    #[cfg(feature = "ext")]
    pub(super) extensions: EntryExtensions,
}

impl ToolEntry {
    pub(crate) fn new<H: ToolHandler<M>, M>(tool: Tool, handler: H) -> Result<Self, Fault> {
        let types = H::types();
        let output = types.output.map(|schema| to_raw(&schema.to_value()));
        Self::build(tool, Arc::new(move |input| handler.start(input)), types.arguments, output)
    }

    fn build(
        Tool {
            mut wire,
            security,
            has_schema,
            validated,
            inline,
            mode,
            #[cfg(feature = "ext")]
            extensions,
        }: Tool,
        handler: ErasedTool,
        takes: ArgumentMode,
        output: Option<RawJson>,
    ) -> Result<Self, Fault> {
        #[cfg(feature = "ext")]
        let handler = with_tokens(TokenTool::new(&wire.name, extensions.declared.as_deref()), handler);
        let fault = |reason: String| Fault::new(format!("tool `{}`", wire.name), reason);
        check_name(&wire.name).map_err(|reason| fault(reason.into()))?;
        let is_raw = matches!(takes, ArgumentMode::Raw);
        let takes_none = !has_schema && matches!(takes, ArgumentMode::Nothing);
        let schema: Value = if has_schema {
            wire.input_schema.to().map_err(|error| fault(error.to_string()))?
        } else {
            match takes {
                ArgumentMode::Nothing => schema::no_arguments(),
                ArgumentMode::Typed(schema) => schema::of_arguments(schema).map_err(fault)?,
                ArgumentMode::Raw => serde_json::json!({ "type": "object", "properties": {} }),
            }
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(fault("the schema of the arguments must have `\"type\": \"object\"`".into()));
        }
        let is_checked =
            !has_schema && (is_raw || schema::is_checked_by_parsing(&without_additional(&schema)));
        let input_schema = if has_schema { wire.input_schema.clone() } else { to_raw(&schema) };
        #[cfg_attr(not(feature = "http"), expect(unused_variables, reason = "only HTTP has headers"))]
        let headers = MirroredArgument::all_of(&input_schema).map_err(|reason| fault(reason.into()))?;
        #[cfg(feature = "ext")]
        let is_checked = is_checked || extensions.signature.is_some();
        let compiled = || schema::compile(&input_schema).map_err(fault);
        let validator = (validated && !is_checked).then(compiled).transpose()?;
        // What a handler returns by type fits the schema of the type.
        #[cfg(feature = "ext")]
        let extensions = EntryExtensions::new(
            extensions,
            &input_schema,
            wire.output_schema.as_ref(),
            has_schema || !is_raw,
        )
        .map_err(fault)?;
        wire.input_schema = input_schema;
        if wire.output_schema.is_none() {
            wire.output_schema = output;
        }
        wire.execution = support(mode);
        Ok(Self {
            name: wire.name.as_str().into(),
            wire,
            security,
            handler,
            inline,
            mode,
            takes_none,
            validator,
            #[cfg(feature = "http")]
            headers,
            #[cfg(feature = "ext")]
            extensions,
        })
    }

    /// Checks the demands of the schema that reading the arguments does not check.
    pub(crate) fn check(&self, params: &Params) -> Result<(), ArgumentFault> {
        if self.takes_none {
            return arguments::none(params);
        }
        let Some(validator) = &self.validator else { return Ok(()) };
        validator.check(arguments::bytes(params)).map_err(|fault| ArgumentFault(fault.to_string()))
    }

    /// Reads the arguments and makes the future of one call.
    #[cfg(not(feature = "ext"))]
    #[inline]
    pub(crate) fn start(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        self.check(&input.request.params)?;
        (self.handler)(input)
    }

    /// Checks that the head of an HTTP request agrees with the arguments.
    #[cfg(feature = "http")]
    pub(crate) fn check_headers(&self, request: &Request) -> Result<(), Error> {
        schema::check_headers(&self.headers, request)
    }
}

impl ListEntry for ToolEntry {
    const MEMBER: &'static str = "tools";
    type Wire = mcp::Tool;

    fn key(&self) -> &str {
        &self.name
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Tool {
        let mut wire = self.wire.clone().for_revision(dialect.revision);
        if let (true, Some(security)) = (dialect.tool_security, &self.security) {
            // Beside the name, and for stateless revisions among the metadata too, where MCP lets extensions write.
            wire.extra.insert(ToolSecurity::MEMBER, security.clone());
            if dialect.revision.is_stateless() {
                let mirror = Object::from([(ToolSecurity::MEMBER, security.clone())]);
                wire.meta.get_or_insert_with(Meta::new).insert(EXTENSION_ID, mirror.to_raw());
            }
        }
        wire
    }
}

/// Returns the schema without the demand that there are no arguments, which [`arguments::none`] checks.
fn without_additional(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut()
        && members.get("properties").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
    {
        members.remove("additionalProperties");
    }
    schema
}

fn support(mode: TaskMode) -> Option<ToolExecution> {
    let support = match mode {
        TaskMode::Never | TaskMode::Manual => return None,
        TaskMode::Optional => TaskSupport::Optional,
        TaskMode::Required => TaskSupport::Required,
    };
    Some(ToolExecution::new().with_task_support(support))
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let is_name = (1..=128).contains(&name.len()) && name.bytes().all(legal);
    is_name.then_some(()).ok_or("a name has 1 to 128 letters, digits, `_`, `.` or `-`")
}

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

/// A call of a tool, for its handler to read.
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

/// Returns the future of a call that was started; where its arguments were refused, that of the refusal.
pub(super) fn or_refused(started: Result<ToolFuture, ArgumentFault>) -> ToolFuture {
    started.unwrap_or_else(|fault| Box::pin(ready(Ok(ToolResult::refused(fault)))))
}

/// A handler with its type erased.
pub(crate) type ErasedTool = Arc<dyn Fn(CallInput) -> Result<ToolFuture, ArgumentFault> + Send + Sync>;
