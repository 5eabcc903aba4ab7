//! The kinds of definitions, the names that identify a definition of a server, and its pinned form: its canonical form,
//! digest and name.

use std::fmt;

use mgp_types::canonical::{CanonicalError, CanonicalTree, Digest};
use mgp_types::{Method, Object, RawJson, Request, shell_word};
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

    /// Returns the name by which messages call the definition at this place of a list: its own, or the place.
    pub(super) fn name_at(self, place: usize, definition: &Object) -> String {
        let name = self.name_in(definition);
        if name.is_empty() { format!("[{place}]") } else { name }
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

/// A definition as it is pinned: everything that a model reads or that decides about calls, in canonical form.
///
/// The form contains all members, those that no specification defines yet included: a client may show a model the whole
/// object, and people recognise a tool or prompt by its icon. Only members that control nothing but caching, and stamps
/// of the list, are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    name: DefinitionName,
    digest: Digest,
    canonical: RawJson,
}

impl Definition {
    /// Reads the pinned form of `listed`, a definition of the kind `kind`.
    ///
    /// # Errors
    /// Fails if the definition has no name, or no canonical form.
    pub fn read(kind: DefinitionKind, listed: &Object) -> Result<Self, DefinitionError> {
        let CanonicalTree::Object(mut members) = CanonicalTree::read(&listed.to_raw())? else {
            return Err(DefinitionError::NoName);
        };
        // No model reads these, and they decide nothing.
        members.retain(|(member, _)| !matches!(member.as_str(), "ttlMs" | "cacheScope"));
        for (member, value) in &mut members {
            if member == "_meta"
                && let CanonicalTree::Object(entries) = value
            {
                entries.retain(|(key, _)| !is_stamp(key));
            }
        }
        // A server that adds an empty `_meta` or list of icons has changed nothing.
        members.retain(|(member, value)| member != "icons" || *value != CanonicalTree::Array(Vec::new()));
        members.retain(|(member, value)| member != "_meta" || *value != CanonicalTree::Object(Vec::new()));
        Self::from_members(kind, members)
    }

    /// Restores a definition that was pinned before, from the bytes that [`canonical`](Self::canonical) returned.
    ///
    /// # Errors
    /// Fails if the bytes are not those of a definition in canonical form.
    pub fn restore(kind: DefinitionKind, canonical: &RawJson) -> Result<Self, DefinitionError> {
        match CanonicalTree::read(canonical)? {
            CanonicalTree::Object(members) => Self::from_members(kind, members),
            _ => Err(DefinitionError::NoName),
        }
    }

    /// Returns the kind and name of the definition.
    pub const fn name(&self) -> &DefinitionName {
        &self.name
    }

    /// Returns the digest of the canonical form.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> &RawJson {
        &self.canonical
    }

    fn from_members(
        kind: DefinitionKind,
        members: Vec<(String, CanonicalTree)>,
    ) -> Result<Self, DefinitionError> {
        let name = members.iter().find_map(|(member, value)| match value {
            CanonicalTree::Text(name) if member == kind.name_member() => {
                Some(DefinitionName::new(kind, name.as_str()))
            }
            _ => None,
        });
        let bytes = CanonicalTree::Object(members).to_bytes();
        let name = name.ok_or(DefinitionError::NoName)?;
        Ok(Self { name, digest: Digest::of_canonical(&bytes), canonical: RawJson::from_written(bytes) })
    }
}

/// The reason why an object is not a definition that can be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The member that names the definition (`name`, `uriTemplate`, `uri`) is missing, or not a text.
    #[error("the definition has no name")]
    NoName,
    /// The definition has no canonical form.
    #[error("the definition cannot be hashed")]
    Canonical(#[from] CanonicalError),
}

/// Returns whether a key of `_meta` says when or on whose behalf the list was made, rather than something about the
/// tool.
fn is_stamp(key: &str) -> bool {
    let last = key.rsplit(['/', '.']).next().unwrap_or(key);
    let word: String =
        last.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    STAMPS.contains(&word.as_str())
}

const STAMPS: &[&str] = &[
    "baggage", "cachedat", "cachescope", "etag", "fetchedat", "generatedat", "lastmodified", "progresstoken",
    "requestid", "timestamp", "traceparent", "tracestate", "ttl", "ttlms", "updatedat",
];

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"name":"read","title":"Read","description":"Reads.","inputSchema":{"type":"object"},
        "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},
        "security":{"risk_level":"safe"},"_meta":{"_mgp":{"admin_only":true},"example.com/etag":"1"},"icons":[]}"#;

    fn changed(member: &'static str, value: &str) -> Digest {
        let mut tool = Object::parse(TOOL).unwrap();
        tool.set(member, RawJson::parse(value.to_owned()).unwrap());
        Definition::read(DefinitionKind::Tool, &tool).unwrap().digest()
    }

    fn unchanged() -> Digest {
        Definition::read(DefinitionKind::Tool, &Object::parse(TOOL).unwrap()).unwrap().digest()
    }

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

    #[test]
    fn every_member_that_is_read_or_decides_counts() {
        for (member, value) in [
            ("name", r#""read2""#),
            ("title", r#""Reed""#),
            ("description", r#""Reads.\u200b""#),
            ("inputSchema", r#"{"type":"object","properties":{"x":{}}}"#),
            ("outputSchema", r#"{"type":"object","title":"x"}"#),
            ("annotations", r#"{"readOnlyHint":true,"destructiveHint":true}"#),
            ("execution", r#"{"taskSupport":"required"}"#),
            ("security", r#"{"risk_level":"moderate"}"#),
            ("_meta", r#"{"_mgp":{"admin_only":false}}"#),
            ("not_known_yet", "1"),
            ("icons", r#"[{"src":"https://example.com/a.png"}]"#),
        ] {
            assert_ne!(changed(member, value), unchanged(), "{member}");
        }
    }

    #[test]
    fn stamps_and_spelling_do_not_count() {
        for (member, value) in [
            ("icons", "[]"),
            ("ttlMs", "5"),
            (
                "_meta",
                r#"{"example.com/etag":"2","cached_at":5,"traceparent":"00-1-2-03","_mgp":{"admin_only":true}}"#,
            ),
            ("security", r#"{ "risk_level" : "s\u0061fe" }"#),
        ] {
            assert_eq!(changed(member, value), unchanged(), "{member}");
        }
    }

    #[test]
    fn a_definition_is_restored_from_its_canonical_form() {
        let template = r#"{"uriTemplate":"file:///{path}","name":"files"}"#;
        for (kind, json) in [(DefinitionKind::Tool, TOOL), (DefinitionKind::Template, template)] {
            let definition = Definition::read(kind, &Object::parse(json).unwrap()).unwrap();
            assert_eq!(Definition::restore(kind, definition.canonical()).unwrap(), definition);
        }
    }

    #[test]
    fn a_definition_without_a_name_is_none() {
        for json in ["{}", r#"{"name":1}"#, r#"{"title":"name"}"#] {
            let read = Definition::read(DefinitionKind::Tool, &Object::parse(json).unwrap());
            assert_eq!(read, Err(DefinitionError::NoName));
        }
    }
}
