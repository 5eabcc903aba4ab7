//! The kinds of definitions, and the names that identify a definition of a server.

use std::fmt;

use mgp_types::{Method, Object, Request, shell_word};
use serde::{Deserialize, Serialize};

/// The kind of a definition, which is the kind of thing that it defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "closed by what MCP lists")]
pub enum DefinitionKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A template for the URIs of resources.
    Template,
    /// A resource. Resources come and go with the files or rows behind them, so their definitions are searched and
    /// never pinned.
    Resource,
    /// A text in which the server describes itself: its instructions, or its description. No list has it, and it is
    /// searched and never pinned.
    Text,
}

impl DefinitionKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Tool, Self::Prompt, Self::Template, Self::Resource, Self::Text];

    /// Returns the kind as a word, the member of a list's result that holds its definitions, and the member that names one.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Tool => ["tool", "tools", "name"],
            Self::Prompt => ["prompt", "prompts", "name"],
            Self::Template => ["template", "resourceTemplates", "uriTemplate"],
            Self::Resource => ["resource", "resources", "uri"],
            Self::Text => ["text", "texts", "name"],
        }
    }

    /// Returns the kind as a word.
    pub const fn as_str(self) -> &'static str {
        self.words()[0]
    }

    /// Returns whether definitions of the kind are pinned, so that a change is held back.
    pub(crate) const fn is_pinned(self) -> bool {
        !matches!(self, Self::Resource | Self::Text)
    }

    /// Returns the method that lists definitions of the kind, if there is one.
    pub const fn list_method(self) -> Option<Method> {
        Some(match self {
            Self::Tool => Method::TOOLS_LIST,
            Self::Prompt => Method::PROMPTS_LIST,
            Self::Template => Method::RESOURCES_TEMPLATES_LIST,
            Self::Resource => Method::RESOURCES_LIST,
            Self::Text => return None,
        })
    }

    /// Returns the member of a list's result that holds the definitions.
    pub const fn list_member(self) -> &'static str {
        self.words()[1]
    }

    /// Returns the member by which a definition of the kind is named.
    pub(crate) const fn name_member(self) -> &'static str {
        self.words()[2]
    }

    /// Returns the kind that is called so.
    pub(super) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the kind whose list `request` asks for.
    pub(super) fn listed_by(request: &Request) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.list_method().as_ref() == Some(&request.method))
    }

    /// Returns the name that `definition` gives itself; an empty text if it has none.
    pub(super) fn name_in(self, definition: &Object) -> String {
        definition.text(self.name_member()).map(String::from).unwrap_or_default()
    }
}

mgp_types::write_as!(Display of DefinitionKind, self => "{}", self.as_str());

/// The identity of one of a server's definitions: its kind, and its name as the server writes it.
///
/// The text form is `NAME` for a tool, `prompt:NAME`, `template:URI_TEMPLATE`, `resource:URI`, `text:instructions` and
/// `text:description`. No tool has a `:` in its name.
///
/// ```
/// use mgp_security::definition::{DefinitionKind, DefinitionName};
///
/// let name = DefinitionName::from("prompt:greet");
/// assert_eq!((name.kind(), name.as_str()), (DefinitionKind::Prompt, "greet"));
/// assert_eq!(DefinitionName::from("read").kind(), DefinitionKind::Tool);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct DefinitionName {
    kind: DefinitionKind,
    name: Box<str>,
}

impl DefinitionName {
    /// Returns the identity of the definition of `kind` that its server calls `name`.
    pub fn new(kind: DefinitionKind, name: impl Into<Box<str>>) -> Self {
        Self { kind, name: name.into() }
    }

    /// Returns the kind of the definition.
    pub const fn kind(&self) -> DefinitionKind {
        self.kind
    }

    /// Returns the name without the kind.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name as a word of a command, in quotes if a shell would read it as something else, with invisible
    /// characters written as escapes.
    pub(crate) fn as_argument(&self) -> String {
        shell_word(&self.to_string())
    }
}

impl fmt::Display for DefinitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DefinitionKind::Tool => f.write_str(&self.name),
            kind => write!(f, "{kind}:{}", self.name),
        }
    }
}

impl From<&str> for DefinitionName {
    fn from(text: &str) -> Self {
        let kind = text.split_once(':').and_then(|(word, name)| Some((DefinitionKind::read(word)?, name)));
        let (kind, name) = kind.unwrap_or((DefinitionKind::Tool, text));
        Self::new(kind, name)
    }
}

mgp_types::convert!(String => DefinitionName, text => Self::from(text.as_str()));

mgp_types::convert!(DefinitionName => String, name => name.to_string());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_as_it_is_written() {
        for (kind, name) in [
            (DefinitionKind::Tool, "read"),
            (DefinitionKind::Prompt, "greet"),
            (DefinitionKind::Prompt, "template:x"),
            (DefinitionKind::Template, "file:///{+path}"),
            (DefinitionKind::Resource, "prompt:x"),
        ] {
            let named = DefinitionName::new(kind, name);
            assert_eq!(DefinitionName::from(named.to_string()), named);
        }
        assert_eq!(DefinitionName::from("tool:read").to_string(), "read");
    }

    #[test]
    fn an_argument_is_one_word_of_a_shell() {
        for (name, expected) in [
            ("prompt:greet", "prompt:greet"),
            ("template:a://{x,y}", "'template:a://{x,y}'"),
            ("prompt:it's", r"'prompt:it'\''s'"),
            ("prompt:a\u{1b}b", r"'prompt:a\u{1b}b'"),
        ] {
            assert_eq!(DefinitionName::from(name).as_argument(), expected);
        }
    }
}
