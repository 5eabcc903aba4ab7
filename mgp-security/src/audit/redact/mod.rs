//! What must not get into a log is taken out of what does.

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

pub(super) use self::patterns::text;

use self::names::SecretNames;
use self::schema::Schemas;
use self::write::RedactingWriter;

/// Takes secrets out of arguments: by what a member is called, by what a value looks like, and by what the tool's schema
/// says (`writeOnly`, or the format `password`).
///
/// It errs on the side of taking out too much, and cannot find a secret that looks like any other word and stands under
/// a name like any other: what must not be in the log at all is left out with
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

/// Finds the tool that a call turned out to be for.
type Definitions = Arc<dyn Fn(&ServerId, &ToolName) -> Option<Arc<ResolvedTool>> + Send + Sync>;

impl Redaction {
    /// The usual names and patterns, and about two kilobytes of what is left.
    pub fn new() -> Self {
        Self { names: SecretNames::default(), max_bytes: 2_048, definitions: None }
    }

    /// Takes out what is called `name` too, in any case and with any separators.
    pub fn with_name(mut self, name: &str) -> Self {
        self.names.add(name);
        self
    }

    /// Keeps about so many bytes at most.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Reads schemas from the tools that `find` returns, where the request does not carry its tool already.
    pub fn with_definitions(
        mut self,
        find: impl Fn(&ServerId, &ToolName) -> Option<Arc<ResolvedTool>> + Send + Sync + 'static,
    ) -> Self {
        self.definitions = Some(Arc::new(find));
        self
    }

    /// The arguments without secrets, and without what is beyond the bound. `schema` is the tool's `inputSchema`.
    pub fn arguments(&self, arguments: &RawJson, schema: Option<&RawJson>) -> RawJson {
        // A schema that cannot be read could have said anything.
        let schema = match schema.map(RawJson::to::<Value>) {
            None => None,
            Some(Ok(schema)) => Some(schema),
            Some(Err(_)) => return Self::shape(arguments),
        };
        let schemas = schema.as_ref().map_or_else(Schemas::none, Schemas::of);
        write(arguments, self.max_bytes, |writer, value| writer.redacted(&self.names, value, &schemas))
    }

    /// The names of the arguments, and in place of each value its kind and size.
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

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

/// Reading more into memory to keep two kilobytes of it would be a way to slow the kernel down.
const MAX_INPUT_BYTES: usize = 256 * 1024;

const MAX_SHAPE_BYTES: usize = 2_048;
