//! The interface of a tool, from its definition or from its specification document: its name, its version and its schemas.

use mgp_types::ext::DottedName;
use mgp_types::mgp::Version;
use mgp_types::{Object, RawJson};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::document::{Block, DocumentedTool, SectionKind, SpecDocument};
use super::schema_diff::ANNOTATIONS;
use super::schema_rules::{completed, texts};

/// The interface on which callers of a tool rely: its name, its version, and the schemas of its parameters and its
/// output.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInterface {
    pub(super) name: String,
    pub(super) version: Option<Version>,
    pub(super) purpose: String,
    pub(super) input: Value,
    /// `None` if the tool declares nothing about its output.
    pub(super) output: Option<Value>,
    pub(super) idempotent: Option<bool>,
    /// The permissions that a definition says the tool needs.
    pub(super) permissions: Vec<String>,
    pub(super) rest: RestOfInterface,
}

/// The further facts about a tool. Two interfaces of different sources are not compared by them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RestOfInterface {
    /// The further members of a definition.
    Definition(Map<String, Value>),
    /// The texts of a document, by the titles of their sections.
    Document(Map<String, Value>),
}

/// The error of definitions that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidDefinition {
    /// The JSON is invalid.
    #[error("the JSON is invalid: {0}")]
    Json(String),
    /// The JSON is neither a definition of a tool nor a result of `tools/list`.
    #[error("the JSON has neither `tools` nor the `name` and `inputSchema` of a tool")]
    NoTool,
    /// A definition has no name, or no schema of its parameters.
    #[error("the definition of tool {0} has no `name`, or its `inputSchema` is not an object")]
    Incomplete(usize),
    /// The name of a tool does not become an invocation name.
    #[error("`{0}` does not become an invocation name: it needs letters or digits, and a module in front")]
    Unnamed(String),
    /// There are more tools than anybody documents.
    #[error("there are more than {MAX_TOOLS} tools")]
    TooMany,
}

impl ToolInterface {
    /// Reads the definition of a tool, a result of `tools/list`, or the answer that has it.
    ///
    /// # Errors
    /// The JSON is invalid or defines no tools.
    pub fn of_definitions(json: &str) -> Result<Vec<Self>, InvalidDefinition> {
        let raw =
            RawJson::parse(json.to_owned()).map_err(|error| InvalidDefinition::Json(error.to_string()))?;
        let json: Value = raw.to().map_err(|error| InvalidDefinition::Json(error.to_string()))?;
        let list = json.get("result").unwrap_or(&json);
        let tools = match (list.get("tools"), list) {
            (Some(Value::Array(tools)), _) => tools.as_slice(),
            (None, tool) if tool.get("name").is_some() => std::slice::from_ref(tool),
            _ => return Err(InvalidDefinition::NoTool),
        };
        if tools.len() > MAX_TOOLS {
            return Err(InvalidDefinition::TooMany);
        }
        let read = |(tool, number)| Self::of_value(tool).ok_or(InvalidDefinition::Incomplete(number));
        tools.iter().zip(1..).map(read).collect()
    }

    /// Reads the definition of a tool; `None` if it has no name, or no schema of its parameters.
    pub fn of_definition(definition: &RawJson) -> Option<Self> {
        Self::of_value(&definition.to().ok()?)
    }

