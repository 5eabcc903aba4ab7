//! Tools, as the index keeps them.

use std::borrow::Cow;
use std::sync::LazyLock;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{Permission, RiskLevel, ServerId, ToolName};
use mgp_types::{Object, RawJson};

use crate::category::CategoryPath;
use crate::text::{WordSketch, lower_words};

/// A tool in the index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The server of the tool.
    pub server: ServerId,
    /// The name of the tool at its server.
    pub name: ToolName,
    /// The whole definition, as the server gave it.
    pub definition: RawJson,
    /// The categories of the tool: those that its server declares, else those that its words suggest, and always its
    /// server.
    pub categories: Box<[CategoryPath]>,
    /// The risk of a call.
    pub risk: RiskLevel,
    /// The permissions that a call needs.
    pub permissions: Box<[Permission]>,
    /// Set if models always call the tool by its server and name.
    pub(crate) is_qualified: bool,
    /// The deprecation and the kind of action of the tool.
    pub(crate) standing: ProposalRank,
    /// The words of the tool, to be compared with those of others.
    pub(crate) gist: WordSketch,
}

impl Tool {
    /// Returns whether both are the same tool of the same server, maybe with other definitions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.server == other.server && self.name == other.name
    }

    /// Returns the unique name of the tool: server and name (§16.4).
    pub fn id(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// Returns the members of the definition.
    pub fn members(&self) -> Object {
        Object::from_raw(&self.definition).unwrap_or_default()
    }

    /// Returns the description, in the words of the server.
    pub fn description(&self) -> String {
        self.members().text("description").map(Into::into).unwrap_or_default()
    }
}

/// The facts that make one of two fitting tools the better proposal: its deprecation, and its kind of action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProposalRank {
    /// Set if its server declares the tool deprecated.
    pub(crate) is_deprecated: bool,
    /// The kind of action, if it is known.
    pub(crate) manner: Option<ToolEffect>,
}

/// The kind of action of a tool, the least powerful first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolEffect {
    Reads,
    Writes,
    Destroys,
}

impl ProposalRank {
    /// Reads the standing from a definition: from members for programs, else from its words.
    pub(crate) fn of(definition: &Object) -> Self {
        let text = |member: &str| definition.text(member).unwrap_or_default().into_owned();
        let title = definition.object("annotations");
        let title =
            title.and_then(|annotations| annotations.text("title").map(Cow::into_owned)).unwrap_or_default();
        let (name, description) = (text("name"), text("description"));
        let is_deprecated = is_marked(definition)
            || lower_words(&name).any(|word| word == "deprecated")
            || [&description, &text("title"), &title].into_iter().any(|text| says_deprecated(text));
        let annotations = definition.get("annotations");
        let annotations = annotations.and_then(|raw| raw.to::<ToolAnnotations>().ok()).unwrap_or_default();
        Self { is_deprecated, manner: manner(&annotations, &name, &description) }
    }
}

impl ToolEffect {
    /// Returns the action that a request asks for in its own words: that of the strongest verb in it.
    pub(crate) fn asked(text: &str) -> Self {
        lower_words(text).filter_map(|word| verb(&word)).max().unwrap_or(Self::Reads)
    }
}

/// Returns whether a member for programs marks the tool as deprecated.
fn is_marked(definition: &Object) -> bool {
    let is_true = |object: &Object| {
        let mut members = object.iter();
        members.any(|(name, value)| name.rsplit('/').next() == Some("deprecated") && is_yes(&value))
    };
    let mut parts = ["annotations", "_meta", "security"].iter().filter_map(|it| definition.object(it));
    is_true(definition) || parts.any(|it| is_true(&it))
}

/// Returns whether a mark is set: `true`, or a text with the reason.
fn is_yes(value: &RawJson) -> bool {
    value.as_bytes() == b"true" || value.to_text().is_some_and(|text| !text.is_empty())
}

/// The characters of a text that are read.
const MAX_READ: usize = 1_000;

/// The words of `standing.txt`. They change the order of what is found, never what is found.
static TABLE: LazyLock<EffectTable> = LazyLock::new(|| {
    let mut table = EffectTable { verbs: Vec::new(), openings: Vec::new(), phrases: Vec::new() };
    for line in include_str!("standing.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((kind, text)) = line.split_once(' ') else { continue };
        let text = text.trim();
        let mut verbs = |manner| table.verbs.extend(text.split(' ').map(|verb| (verb, manner)));
        match kind {
            "reads" => verbs(ToolEffect::Reads),
            "writes" => verbs(ToolEffect::Writes),
            "destroys" => verbs(ToolEffect::Destroys),
            "opening" => table.openings.push(text),
            "phrase" => table.phrases.push(text),
            _ => {}
        }
    }
    table
});

