//! The description of a prompt.

use mgp_types::RawJson;
use mgp_types::mcp::{self, Icon, Meta, PromptArgument};

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
