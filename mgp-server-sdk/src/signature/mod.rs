//! Signatures: tools described field by field, from which their schemas, checks and examples are made.

mod checks;
mod constraint;
mod examples;
mod field;
mod settings;

use std::collections::HashSet;

pub use mgp_security::Violation;
use mgp_types::{RawJson, mcp};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use self::checks::{ArgumentChecks, failure};
pub use self::constraint::Constraint;
pub use self::field::{FieldType, InputField, OutputField};
pub(crate) use self::settings::RegistrySettings;
pub use self::settings::{Timeouts, ToolValidator};
use crate::Fault;
use crate::schema::to_raw;

/// The description of a tool by its arguments and the members of its result, in order.
///
/// [`Tool::from_signature`](crate::Tool::from_signature) makes a tool of it, whose calls are checked against all
/// constraints, and whose absent arguments get their defaults.
///
/// ```
/// use mgp_server_sdk::{Constraint, FieldType, InputField, Signature};
///
/// let signature = Signature::new("quote", "Returns the price of a share.").input(
///     InputField::new("ticker_symbol", FieldType::String, "Ticker symbol, like AAPL")
///         .constraint(Constraint::Pattern("^[A-Z]{1,5}$".into())),
/// );
/// assert_eq!(
///     signature.to_json_schema().to_string(),
///     concat!(
///         r#"{"type":"object","properties":{"ticker_symbol":{"type":"string","#,
///         r#""description":"Ticker symbol, like AAPL","pattern":"^[A-Z]{1,5}$"}},"required":["ticker_symbol"]}"#,
///     ),
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a signature does nothing until a tool is made of it"]
pub struct Signature {
    name: String,
    description: String,
    inputs: Vec<InputField>,
    outputs: Vec<OutputField>,
    metadata: ToolMetadata,
}

/// The facts about a tool that catalogs of tools show beside its schemas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolMetadata {
    /// The category of the tool, like `finance`.
    pub category: String,
    /// The version of the tool.
    pub version: String,
    /// True if the tool will go away.
    pub deprecated: bool,
    /// The author of the tool.
    pub author: String,
}

impl ToolMetadata {
    /// Creates the facts about a tool that stays.
    pub fn new(category: impl Into<String>, version: impl Into<String>, author: impl Into<String>) -> Self {
        Self { category: category.into(), version: version.into(), deprecated: false, author: author.into() }
    }
}

impl Signature {
    /// Creates the signature of a tool without arguments and without a structured result.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let metadata = ToolMetadata::new("general", "1.0.0", "");
        Self { name: name.into(), description: description.into(), inputs: vec![], outputs: vec![], metadata }
    }

    mgp_types::setters! { self =>
        /// Adds an argument.
        pub fn input(field: InputField) => self.inputs.push(field);

        /// Adds a member of the result.
        pub fn output(field: OutputField) => self.outputs.push(field);

        /// Sets the facts that catalogs show. Default: category `general`, version `1.0.0`, no author.
        pub fn metadata(metadata: ToolMetadata) => self.metadata = metadata;
    }

    /// Returns the JSON Schema of the arguments.
    pub fn to_json_schema(&self) -> RawJson {
        to_raw(&self.input_schema())
    }

    /// Returns the JSON Schema of the structured result; `None` if the result has no members.
    pub fn to_output_schema(&self) -> Option<RawJson> {
        let fields = self.outputs.iter().map(|field| (&field.name, field.schema(), field.is_required()));
        (!self.outputs.is_empty()).then(|| to_raw(&object(fields)))
    }

    /// Returns the tool as MCP lists it.
    pub fn to_mcp_tool(&self) -> mcp::Tool {
        let mut tool = mcp::Tool::new(self.name.as_str(), self.to_json_schema());
        tool.description = Some(self.description.clone());
        tool.output_schema = self.to_output_schema();
        tool
    }

    /// Returns the schema, the [`examples`](Self::examples) and the metadata of the tool as one object, for catalogs.
    ///
    /// # Errors
    /// No examples can be made.
    pub fn export(&self) -> Result<RawJson, Fault> {
        let examples: Vec<Value> = self.make_examples()?;
        Ok(to_raw(&json!({
            "schema": self.input_schema(), "examples": examples, "metadata": self.metadata,
        })))
    }

    /// Returns two examples of arguments that fit the schema: one with all arguments that an example is known of, and
    /// one with the required ones.
    ///
    /// # Errors
    /// No value that fits is known of a required argument: it needs an [`InputField::example`].
    pub fn examples(&self) -> Result<Vec<RawJson>, Fault> {
        Ok(self.make_examples()?.iter().map(to_raw).collect())
    }

    fn input_schema(&self) -> Value {
        object(self.inputs.iter().map(|field| (&field.name, field.schema(), field.is_required)))
    }

    /// Checks that the signature describes something.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        let fields = self.inputs.iter().map(|field| (&field.name, &field.description, "argument"));
        let members = self.outputs.iter().map(|field| (&field.name, &field.description, "member"));
        for (name, description, what) in fields.chain(members) {
            if name.is_empty() || description.is_empty() {
                return Err(format!("the {what} `{name}` needs a name and a description"));
            }
            if !names.insert((what, name)) {
                return Err(format!("there are two {what}s `{name}`"));
            }
        }
        if names.len() > MAX_FIELDS {
            return Err(format!("it has more than {MAX_FIELDS} fields"));
        }
        self.inputs.iter().try_for_each(|field| {
            let checked = Constraint::check_all(&field.constraints, &field.kind);
            checked.map_err(|reason| format!("argument `{}`: {reason}", field.name))
        })
    }

    fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(format!("tool `{}`", self.name), reason)
    }
}

fn object<'a>(fields: impl Iterator<Item = (&'a String, Map<String, Value>, bool)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, schema, is_required) in fields {
        properties.insert(name.clone(), Value::Object(schema));
        if is_required {
            required.push(name.as_str());
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The largest number of arguments and members.
const MAX_FIELDS: usize = 256;
