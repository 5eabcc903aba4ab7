//! Inputs and outputs of tools, as far as their definitions tell them. The words for kinds of data are data, `kinds.txt`.

use std::borrow::Cow;
use std::sync::LazyLock;

use mgp_types::{Object, RawJson};

use crate::Tool;
use crate::text::lower_words;

/// The fit of a tool's input or output to the wanted types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeFit {
    /// The definition names a wanted type.
    Stated,
    /// The definition names no type, or the wanted type is unknown here.
    Open,
    /// The definition contradicts: it names these kinds only.
    Contradicted(Vec<DataKind>),
}

/// Returns whether a tool takes one of the wanted types.
pub(super) fn takes(tool: &Tool, wanted: &[String]) -> TypeFit {
    let Some(wanted) = known(wanted) else { return TypeFit::Open };
    let numbers = wanted.contains(&DataKind::NUMBER);
    let schema = tool.members().get("inputSchema");
    let accepted = schema.map(|schema| accepted(&schema, numbers)).unwrap_or_default();
    let is_open = accepted.is_empty() || accepted.contains(&None);
    let named = accepted.into_iter().flatten().flatten().collect();
    let fit = judge(named, &wanted, is_open);
    // The description speaks of outputs as well, so that it only decides if the arguments are open.
    let described = || DataKind::all_in(&tool.description()).iter().any(|kind| wanted.contains(kind));
    if fit == TypeFit::Open && described() { TypeFit::Stated } else { fit }
}

/// Returns whether a tool returns one of the wanted types.
pub(super) fn gives(tool: &Tool, wanted: &[String]) -> TypeFit {
    let Some(wanted) = known(wanted) else { return TypeFit::Open };
    let mut named = announced(&tool.description());
    named.extend(announced(&tool.name.as_str().replace(['_', '-', '.'], " ")));
    if let Some(schema) = tool.members().get("outputSchema") {
        named.extend(accepted(&schema, true).into_iter().flatten().flatten());
    }
    judge(named, &wanted, false)
}

fn known(wanted: &[String]) -> Option<Vec<DataKind>> {
    let kinds: Vec<_> = wanted.iter().map(|wanted| DataKind::all_in(wanted)).collect();
    // An unknown type could be any, so that it contradicts nothing.
    (!kinds.is_empty() && kinds.iter().all(|kinds| !kinds.is_empty())).then(|| kinds.concat())
}

fn judge(mut named: Vec<DataKind>, wanted: &[DataKind], is_open: bool) -> TypeFit {
    if named.iter().any(|named| wanted.contains(named)) {
        return TypeFit::Stated;
    }
    let fits = |named: &DataKind| wanted.iter().any(|wanted| named.may_stand_for(*wanted));
    if is_open || named.is_empty() || named.iter().any(fits) {
        return TypeFit::Open;
    }
    named.sort_unstable();
    named.dedup();
    TypeFit::Contradicted(named)
}

const MAKES: &[&str] = &[
    "return", "returning", "output", "produce", "producing", "generate", "generating", "render", "rendering",
    "draw", "yield", "export",
];

/// Returns the kinds that a description says a tool makes: those soon after "returns", "generates" and similar words,
/// and that right after "to" or "into".
fn announced(description: &str) -> Vec<DataKind> {
    let mut kinds = Vec::new();
    for sentence in description.split(['.', ';', '\n']) {
        let words: Vec<String> = lower_words(sentence).collect();
        for (at, word) in words.iter().enumerate() {
            let reach = match word.as_str() {
                "to" | "into" | "as" => 2,
                verb if MAKES.contains(&verb.strip_suffix('s').unwrap_or(verb)) => 6,
                _ => continue,
            };
            kinds.extend(words.iter().skip(at + 1).take(reach).filter_map(|word| DataKind::named(word)));
        }
    }
    kinds
}

/// The names of arguments that may be of any kind.
const CARRIES: &[&str] = &[
    "data", "dataset", "input", "content", "file", "path", "url", "uri", "source", "src", "body", "payload",
    "attachment", "resource", "object", "value", "item", "record", "document",
];

const MAX_PARAMETERS: usize = 64;

