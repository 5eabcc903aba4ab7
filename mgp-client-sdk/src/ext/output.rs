//! Results that are compared with the output schema of their tool, and results that come in envelopes.

use mgp_security::ArgumentJudge;
use mgp_types::ext::{ENVELOPE_VERSION, ExtensionId, ToolResult};
use mgp_types::mcp::{CallToolResult, Tool};
use mgp_types::{Error, Object, RawJson, Response, RpcService, code};

use crate::Call;

impl<S: RpcService> Call<S, CallToolResult> {
    /// Compares the structured result with the output schema that `tool` declares. A result that does not fit is an error
    /// of the call, which names the place of each fault and no value; the tool has done its work then all the same.
    ///
    /// A failed result, and any result of a tool without an output schema, is not compared.
    pub fn check_output(mut self, tool: &Tool) -> Self {
        let Some(schema) = &tool.output_schema else { return self };
        let name = tool.name.clone();
        match ArgumentJudge::compile(schema) {
            Ok(judge) => self.check = Some(Box::new(move |response| check(&name, &judge, response))),
            Err(fault) => {
                let unusable = format!("the output of `{name}` cannot be checked: {fault}");
                self.request = self.request.and(Err(Error::new(code::INVALID_REQUEST, unusable)));
            }
        }
        self
    }

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

fn check(name: &str, judge: &ArgumentJudge, response: &Response) -> Result<(), Error> {
    let result: CallToolResult = response.body()?;
    if result.is_error == Some(true) {
        return Ok(());
    }
    let does_not_fit = |faults: &str| {
        Error::misbehaved(format!("the result of `{name}` does not fit its output schema: {faults}"))
    };
    let Some(output) = result.structured_content else {
        return Err(does_not_fit("it has no structured content"));
    };
    let output = output.to().map_err(|error| does_not_fit("it is not JSON").with_source(error))?;
    let faults = judge.violations(&output).into_iter().take(MAX_FAULTS).map(|fault| match &*fault.path {
        "" => format!("it breaks `{}`", fault.keyword),
        path => format!("`{path}` breaks `{}`", fault.keyword),
    });
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(does_not_fit(&faults.join("; "))) }
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

/// The most faults that an error names.
const MAX_FAULTS: usize = 8;