    fn of_value(definition: &Value) -> Option<Self> {
        let mut rest = definition.as_object()?.clone();
        let name = rest.remove("name")?.as_str()?.to_owned();
        let input = rest.remove("inputSchema").filter(Value::is_object)?;
        let output =
            rest.remove("outputSchema").filter(Value::is_object).filter(says_something).map(as_object);
        let purpose = rest.remove("description").and_then(|text| Some(text.as_str()?.trim().to_owned()));
        let version = definition.pointer("/_meta/version").and_then(Value::as_str);
        let permissions = texts(definition.pointer("/security/permissions_required"));
        if let Some(meta) = rest.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.remove("version");
        }
        let hint = |name: &str| definition.get("annotations")?.get(name)?.as_bool();
        // A tool that changes nothing changes nothing more when it is called again.
        let idempotent =
            hint("idempotentHint").or_else(|| hint("readOnlyHint").filter(|is_read_only| *is_read_only));
        Some(Self {
            name,
            version: version.and_then(|version| Version::strict(version).ok()),
            purpose: purpose.unwrap_or_default(),
            input,
            output,
            idempotent,
            permissions: permissions.into_iter().map(str::to_owned).collect(),
            rest: RestOfInterface::Definition(rest),
        })
    }

    /// Returns the tools of a document. A schema that cannot be read is an empty one, of which [`lint`](super::lint())
    /// tells.
    pub fn of_document(document: &SpecDocument) -> Vec<Self> {
        document.tools.iter().map(Self::documented).collect()
    }

    pub(super) fn documented(tool: &DocumentedTool) -> Self {
        let schema = |kind| {
            let (_, json) = tool.section(kind)?.json().next()?;
            Object::parse(json.to_owned()).ok()?.to().ok()
        };
        Self {
            name: tool.name.clone(),
            version: tool.version().and_then(|(_, version)| Version::strict(version).ok()),
            purpose: tool.purpose(),
            input: schema(SectionKind::InputSchema).unwrap_or_else(|| json!({})),
            output: schema(SectionKind::OutputSchema).filter(says_something),
            idempotent: tool.idempotent(),
            permissions: Vec::new(),
            rest: RestOfInterface::Document(text_of(tool)),
        }
    }

    /// Returns the interface with schemas that have all the elements that a document has to have.
    pub(super) fn completed(&self) -> Self {
        let whole = |schema: &Value| completed(schema, "").0;
        Self { input: whole(&self.input), output: self.output.as_ref().map(whole), ..self.clone() }
    }

    /// Returns the name by which the tool is called.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Returns whether a schema of output demands anything: a schema that takes any object is as good as none.
fn says_something(schema: &Value) -> bool {
    let is_silent = |(word, value): (&String, &Value)| match word.as_str() {
        "type" => value == "object",
        "additionalProperties" => *value == Value::Bool(true),
        word => ANNOTATIONS.contains(&word),
    };
    !schema.as_object().is_some_and(|members| members.iter().all(is_silent))
}

/// Returns the schema of an object. Output of another type is the member `result` of an object, because the data of a
/// result is one.
fn as_object(schema: Value) -> Value {
    if schema.get("type").is_none_or(|kind| kind == "object") {
        return schema;
    }
    json!({
        "type": "object",
        "description": "The output, as the member `result`.",
        "properties": { "result": schema },
        "required": ["result"],
    })
}

/// Returns the texts of a document about a tool, by the titles of their sections, without the version and the schemas.
fn text_of(tool: &DocumentedTool) -> Map<String, Value> {
    let mut texts = Map::new();
    for section in &tool.sections {
        let is_schema = matches!(section.kind, Some(SectionKind::InputSchema | SectionKind::OutputSchema));
        let mut text = String::new();
        for block in &section.blocks {
            match block {
                Block::Code { .. } if is_schema => {}
                Block::Text { text: line, .. } if line.starts_with(super::document::VERSION) => {}
                Block::Text { text: line, .. } | Block::Code { text: line, .. } => text.push_str(line),
                // What the tables say of parameters is in the schemas, too.
                Block::Table(_) => {}
            }
        }
        // The purpose is compared by itself.
        if section.kind != Some(SectionKind::Purpose) {
            texts.insert(section.title.clone(), Value::String(text));
        }
    }
    texts
}

/// The largest number of tools that are read from one list.
const MAX_TOOLS: usize = 10_000;

/// Returns whether two names are of one tool: they are the same in lower case with underscores, or one of them is the
/// other without its module.
pub(super) fn is_same_tool(one: &str, other: &str) -> bool {
    let (one, other) = (parts(one), parts(other));
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    !short.is_empty() && long.ends_with(&short)
}

/// Returns the invocation name of a tool; `None` if no letter or digit is left.
///
/// `FinancialAnalyzer` becomes `financial_analyzer`, and what is no letter or digit of ASCII an underscore. A name with
/// the right form stays if no module is given.
pub(super) fn invocation_name(module: Option<&str>, name: &str) -> Option<String> {
    let mut all = module.map(parts).unwrap_or_default();
    all.extend(parts(name));
    let name = all.join(".");
    DottedName::read(&name).map(|_| name)
}

/// Returns the parts of a name between dots and slashes, in lower case with underscores.
fn parts(name: &str) -> Vec<String> {
    name.split(['.', '/']).filter(|part| part.chars().any(|c| c.is_ascii_alphanumeric())).map(snake).collect()
}

fn snake(part: &str) -> String {
    let mut text = String::with_capacity(part.len() + 4);
    let mut before = '_';
    for character in part.chars() {
        let begins_word =
            character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if begins_word {
            text.push('_');
        }
        text.push(if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' });
        before = character;
    }
    text
}
