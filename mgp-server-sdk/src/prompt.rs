//! Prompts: messages that a server prepares for its users.

use std::sync::Arc;

use mgp_types::mcp::{
    self, ContentBlock, ForRevision, GetPromptResult, Icon, Map, Meta, PromptArgument, PromptMessage, Role,
};
use mgp_types::mgp::written;
use mgp_types::{BoxFuture, Error, RawJson, Response, Revision};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cx::Cx;
use crate::error::Fault;
use crate::list::listed_as_is;
use crate::method::MethodFuture;
use crate::tool::{CallInput, ToolError, form, turn_into};
use crate::{schema, strings};

/// A prompt with its handler.
pub(crate) struct PromptEntry {
    wire: mcp::Prompt,
    handler: ErasedPrompt,
}

impl PromptEntry {
    pub(crate) fn new<H: PromptHandler<M>, M>(prompt: Prompt, handler: H) -> Result<Self, Fault> {
        let Prompt { mut wire } = prompt;
        if wire.name.is_empty() {
            return Err(Fault::new("prompt", "the name is empty"));
        }
        let given = wire.arguments.take().unwrap_or_default();
        let mut arguments = H::arguments().map(described).unwrap_or_default();
        for argument in given {
            match arguments.iter_mut().find(|known| known.name == argument.name) {
                Some(known) => *known = argument,
                None => arguments.push(argument),
            }
        }
        wire.arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
        Ok(Self { wire, handler: Arc::new(move |wanted| handler.get(wanted)) })
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.wire.arguments.iter().flatten().any(|argument| argument.name == name)
    }

    /// Runs the handler, which makes the messages.
    pub(crate) fn get(&self, input: CallInput, revision: Revision) -> Result<MethodFuture, Error> {
        let given = input.request.params.get("arguments").filter(|given| !given.is_null());
        let arguments: Map<String> = given
            .map_or_else(|| Ok(Map::new()), |given| given.to())
            .map_err(|_| Error::invalid_params("the arguments of a prompt must be strings"))?;
        for argument in self.wire.arguments.iter().flatten() {
            if argument.required == Some(true) && arguments.get(&argument.name).is_none() {
                return Err(Error::invalid_params(format!("the argument `{}` is missing", argument.name)));
            }
        }
        Ok(Box::pin(answer((self.handler)(PromptRequest { input, arguments })?, revision)))
    }
}

listed_as_is!(PromptEntry, "prompts", mcp::Prompt, name);

async fn answer(messages: PromptFuture, revision: Revision) -> Result<Response, Error> {
    let mut result = messages.await?.for_revision(revision);
    result.result_type = None;
    let plain = result.meta.is_none() && result.extra.is_empty();
    let result = written(&result)?;
    Ok(if plain { Response::plain(result) } else { Response::new(result) })
}

/// Returns the arguments that a schema describes.
fn described(schema: Schema) -> Vec<PromptArgument> {
    let schema = schema.to_value();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| {
            let text = |member: &str| property.get(member).and_then(Value::as_str).map(String::from);
            let mut argument = PromptArgument::new(name.as_str()).with_required(required.contains(&&**name));
            argument.title = text("title");
            argument.description = text("description");
            argument
        })
        .collect()
}

/// The description of a prompt.
#[derive(Debug, Clone)]
#[must_use = "a prompt does nothing until it is registered"]
pub struct Prompt {
    wire: mcp::Prompt,
}

impl Prompt {
    /// Creates a prompt whose arguments are described by the type that its handler takes.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { wire: mcp::Prompt::new(name).with_description(description) }
    }

    mgp_types::setters! { self =>
        /// Sets the name for people.
        pub fn title(title: impl Into<String>) => self.wire.title = Some(title.into());

        /// Adds an argument, in place of one that the handler's type describes under this name.
        pub fn argument(argument: PromptArgument) =>
            self.wire.arguments.get_or_insert_default().push(argument);

        /// Adds an image for a user interface.
        pub fn icon(icon: Icon) => self.wire.icons.get_or_insert_default().push(icon);

        /// Adds metadata that clients get with the prompt.
        pub fn meta(key: impl Into<Box<str>>, value: RawJson) =>
            self.wire.meta.get_or_insert_with(Meta::new).insert(key, value);
    }

    /// Adds an argument that must be given.
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument::new(name).with_description(description).with_required(true))
    }

    /// Adds an argument that may be left out.
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument::new(name).with_description(description).with_required(false))
    }
}

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

type PromptFuture = BoxFuture<'static, Result<GetPromptResult, Error>>;

/// The request for a prompt, as a handler gets it.
#[doc(hidden)]
#[derive(Debug)]
pub struct PromptRequest {
    input: CallInput,
    arguments: Map<String>,
}

impl PromptRequest {
    fn arguments<A: DeserializeOwned>(&self) -> Result<A, Error> {
        strings::read("prompt arguments", self.arguments.iter().map(|(name, value)| (name, &**value)))
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
type ErasedPrompt = Arc<dyn Fn(PromptRequest) -> Result<PromptFuture, Error> + Send + Sync>;

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

turn_into! { IntoPrompt::into_prompt -> GetPromptResult {
    [] GetPromptResult: |result| result;
    [] Vec<PromptMessage>: |messages| GetPromptResult::new(messages);
    [const N: usize] [PromptMessage; N]: |messages| GetPromptResult::new(messages);
    [] PromptMessage: |message| GetPromptResult::new([message]);
    [] ContentBlock: |block| of_the_user(block);
    [] String: |text| of_the_user(ContentBlock::text(text));
    [] &str: |text| of_the_user(ContentBlock::text(text));
} }

fn of_the_user(block: ContentBlock) -> GetPromptResult {
    GetPromptResult::new([PromptMessage::new(Role::User, block)])
}

impl<T: IntoPrompt, E: Into<ToolError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        self.map_err(|error| error.into().into_error())?.into_prompt()
    }
}
