//! Definitions of tools as they are listed, in full or shortened to a number of tokens.

use mgp_types::{Object, RawJson};

use super::{Form, Forms, TokenCounter, longest};
use crate::Tool;

/// A tool as it is listed, as JSON: the full definition of the server, or, where there is no room for that, the name,
/// the description and the schema of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDefinition {
    json: RawJson,
    tokens: u32,
    shortened: bool,
}

impl ListedDefinition {
    /// Returns the definition of a tool under the name that it is shown by.
    pub fn of(tool: &Tool, shown_name: &str, tokens: &dyn TokenCounter) -> Self {
        let mut members = tool.members();
        members.set("name", RawJson::from_text(shown_name));
        members.set("inputSchema", schema_of(tool));
        Self::counted(members.to_raw(), false, tokens)
    }

    /// Returns the longest definition of no more than `most` tokens; `None` if even the shortest takes more.
    pub fn within(tool: &Tool, shown_name: &str, most: u32, tokens: &dyn TokenCounter) -> Option<Self> {
        Self::near(tool, shown_name, most, most, tokens)
    }

    /// Returns the longest definition of no more than `liked` tokens, or, if there is none, of no more than `most`;
    /// `None` if even the shortest takes more.
    pub(crate) fn near(
        tool: &Tool,
        shown_name: &str,
        liked: u32,
        most: u32,
        tokens: &dyn TokenCounter,
    ) -> Option<Self> {
        let (description, schema) = (tool.description(), schema_of(tool));
        let forms = Forms::of(&description, &schema).filter(|form| form.may_fit(most));
        let whole = std::iter::once_with(|| Self::of(tool, shown_name, tokens));
        let all = whole.chain(forms.map(|form| Self::written(shown_name, &form, tokens)));
        longest(all, Self::tokens, liked, most)
    }

    /// Creates the definition of a tool that is in no index, like one of the kernel's own.
    pub fn new(name: &str, description: &str, schema: &RawJson, tokens: &dyn TokenCounter) -> Self {
        Self::written(name, &Form::whole(description, schema), tokens)
    }

    /// Returns the definition as JSON.
    pub const fn json(&self) -> &RawJson {
        &self.json
    }

    /// Returns the tokens of the whole definition.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Returns whether the definition is shorter than the tool's own.
    pub const fn is_shortened(&self) -> bool {
        self.shortened
    }

    fn written(name: &str, form: &Form<'_>, tokens: &dyn TokenCounter) -> Self {
        let mut members = Object::from([("name", RawJson::from_text(name))]);
        if !form.description.is_empty() {
            members.set("description", RawJson::from_text(&form.description));
        }
        members.set("inputSchema", form.schema.clone());
        Self::counted(members.to_raw(), form.shortened, tokens)
    }

    fn counted(json: RawJson, shortened: bool, tokens: &dyn TokenCounter) -> Self {
        let tokens = tokens.count(&String::from_utf8_lossy(json.as_bytes()));
        Self { json, tokens, shortened }
    }
}

/// Returns the schema of a tool's arguments; a missing or invalid schema becomes one that allows all.
fn schema_of(tool: &Tool) -> RawJson {
    let declared = tool.members().get("inputSchema").filter(RawJson::is_object);
    declared.unwrap_or_else(|| RawJson::from_written(br#"{"type":"object"}"#.to_vec()))
}
