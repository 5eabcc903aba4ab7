//! Signatures: tools described field by field, from which their schemas, checks and examples are made.

mod constraint;
mod examples;
mod field;
mod settings;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use mgp_security::ArgumentJudge;
pub use mgp_security::Violation;
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::{Error, Object, RawJson, mcp};
use serde::Serialize;
use serde_json::{Map, Value, json};

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

/// The checks of one tool's arguments, each of whose faults is named.
#[derive(Debug)]
pub(crate) struct ArgumentChecks {
    schema: RawJson,
    /// The compiled schema. That of a tool without a signature is compiled for the first question about its arguments.
    judge: OnceLock<Result<ArgumentJudge, String>>,
    signature: Option<SignatureChecks>,
}

/// The parts of a signature that its schema does not enforce.
#[derive(Debug)]
struct SignatureChecks {
    defaults: Vec<(String, RawJson)>,
    /// Arguments and the validators that they name.
    validators: Vec<(String, String)>,
}

impl ArgumentChecks {
    /// Creates the checks of a tool with this schema of its arguments, and perhaps with a signature.
    pub(crate) fn new(schema: RawJson, signature: Option<&Signature>) -> Result<Self, String> {
        let checks = Self { schema, judge: OnceLock::new(), signature: signature.map(SignatureChecks::of) };
        if let Some(signature) = signature {
            signature.check()?;
            check_defaults(checks.judge()?, signature)?;
        }
        Ok(checks)
    }

    /// Returns whether the tool was made of a signature.
    pub(crate) const fn is_of_signature(&self) -> bool {
        self.signature.is_some()
    }

    /// Returns the dialect of the schema.
    pub(crate) fn dialect(&self) -> String {
        let schema = Object::from_raw(&self.schema).ok();
        let named = schema.and_then(|schema| Some(schema.text("$schema")?.into_owned()));
        named.unwrap_or_else(|| "https://json-schema.org/draft/2020-12/schema".into())
    }

    /// Returns the names of the validators.
    pub(crate) fn validators(&self) -> impl Iterator<Item = &str> {
        let validators = self.signature.iter().flat_map(|signature| &signature.validators);
        validators.map(|(_, validator)| &**validator)
    }

    /// Returns all faults of the arguments, those that validators find included.
    pub(crate) async fn all_violations(
        &self,
        settings: &RegistrySettings,
        mut arguments: Object,
    ) -> Result<Vec<Violation>, Error> {
        self.fill(&mut arguments);
        let (arguments, found) = self.violations(&arguments)?;
        self.with_validators(settings, arguments, found).await
    }

    /// Returns the arguments as values, and the faults that the schema finds.
    pub(crate) fn violations(&self, arguments: &Object) -> Result<(Value, Vec<Violation>), Error> {
        let arguments =
            arguments.to().map_err(|error| Error::invalid_params(format!("invalid arguments: {error}")))?;
        let unusable = |fault: &str| format!("the arguments of the tool cannot be checked: {fault}");
        let found = self.judge().map_err(|fault| Error::internal(unusable(fault)))?.violations(&arguments);
        Ok((arguments, found))
    }

    /// Adds the faults that validators find to those of the schema.
    pub(crate) async fn with_validators(
        &self,
        settings: &RegistrySettings,
        arguments: Value,
        mut found: Vec<Violation>,
    ) -> Result<Vec<Violation>, Error> {
        let names = self.validators_after(&found);
        if !names.is_empty() {
            let limit = settings.timeouts.unwrap_or_default().validation;
            found.extend(settings.validators.run(&names, arguments, limit).await?);
        }
        Ok(found)
    }

    /// Returns the validators of the arguments with which the schema found no fault, each of them once.
    pub(crate) fn validators_after(&self, found: &[Violation]) -> Vec<&str> {
        let faulty =
            |argument: &str| found.iter().any(|violation| violation.field.as_deref() == Some(argument));
        let validators = self.signature.iter().flat_map(|signature| &signature.validators);
        let mut names: Vec<&str> = Vec::new();
        for (argument, validator) in validators {
            if !faulty(argument) && !names.contains(&&**validator) {
                names.push(validator);
            }
        }
        names
    }

    /// Sets the defaults of absent arguments; returns whether any was absent.
    pub(crate) fn fill(&self, arguments: &mut Object) -> bool {
        let mut is_changed = false;
        for (name, default) in self.signature.iter().flat_map(|signature| &signature.defaults) {
            if !arguments.contains(name) {
                arguments.set(Cow::Owned(name.clone()), default.clone());
                is_changed = true;
            }
        }
        is_changed
    }

    fn judge(&self) -> Result<&ArgumentJudge, &str> {
        let made = self.judge.get_or_init(|| {
            // A signature has patterns of linear time; a schema that was written may have others.
            let compile =
                if self.signature.is_some() { ArgumentJudge::compile_linear } else { ArgumentJudge::compile };
            compile(&self.schema).map_err(|fault| fault.to_string())
        });
        made.as_ref().map_err(|fault| &**fault)
    }
}

impl SignatureChecks {
    fn of(signature: &Signature) -> Self {
        let fields = signature.inputs.iter();
        let defaults =
            fields.clone().filter_map(|field| Some((field.name.clone(), to_raw(field.default()?))));
        let mut validators = Vec::new();
        for field in fields {
            let mut open: Vec<&Constraint> = field.constraints.iter().rev().collect();
            while let Some(constraint) = open.pop() {
                if let Constraint::Custom(name) = constraint {
                    validators.push((field.name.clone(), name.clone()));
                }
                open.extend(constraint.parts().into_iter().rev());
            }
        }
        Self { defaults: defaults.collect(), validators }
    }
}

/// Checks that each default fits its own field.
fn check_defaults(judge: &ArgumentJudge, signature: &Signature) -> Result<(), String> {
    for field in &signature.inputs {
        let Some(default) = field.default() else { continue };
        let is_of =
            |fault: &&Violation| fault.field.as_ref() == Some(&field.name) && fault.keyword != "required";
        if let Some(fault) = judge.violations(&json!({ field.name.as_str(): default })).iter().find(is_of) {
            return Err(format!("the default of `{}` does not fit: {}", field.name, fault.reason));
        }
    }
    Ok(())
}

/// Returns the result of a call with these faults: a text for the model, and the same for programs.
pub(crate) fn failure(found: &[Violation]) -> CallToolResult {
    let mut text = String::from("Validation failed");
    for violation in found {
        let place =
            if violation.path.is_empty() { String::new() } else { format!(" at `{}`", violation.path) };
        let ways = violation.suggestions.join("; ");
        let ways = if ways.is_empty() { ways } else { format!(" ({ways})") };
        let _ = write!(text, "\n-{place} {}{ways}", violation.reason);
    }
    let mut error = json!({
        "code": "INVALID_INPUT", "category": "invalid_input", "message": "Validation failed", "retryable": false,
    });
    // The first fault stands in the error itself, for readers of one.
    if let (Some(members), Some(Ok(Value::Object(first)))) =
        (error.as_object_mut(), found.first().map(serde_json::to_value))
    {
        members.extend(first);
    }
    error["errors"] = serde_json::to_value(found).unwrap_or_default();
    CallToolResult::error(text).with_meta(Meta::new().with("error", to_raw(&error)))
}