fn says_deprecated(text: &str) -> bool {
    let text: String = text.chars().take(MAX_READ).collect::<String>().to_lowercase();
    let begins = lower_words(&text).next();
    TABLE.openings.iter().any(|opening| begins.as_deref() == Some(*opening))
        || TABLE.phrases.iter().any(|phrase| text.contains(phrase))
}

fn manner(annotations: &ToolAnnotations, name: &str, description: &str) -> Option<ToolEffect> {
    let from_name = lower_words(name).find_map(|word| verb(&word));
    // A tool named `delete` does not only read, no matter what its server declares.
    match (annotations.read_only_hint, annotations.destructive_hint, from_name) {
        (_, _, Some(ToolEffect::Destroys)) => Some(ToolEffect::Destroys),
        (Some(true), ..) => Some(ToolEffect::Reads),
        (_, Some(true), _) => Some(ToolEffect::Destroys),
        (_, _, Some(effect)) => Some(effect),
        _ => lower_words(description).next().and_then(|word| verb(&word)),
    }
}

/// Returns the action of a verb, also in the third person.
fn verb(word: &str) -> Option<ToolEffect> {
    let known = |word: &str| TABLE.verbs.iter().find(|(verb, _)| *verb == word).map(|(_, manner)| *manner);
    known(word)
        .or_else(|| known(word.strip_suffix('s')?))
        .or_else(|| known(word.strip_suffix("es")?))
        .or_else(|| known(&format!("{}y", word.strip_suffix("ies")?)))
}

struct EffectTable {
    verbs: Vec<(&'static str, ToolEffect)>,
    openings: Vec<&'static str>,
    phrases: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn standing(definition: &Value) -> ProposalRank {
        ProposalRank::of(&Object::from_value(definition).unwrap())
    }

    #[test]
    fn a_tool_is_deprecated_if_a_member_or_its_words_say_so_of_the_tool() {
        for definition in [
            json!({"name": "a", "deprecated": true}),
            json!({"name": "a", "annotations": {"deprecated": true}}),
            json!({"name": "a", "_meta": {"com.example/deprecated": "use b"}}),
            json!({"name": "a", "annotations": {"title": "Send (deprecated)"}}),
            json!({"name": "a", "title": "Deprecated: send"}),
            json!({"name": "a", "description": "[DEPRECATED] Sends a message."}),
            json!({"name": "a", "description": "Sends a message. This tool is deprecated, use b."}),
            json!({"name": "send_deprecated"}),
        ] {
            assert!(standing(&definition).is_deprecated, "{definition}");
        }
        for definition in [
            json!({"name": "a", "deprecated": false}),
            json!({"name": "a", "description": "Lists APIs that are deprecated."}),
            json!({"name": "a", "description": "Finds deprecated packages."}),
            json!({"name": "a", "_meta": {"deprecated": ""}}),
        ] {
            assert!(!standing(&definition).is_deprecated, "{definition}");
        }
    }

    #[test]
    fn what_a_tool_does_follows_from_its_hints_and_its_verbs() {
        for (definition, manner) in [
            (json!({"name": "get_file"}), Some(ToolEffect::Reads)),
            (json!({"name": "listFiles"}), Some(ToolEffect::Reads)),
            (json!({"name": "x", "description": "Deletes everything."}), Some(ToolEffect::Destroys)),
            (json!({"name": "files_remove"}), Some(ToolEffect::Destroys)),
            (json!({"name": "x"}), None),
            (json!({"name": "x", "annotations": {"readOnlyHint": true}}), Some(ToolEffect::Reads)),
            (json!({"name": "x", "annotations": {"destructiveHint": true}}), Some(ToolEffect::Destroys)),
            (
                json!({"name": "delete_all", "annotations": {"readOnlyHint": true}}),
                Some(ToolEffect::Destroys),
            ),
        ] {
            assert_eq!(standing(&definition).manner, manner, "{definition}");
        }
    }

    #[test]
    fn a_request_asks_for_the_strongest_of_its_verbs() {
        assert_eq!(ToolEffect::asked("which invoices are open?"), ToolEffect::Writes);
        assert_eq!(ToolEffect::asked("find old notes and delete them"), ToolEffect::Destroys);
        assert_eq!(ToolEffect::asked("weather in Oslo"), ToolEffect::Reads);
    }
}
