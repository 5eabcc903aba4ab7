//! Redaction: secrets are taken out of arguments before these are recorded.

mod names;
mod patterns;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::sync::Arc;

use mgp_types::RawJson;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};
use serde_json::Value;

pub use self::names::is_secret_name;
pub(super) use self::patterns::{name, text};

use self::names::SecretNames;
use self::schema::Schemas;
use self::write::RedactingWriter;

/// A filter that takes secrets out of arguments: by the names of members, by the form of values, and by the tool's
/// schema (`writeOnly`, or the format `password`).
///
/// The filter rather takes out too much than too little, but cannot find a secret that looks like an ordinary word
/// and stands under an ordinary name. If arguments must not be in the log at all, leave them out with
/// [`ArgumentRecording::Omitted`](super::ArgumentRecording::Omitted).
///
/// ```
/// use mgp_security::audit::Redaction;
/// use mgp_types::RawJson;
///
/// let arguments = RawJson::parse(r#"{"apiKey":"k-1","command":"curl -H 'Authorization: Bearer abc.def123' x.org"}"#)?;
/// assert_eq!(
///     Redaction::new().arguments(&arguments, None).as_bytes(),
///     br#"{"apiKey":"[redacted]","command":"curl -H 'Authorization: [redacted]' x.org"}"#
/// );
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Redaction {
    names: SecretNames,
    max_bytes: usize,
    definitions: Option<Definitions>,
}

/// A function that finds the tool that a call was resolved to.
type Definitions = Arc<dyn Fn(&ServerId, &ToolName) -> Option<Arc<ResolvedTool>> + Send + Sync>;

impl Redaction {
    /// Returns a filter with the usual names and patterns that keeps about two kilobytes of the arguments.
    pub fn new() -> Self {
        Self { names: SecretNames::default(), max_bytes: 2_048, definitions: None }
    }

    /// Adds `name` to the names of secrets, in any case and with any separators.
    pub fn with_name(mut self, name: &str) -> Self {
        self.names.add(name);
        self
    }

    /// Sets the approximate number of bytes that are kept at most.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets a source of tools for their schemas, for requests that do not carry their tool.
    pub fn with_definitions(
        mut self,
        find: impl Fn(&ServerId, &ToolName) -> Option<Arc<ResolvedTool>> + Send + Sync + 'static,
    ) -> Self {
        self.definitions = Some(Arc::new(find));
        self
    }

    /// Returns the arguments without secrets, shortened to the bound. `schema` is the tool's `inputSchema`.
    pub fn arguments(&self, arguments: &RawJson, schema: Option<&RawJson>) -> RawJson {
        // A schema that cannot be read might have marked any value as a secret.
        let schema = match schema.map(RawJson::to::<Value>) {
            None => None,
            Some(Ok(schema)) => Some(schema),
            Some(Err(_)) => return Self::shape(arguments),
        };
        let schemas = schema.as_ref().map_or_else(Schemas::none, Schemas::of);
        write(arguments, self.max_bytes, |writer, value| writer.redacted(&self.names, value, &schemas))
    }

    /// Returns the names of the arguments, and in place of each value its kind and size.
    pub fn shape(arguments: &RawJson) -> RawJson {
        write(arguments, MAX_SHAPE_BYTES, RedactingWriter::shape)
    }

    pub(super) fn definition(&self, server: &ServerId, tool: &ToolName) -> Option<Arc<ResolvedTool>> {
        self.definitions.as_ref().and_then(|find| find(server, tool))
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

fn write(arguments: &RawJson, max_bytes: usize, write: impl FnOnce(&mut RedactingWriter, &Value)) -> RawJson {
    let bytes = arguments.as_bytes().len();
    let value = if bytes <= MAX_INPUT_BYTES { arguments.to::<Value>().ok() } else { None };
    let Some(value) = value else {
        return RawJson::from_written(format!(r#"{{"omitted_bytes":{bytes}}}"#).into_bytes());
    };
    let mut writer = RedactingWriter::new(max_bytes);
    write(&mut writer, &value);
    RawJson::from_written(writer.finish())
}

/// The mark in place of a secret.
const REDACTED: &str = "[redacted]";

/// The largest size of arguments in bytes that is read. Reading more to keep two kilobytes of it would be a way to
/// slow the kernel down.
const MAX_INPUT_BYTES: usize = 256 * 1024;

/// The approximate size in bytes at which a shape ends.
const MAX_SHAPE_BYTES: usize = 2_048;
