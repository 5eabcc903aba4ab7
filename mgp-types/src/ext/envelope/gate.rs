//! Envelopes inside of `tools/call`: a call that asks for one gets its result in it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{ENVELOPE_VERSION, EnvelopeFault, ToolResult};
use crate::ext::ExtensionId;
use crate::ext::reference::text_block;
use crate::json::ObjectWriter;
use crate::{Error, Flow, Gate, Method, Object, Request, RequestKind, Response};

/// A gate that gives the result of `tools/call` as an envelope where the metadata of the call ask for one:
/// `"_meta": {"io.github.mcp-extension-proposals/env": {"envelope": true}}`.
///
/// The envelope is the structured content of the result, and its text is the same as compact JSON. Errors become failed
/// results, so the gate belongs outside of whatever refuses calls. A call may name the version of the envelopes that it
/// speaks; another major version is refused. All other requests pass untouched, and cost a look at the bytes of `_meta`.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct EnvelopeGate;

/// Looks for the id of the extension, in every call.
static ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(ExtensionId::Envelopes.id()));

impl Gate for EnvelopeGate {
    /// True if the result is to be in an envelope.
    type Pass = bool;

    fn enter(&self, request: &mut Request) -> Flow<bool> {
        if request.method != Method::TOOLS_CALL || request.kind != RequestKind::Call {
            return Flow::Pass(false);
        }
        let names_it = |meta: &[u8]| ID.find(meta).is_some();
        if !request.params.bytes("_meta").is_some_and(names_it) {
            return Flow::Pass(false);
        }
        let id = ExtensionId::Envelopes.id();
        let settings = request.params.object("_meta").and_then(|meta| meta.object(id)).unwrap_or_default();
        if settings.bytes("envelope") != Some(b"true") {
            return Flow::Pass(false);
        }
        match check_version(&settings) {
            Ok(()) => Flow::Pass(true),
            Err(fault) => Flow::answer(in_envelope(&ToolResult::failure(fault.to_error_detail()))),
        }
    }

    fn leave(&self, is_wanted: bool, outcome: &mut Result<Response, Error>) {
        if is_wanted {
            *outcome = Ok(in_envelope(&ToolResult::of_call(outcome)));
        }
    }
}

/// Checks that a call speaks this version of the envelopes, or a compatible one: all of one major version are.
fn check_version(settings: &Object) -> Result<(), EnvelopeFault> {
    let Some(version) = settings.get("version") else { return Ok(()) };
    let spoken = version.to_text().and_then(|text| text.split('.').next()?.parse::<u32>().ok());
    let ours = ENVELOPE_VERSION.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if spoken.is_some() && spoken == ours {
        return Ok(());
    }
    Err(EnvelopeFault::new(
        "version",
        format!("is not compatible: this side speaks version {ENVELOPE_VERSION} of envelopes"),
        Some(&version),
    ))
}

fn in_envelope(result: &ToolResult) -> Response {
    let envelope = result.to_raw().compact();
    let mut version = ObjectWriter::new();
    version.text("version", ENVELOPE_VERSION);
    let mut meta = ObjectWriter::new();
    meta.json(ExtensionId::Envelopes.id(), &version.finish().to_raw());
    let mut out = ObjectWriter::new();
    out.json("content", &text_block(&envelope.to_string()));
    out.json("structuredContent", &envelope);
    if result.error().is_some() && result.data().is_none() {
        out.value("isError", &true);
    }
    out.json("_meta", &meta.finish().to_raw());
    Response::new(out.finish().to_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawJson;

    fn call(meta: &str) -> Request {
        let params = format!(r#"{{"name":"add","arguments":{{}},"_meta":{meta}}}"#);
        Request::call("tools/call", Object::parse(params).unwrap())
    }

    fn wants(version: &str) -> String {
        format!(r#"{{"io.github.mcp-extension-proposals/env":{{"envelope":true{version}}}}}"#)
    }

    fn outcome(meta: &str, outcome: Result<Response, Error>) -> Object {
        let gate = EnvelopeGate;
        let mut outcome = outcome;
        match gate.enter(&mut call(meta)) {
            Flow::Pass(pass) => gate.leave(pass, &mut outcome),
            Flow::Answer(answer) => outcome = answer,
            Flow::Wait(_) => panic!("the gate never waits"),
        }
        Object::from_raw(&outcome.unwrap().to_raw()).unwrap()
    }

    // covers: ENV-5.1-01, ENV-5.3-01
    #[test]
    fn a_call_gets_an_envelope_of_its_major_version_only() {
        let done = || Ok(Response::plain(RawJson::parse(r#"{"structuredContent":{"sum":3}}"#).unwrap()));
        for version in ["", r#","version":"1.0.0""#, r#","version":"1.4.2""#] {
            let result = outcome(&wants(version), done());
            assert_eq!(
                result.get("structuredContent").unwrap().as_bytes(),
                br#"{"status":"success","data":{"sum":3}}"#
            );
            let meta = result.get("_meta").unwrap().to_string();
            assert_eq!(meta, r#"{"io.github.mcp-extension-proposals/env":{"version":"1.0.0"}}"#);
        }
        for version in [r#","version":"2.0.0""#, r#","version":"x""#, r#","version":1"#] {
            let result = outcome(&wants(version), done());
            assert_eq!(result.bytes("isError"), Some(&b"true"[..]), "{version}");
            assert!(result.get("structuredContent").unwrap().to_string().contains("1.0.0"), "{version}");
        }
        for meta in [r#"{"progressToken":1}"#, r#"{"io.github.mcp-extension-proposals/env":{}}"#] {
            assert!(outcome(meta, done()).object("structuredContent").unwrap().contains("sum"), "{meta}");
        }
    }

    #[test]
    fn an_error_is_a_failed_result_and_its_text_is_the_envelope() {
        let result = outcome(&wants(""), Err(Error::new(4001, "unknown tool: add")));
        let envelope = result.get("structuredContent").unwrap();
        assert_eq!(
            envelope.as_bytes(),
            br#"{"status":"failure","error":{"error_type":"ResourceNotFound","error_message":"unknown tool: add"}}"#
        );
        let content: Vec<Object> = result.get("content").unwrap().to().unwrap();
        assert_eq!(content[0].text("text").unwrap(), envelope.to_string());
    }
}
