//! The description of a prompt, and its entry in the catalog.

use std::sync::Arc;

use mgp_types::mcp::{ForRevision, Icon, Map, Meta, PromptArgument};
use mgp_types::{BoxFuture, Error, RawJson, Response, Revision, mcp};
use schemars::Schema;
use serde_json::Value;

use super::handler::{ErasedPrompt, PromptFuture, PromptHandler, PromptRequest};
use crate::catalog::{ListDialect, ListEntry};
use crate::error::Fault;
use crate::tool::CallInput;

/// A prompt with its handler.
#[derive(Debug)]
pub(crate) struct PromptEntry {
    name: Arc<str>,
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
        Ok(Self {
            name: wire.name.as_str().into(),
            wire,
            handler: ErasedPrompt::new(move |wanted| handler.get(wanted)),
        })
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.wire.arguments.iter().flatten().any(|argument| argument.name == name)
    }

    /// Runs the handler, which makes the messages.
    pub(crate) fn get(
        &self,
        input: CallInput,
        revision: Revision,
    ) -> Result<BoxFuture<'static, Result<Response, Error>>, Error> {
        let arguments: Map<String> =
            match input.request.params.get("arguments").filter(|given| !given.is_null()) {
                None => Map::new(),
                Some(given) => given
                    .to()
                    .map_err(|_| Error::invalid_params("the arguments of a prompt must be strings"))?,
            };
        for argument in self.wire.arguments.iter().flatten() {
            if argument.required == Some(true) && arguments.get(&argument.name).is_none() {
                return Err(Error::invalid_params(format!("the argument `{}` is missing", argument.name)));
            }
        }
        Ok(Box::pin(answer(self.handler.call(PromptRequest { input, arguments })?, revision)))
    }
}

impl ListEntry for PromptEntry {
    const MEMBER: &'static str = "prompts";
    type Wire = mcp::Prompt;

    fn key(&self) -> &Arc<str> {
        &self.name
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Prompt {
        self.wire.clone().for_revision(dialect.revision)
    }
}

async fn answer(messages: PromptFuture, revision: Revision) -> Result<Response, Error> {
    let mut result = messages.await?.for_revision(revision);
    result.result_type = None;
    let plain = result.meta.is_none() && result.extra.is_empty();
    let result = RawJson::from_value(&result)
        .map_err(|error| Error::internal("the messages are not JSON").with_source(error))?;
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
    pub(super) wire: mcp::Prompt,
}

impl Prompt {
    /// Creates a prompt whose arguments are described by the type that its handler takes.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { wire: mcp::Prompt::new(name).with_description(description) }
    }

    /// Sets the name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.wire.title = Some(title.into());
        self
    }

    /// Adds an argument, in place of one that the handler's type describes under this name.
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.wire.arguments.get_or_insert_default().push(argument);
        self
    }

    /// Adds an argument that must be given.
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument::new(name).with_description(description).with_required(true))
    }

    /// Adds an argument that may be left out.
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument::new(name).with_description(description).with_required(false))
    }

    /// Adds an image for a user interface.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.wire.icons.get_or_insert_default().push(icon);
        self
    }

    /// Adds metadata that clients get with the prompt.
    pub fn meta(mut self, key: impl Into<Box<str>>, value: RawJson) -> Self {
        self.wire.meta.get_or_insert_with(Meta::new).insert(key, value);
        self
    }
}
