//! Calls whose results come in envelopes.

use mgp_types::ext::{ENVELOPE_VERSION, ExtensionId, ToolResult};
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, Object, RawJson, Response, RpcService};

use crate::Call;

impl<S: RpcService> Call<S, CallToolResult> {
    /// Asks for the result in an envelope, which says in one word what became of the call.
    ///
    /// A server without envelopes answers as ever; the client puts that result into one. An envelope of another major
    /// version, or one that breaks a rule, is an error.
    pub fn in_envelope(self) -> Call<S, ToolResult> {
        let settings = format!(r#"{{"envelope":true,"version":"{ENVELOPE_VERSION}"}}"#);
        self.meta(ExtensionId::Envelopes.id(), RawJson::from_written(settings.into_bytes()))
            .read_as(read_envelope)
    }
}

fn read_envelope(response: &Response) -> Result<ToolResult, Error> {
    let result = Object::from_raw(&response.to_raw())
        .map_err(|error| Error::misbehaved("the result of the tool is no object").with_source(error))?;
    let settings = result.object("_meta").and_then(|meta| meta.object(ExtensionId::Envelopes.id()));
    // Only an envelope names its version.
    let Some(version) = settings.as_ref().and_then(|settings| settings.text("version")) else {
        return Ok(ToolResult::of_result(&result));
    };
    if major(&version) != major(ENVELOPE_VERSION) {
        let version: String = version.chars().take(32).collect();
        return Err(Error::misbehaved(format!(
            "the server speaks version {version} of envelopes, and this side {ENVELOPE_VERSION}: call without an envelope"
        )));
    }
    let envelope =
        result.object("structuredContent").ok_or_else(|| Error::misbehaved("the result has no envelope"))?;
    ToolResult::from_object(&envelope).map_err(|fault| Error::misbehaved(fault.to_string()))
}

fn major(version: &str) -> Option<&str> {
    version.split('.').next()
}
