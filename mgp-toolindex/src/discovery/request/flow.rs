//! Inputs and outputs of tools, as far as their definitions tell them.

use mgp_types::{Object, RawJson};

use super::kind::DataKind;
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
    let parameters = tool.members().get("inputSchema").map(|schema| parameters(&schema)).unwrap_or_default();
    let mut named = Vec::new();
    let mut is_open = parameters.is_empty();
    for parameter in &parameters {
        match parameter.accepts() {
            AcceptedTypes::Anything => is_open = true,
            AcceptedTypes::Numbers if wanted.contains(&DataKind::NUMBER) => named.push(DataKind::NUMBER),
            AcceptedTypes::Numbers | AcceptedTypes::Nothing => {}
            AcceptedTypes::Kinds(kinds) => named.extend(kinds),
        }
    }
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
        for parameter in parameters(&schema) {
            match parameter.accepts() {
                AcceptedTypes::Numbers => named.push(DataKind::NUMBER),
                AcceptedTypes::Kinds(kinds) => named.extend(kinds),
                AcceptedTypes::Anything | AcceptedTypes::Nothing => {}
            }
        }
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

struct FlowParameter {
    name: String,
    description: String,
    schema_type: String,
    is_required: bool,
}

enum AcceptedTypes {
    Kinds(Vec<DataKind>),
    Numbers,
    Anything,
    /// The argument is a setting.
    Nothing,
}

/// The names of arguments that may be of any kind.
const CARRIES: &[&str] = &[
    "data", "dataset", "input", "content", "file", "path", "url", "uri", "source", "src", "body", "payload",
    "attachment", "resource", "object", "value", "item", "record", "document",
];

impl FlowParameter {
    fn accepts(&self) -> AcceptedTypes {
        match self.schema_type.as_str() {
            "number" | "integer" => return AcceptedTypes::Numbers,
            "boolean" => return AcceptedTypes::Nothing,
            _ => {}
        }
        let named = DataKind::all_in(&self.name);
        if !named.is_empty() {
            return AcceptedTypes::Kinds(named);
        }
        let described = DataKind::all_in(&self.description);
        if !described.is_empty() {
            return AcceptedTypes::Kinds(described);
        }
        let carries =
            lower_words(&self.name).any(|word| CARRIES.contains(&word.strip_suffix('s').unwrap_or(&word)));
        if carries || self.is_required { AcceptedTypes::Anything } else { AcceptedTypes::Nothing }
    }
}

const MAX_PARAMETERS: usize = 64;

fn parameters(schema: &RawJson) -> Vec<FlowParameter> {
    let Ok(schema) = Object::from_raw(schema) else { return Vec::new() };
    let required: Vec<String> = schema.get("required").and_then(|raw| raw.to().ok()).unwrap_or_default();
    let Some(properties) = schema.object("properties") else {
        return Vec::new();
    };
    let read = |(name, raw): (std::borrow::Cow<'_, str>, RawJson)| {
        let members = Object::from_raw(&raw).unwrap_or_default();
        let text = |member| members.text(member).unwrap_or_default().into_owned();
        let media = [text("description"), text("contentMediaType"), text("format")].join(" ");
        FlowParameter {
            is_required: required.iter().any(|required| *required == *name),
            name: name.into_owned(),
            description: media,
            schema_type: text("type"),
        }
    };
    properties.iter().take(MAX_PARAMETERS).map(read).collect()
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
}
