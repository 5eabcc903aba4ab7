//! A call of a tool in an envelope.

use bytes::Bytes;
use serde::Serialize;

use super::super::written;
use super::{DottedName, EnvelopeFault, EnvelopeReading};
use crate::{Object, RawJson};

/// A call of a tool: its name, and its arguments as an object.
///
/// ```
/// use mgp_types::ext::{EnvelopeReading, ToolCall};
///
/// let call = ToolCall::from_json(r#"{"tool_name":"git.log","arguments":{"limit":3}}"#, EnvelopeReading::Strict)?;
/// assert_eq!(call.tool_name.as_str(), "git.log");
/// assert_eq!(call.arguments.get("limit").unwrap().as_bytes(), b"3");
/// # Ok::<(), mgp_types::ext::EnvelopeFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub tool_name: DottedName,
    /// The arguments, by the names of the tool's parameters.
    pub arguments: Object,
}

impl ToolCall {
    /// Creates a call.
    pub const fn new(tool_name: DottedName, arguments: Object) -> Self {
        Self { tool_name, arguments }
    }

    /// Reads a call from JSON in UTF-8.
    pub fn from_json(json: impl Into<Bytes>, reading: EnvelopeReading) -> Result<Self, EnvelopeFault> {
        let object = Object::parse(json).map_err(|error| EnvelopeFault::of_json(&error))?;
        Self::from_object(&object, reading)
    }

    /// Reads a call from an object.
    pub fn from_object(object: &Object, reading: EnvelopeReading) -> Result<Self, EnvelopeFault> {
        let tool_name = object
            .get("tool_name")
            .ok_or_else(|| EnvelopeFault::new("tool_name", "is missing: name the tool to call", None))?;
        let fault = |rule: &str| EnvelopeFault::new("tool_name", rule, Some(&tool_name));
        let text = tool_name.to_text().ok_or_else(|| fault("must be a string"))?;
        let tool_name = DottedName::read(&text).ok_or_else(|| {
            fault("must match ^[a-z0-9_]+(\\.[a-z0-9_]+)+$: small letters, digits and `_`, with a dot between the module and the tool")
        })?;
        let arguments = object.get("arguments").ok_or_else(|| {
            EnvelopeFault::new("arguments", "is missing: send {} for a tool without parameters", None)
        })?;
        let arguments = Object::from_raw(&arguments)
            .map_err(|_| EnvelopeFault::new("arguments", "must be an object", Some(&arguments)))?;
        if reading == EnvelopeReading::Strict {
            let other = object.iter().find(|(name, _)| name != "tool_name" && name != "arguments");
            if let Some((name, _)) = other {
                let name: String = name.chars().take(64).collect();
                let rule = format!("has a member `{name}`, and may have `tool_name` and `arguments` only");
                return Err(EnvelopeFault::new("envelope", rule, None));
            }
        }
        Ok(Self { tool_name, arguments })
    }

    /// Returns the call as JSON without spaces, as it is sent.
    pub fn to_raw(&self) -> RawJson {
        written(self).compact()
    }
}