/// Returns the kinds of data that each argument takes, none of a setting; `None` of an argument that takes any. Numbers
/// are data if `numbers` says so.
fn accepted(schema: &RawJson, numbers: bool) -> Vec<Option<Vec<DataKind>>> {
    let Ok(schema) = Object::from_raw(schema) else { return Vec::new() };
    let required: Vec<String> = schema.get("required").and_then(|raw| raw.to().ok()).unwrap_or_default();
    let Some(properties) = schema.object("properties") else { return Vec::new() };
    let accepted = |(name, raw): (Cow<'_, str>, RawJson)| {
        let members = Object::from_raw(&raw).unwrap_or_default();
        let text = |member| members.text(member).unwrap_or_default();
        match &*text("type") {
            "number" | "integer" => return Some(numbers.then_some(DataKind::NUMBER).into_iter().collect()),
            "boolean" => return Some(Vec::new()),
            _ => {}
        }
        let media = [text("description"), text("contentMediaType"), text("format")].join(" ");
        let mut said = [&*name, &media].into_iter().map(DataKind::all_in);
        if let Some(kinds) = said.find(|kinds| !kinds.is_empty()) {
            return Some(kinds);
        }
        let carries = |word: String| CARRIES.contains(&word.strip_suffix('s').unwrap_or(&word));
        let is_any = lower_words(&name).any(carries) || required.iter().any(|required| *required == *name);
        (!is_any).then(Vec::new)
    };
    properties.iter().take(MAX_PARAMETERS).map(accepted).collect()
}

/// A kind of data that a tool takes or returns: the number of its line in the data.
///
/// Only kinds that exclude one another are told apart: a word with two meanings has none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DataKind(usize);

/// The words for each kind, and the names of further kinds, each of which may be given for the other.
static KINDS: LazyLock<Vec<[Vec<&str>; 2]>> = LazyLock::new(|| {
    let lines = include_str!("kinds.txt").lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once(" | ").unwrap_or((line, "")));
    parts.map(|(words, alike)| [words, alike].map(|part| part.split(' ').collect())).collect()
});

impl DataKind {
    /// The kind of numbers.
    pub(super) const NUMBER: Self = Self(7);

    /// Returns the kind that a word names, in lower case.
    pub(super) fn named(word: &str) -> Option<Self> {
        let kind = |word| KINDS.iter().position(|[words, _]| words.contains(&word)).map(Self);
        kind(word).or_else(|| kind(word.strip_suffix('s')?))
    }

    /// Returns the kinds that a text names.
    pub(super) fn all_in(text: &str) -> Vec<Self> {
        let mut kinds: Vec<_> = lower_words(text).filter_map(|word| Self::named(&word)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns whether data of this kind may be given where `wanted` is wanted. Doubts count as yes.
    pub(super) fn may_stand_for(self, wanted: Self) -> bool {
        let stands = |one: Self, other: Self| KINDS[one.0][1].contains(&other.name());
        self == wanted || stands(self, wanted) || stands(wanted, self)
    }

    /// Returns the word for the kind in answers.
    pub(super) fn name(self) -> &'static str {
        KINDS[self.0][0][0]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::discovery::tests::tool_of;

    fn tool(description: &str, properties: &Value, required: &[&str]) -> std::sync::Arc<Tool> {
        tool_of(&json!({
            "name": "t",
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required }
        }))
    }

    fn wanted(types: &[&str]) -> Vec<String> {
        types.iter().copied().map(Into::into).collect()
    }

    #[test]
    fn a_tool_that_takes_images_only_does_not_take_csv() {
        let images = json!({ "image_path": { "type": "string" }, "quality": { "type": "integer" } });
        let tool = tool("Looks at it", &images, &["image_path"]);
        assert_eq!(
            takes(&tool, &wanted(&["csv", "tabular_data"])),
            TypeFit::Contradicted(DataKind::all_in("image"))
        );
        assert_eq!(takes(&tool, &wanted(&["png"])), TypeFit::Stated);
        assert_eq!(takes(&tool, &wanted(&["hologram"])), TypeFit::Open);
        assert_eq!(takes(&tool, &wanted(&["csv", "hologram"])), TypeFit::Open);
        assert_eq!(takes(&tool, &[]), TypeFit::Open);
    }

    #[test]
    fn what_a_definition_leaves_open_stays_possible() {
        let both = json!({ "image": { "type": "string" }, "file": { "type": "string" } });
        assert_eq!(takes(&tool("", &both, &[]), &wanted(&["csv"])), TypeFit::Open);
        let required = json!({ "image": { "type": "string" }, "subject": { "type": "string" } });
        assert_eq!(takes(&tool("", &required, &["subject"]), &wanted(&["csv"])), TypeFit::Open);
        assert_eq!(takes(&tool("", &json!({}), &[]), &wanted(&["csv"])), TypeFit::Open);
        assert_eq!(takes(&tool("Sums up a CSV", &json!({}), &[]), &wanted(&["csv"])), TypeFit::Stated);
        let media = json!({ "x": { "type": "string", "contentMediaType": "image/png" } });
        assert!(matches!(takes(&tool("", &media, &["x"]), &wanted(&["csv"])), TypeFit::Contradicted(_)));
        let text = json!({ "text": { "type": "string" } });
        assert_eq!(takes(&tool("", &text, &["text"]), &wanted(&["csv"])), TypeFit::Open);
    }

    #[test]
    fn what_comes_out_is_read_from_the_description_and_the_output_schema() {
        let none = json!({});
        let to_pdf = tool("Converts a web page to PDF", &none, &[]);
        assert_eq!(gives(&to_pdf, &wanted(&["pdf"])), TypeFit::Stated);
        assert_eq!(gives(&to_pdf, &wanted(&["chart"])), TypeFit::Contradicted(DataKind::all_in("pdf")));
        let chart = tool("Generates a bar chart of columns", &none, &[]);
        assert_eq!(gives(&chart, &wanted(&["numeric", "chart"])), TypeFit::Stated);
        assert_eq!(gives(&tool("Looks at things", &none, &[]), &wanted(&["chart"])), TypeFit::Open);
        let typed = tool_of(&json!({
            "name": "mean", "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": { "mean": { "type": "number" } } }
        }));
        assert_eq!(gives(&typed, &wanted(&["numeric"])), TypeFit::Stated);
        assert!(matches!(gives(&typed, &wanted(&["audio"])), TypeFit::Contradicted(_)));
    }

    #[test]
    fn broken_schemas_say_nothing() {
        for schema in [json!(true), json!({ "properties": 7 }), json!({ "properties": { "x": null } })] {
            let tool = tool_of(&json!({ "name": "t", "inputSchema": schema, "outputSchema": schema }));
            assert_eq!(takes(&tool, &wanted(&["csv"])), TypeFit::Open);
            assert_eq!(gives(&tool, &wanted(&["csv"])), TypeFit::Open);
        }
    }

    fn kind(name: &str) -> DataKind {
        let kind = DataKind::named(name).unwrap();
        assert_eq!(kind.name(), name);
        kind
    }

    #[test]
    fn kinds_are_found_by_many_names() {
        assert_eq!(DataKind::all_in("tabular_data"), [kind("csv")]);
        assert_eq!(DataKind::all_in("A PNG or JPEGs; see imagePath"), [kind("image")]);
        assert_eq!(DataKind::all_in("csvFile of numbers"), [kind("csv"), kind("numeric")]);
        assert!(DataKind::all_in("file, graph, code 画像").is_empty());
        assert_eq!(DataKind::NUMBER, kind("numeric"));
    }

    #[test]
    fn what_holds_the_other_may_stand_for_it() {
        for (one, other, may) in [
            ("text", "csv", true),
            ("json", "numeric", true),
            ("pdf", "docx", true),
            ("image", "csv", false),
            ("text", "audio", false),
        ] {
            assert_eq!(kind(one).may_stand_for(kind(other)), may, "{one} {other}");
            assert_eq!(kind(other).may_stand_for(kind(one)), may, "{other} {one}");
        }
        // Each other kind that a line names is one.
        for alike in KINDS.iter().flat_map(|[_, alike]| alike).filter(|alike| !alike.is_empty()) {
            kind(alike);
        }
    }
}
