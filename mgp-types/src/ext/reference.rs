//! The dialect of the servers that are published as examples of the extensions.

use super::written;
use crate::json::write_string;
use crate::{Error, Flow, Gate, Method, Object, RawJson, Request, RequestKind, Response, ResultShape};

/// A gate in front of a server that speaks the extensions as the examples published with them do.
///
/// Such a server takes the fields of extensions beside `name` and `arguments` in place of `_meta`, lists `input_schema`
/// for `inputSchema`, and answers a call with the data themselves or with `{"result", "provenance", …}`. The gate turns
/// each into what MCP has for it: structured content, `isError` with the structured error in `_meta`, and `_meta`. A
/// result that has `content` already, and every other method, pass untouched.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReferenceGate {
    is_on: bool,
}

impl ReferenceGate {
    /// Returns a gate that does this if `is_on`, and else lets everything pass.
    pub const fn new(is_on: bool) -> Self {
        Self { is_on }
    }
}

/// A function that returns an answer in the form of MCP; `None` if it stays as it is.
type AnswerChange = fn(&Object) -> Option<Object>;

impl Gate for ReferenceGate {
    type Pass = Option<AnswerChange>;

    fn enter(&self, request: &mut Request) -> Flow<Option<AnswerChange>> {
        if !self.is_on || request.kind != RequestKind::Call {
            return Flow::Pass(None);
        }
        if request.method == Method::TOOLS_LIST {
            return Flow::Pass(Some(with_schemas));
        }
        if request.method != Method::TOOLS_CALL {
            return Flow::Pass(None);
        }
        if let Some(meta) = request.params.object("_meta") {
            for name in OUTSIDE_OF_META {
                if let Some(value) = meta.get(name) {
                    request.params.set(name, value);
                }
            }
        }
        let change: AnswerChange = |came| (!came.contains("content")).then(|| result_of(came));
        Flow::Pass(Some(change))
    }

    fn leave(&self, change: Option<AnswerChange>, outcome: &mut Result<Response, Error>) {
        let (Some(change), Ok(response)) = (change, outcome) else { return };
        let came = Object::from_raw(&response.to_raw());
        if let Some(changed) = came.ok().and_then(|came| change(&came)) {
            response.result = changed.to_raw().into();
            response.context.stamp = None;
            response.context.shape = ResultShape::Opaque;
        }
    }
}

/// The fields of extensions that these servers take beside the arguments.
const OUTSIDE_OF_META: [&str; 5] =
    ["intent", "idempotency_key", "transaction_id", "session_state", "user_confirmed"];

/// Gives the schemas of listed tools the names that MCP has for them.
fn with_schemas(list: &Object) -> Option<Object> {
    let mut tools: Vec<Object> = list.get("tools")?.to().ok()?;
    for tool in &mut tools {
        for (theirs, ours) in [("input_schema", "inputSchema"), ("output_schema", "outputSchema")] {
            if let Some(schema) = tool.remove(theirs)
                && !tool.contains(ours)
            {
                tool.set(ours, schema);
            }
        }
    }
    let mut list = list.clone();
    list.set("tools", written(&tools));
    Some(list)
}

/// Makes a result of MCP: data, an error, or a call that a person has to confirm first.
fn result_of(came: &Object) -> Object {
    let mut result = Object::new();
    let mut meta = Object::new();
    if let Some(error) = came.object("error") {
        let message = error.text("message").unwrap_or_default();
        result.set("content", text_block(&message));
        result.set("isError", RawJson::from_valid("true"));
        meta.set("error", error.to_raw());
    } else {
        let (data, is_wrapped) =
            came.get("result").map_or_else(|| (came.to_raw(), false), |data| (data, true));
        result.set("content", text_block(&data.to_string()));
        if data.is_object() {
            result.set("structuredContent", data);
        }
        if came.bytes("requires_confirmation") == Some(b"true") {
            result.set("isError", RawJson::from_valid("true"));
        }
        for (name, value) in came.iter().filter(|(name, _)| is_wrapped && name != "result") {
            meta.set(name.into_owned(), value);
        }
    }
    if let Some(state) = came.get("session_state") {
        meta.set("session_state", state);
    }
    if !meta.is_empty() {
        result.set("_meta", meta.to_raw());
    }
    result
}

/// Returns the content of a result that is one text.
pub(super) fn text_block(text: &str) -> RawJson {
    let mut out = br#"[{"type":"text","text":"#.to_vec();
    write_string(&mut out, text);
    out.extend_from_slice(b"}]");
    RawJson::from_valid(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(method: &'static str, params: &str, result: &str) -> (Request, Object) {
        let gate = ReferenceGate::new(true);
        let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
        let Flow::Pass(pass) = gate.enter(&mut request) else { panic!("the gate lets all pass") };
        let mut outcome = Ok(Response::new(RawJson::parse(result.to_owned()).unwrap()));
        gate.leave(pass, &mut outcome);
        (request, Object::from_raw(&outcome.unwrap().to_raw()).unwrap())
    }

    #[test]
    fn the_fields_of_a_call_stand_where_such_a_server_reads_them() {
        let params =
            r#"{"name":"a","arguments":{},"_meta":{"intent":"why","idempotency_key":"k","other":1}}"#;
        let (request, _) = answered("tools/call", params, "{}");
        assert_eq!(request.params.text("intent").as_deref(), Some("why"));
        assert_eq!(request.params.text("idempotency_key").as_deref(), Some("k"));
        assert!(!request.params.contains("other"));
    }

    #[test]
    fn data_in_a_wrapper_become_structured_content_and_the_rest_metadata() {
        let came = r#"{"result":{"n":1},"provenance":{"source":"db"},"session_state":"s"}"#;
        let (_, result) = answered("tools/call", r#"{"name":"a"}"#, came);
        assert_eq!(
            result.to_raw().to_string(),
            r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1},"_meta":{"provenance":{"source":"db"},"session_state":"s"}}"#
        );
    }

    #[test]
    fn errors_and_calls_that_were_not_confirmed_are_failed_results() {
        let came = r#"{"error":{"code":"INVALID_INPUT","message":"no title","category":"invalid_input"}}"#;
        let (_, result) = answered("tools/call", r#"{"name":"a"}"#, came);
        assert_eq!(result.bytes("isError"), Some(&b"true"[..]));
        let error = result.object("_meta").unwrap().object("error").unwrap();
        assert_eq!(error.text("code").as_deref(), Some("INVALID_INPUT"));
        let asks = r#"{"requires_confirmation":true,"confirmation_message":"Delete?","tool":"a"}"#;
        let (_, result) = answered("tools/call", r#"{"name":"a"}"#, asks);
        assert_eq!(result.bytes("isError"), Some(&b"true"[..]));
        assert!(result.object("structuredContent").unwrap().contains("confirmation_message"));
    }

    #[test]
    fn lists_get_the_names_of_mcp_and_results_of_mcp_stay() {
        let came = r#"{"tools":[{"name":"a","input_schema":{"type":"object"}}]}"#;
        let (_, list) = answered("tools/list", "{}", came);
        assert_eq!(list.to_raw().to_string(), r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
        let plain = r#"{"content":[],"error":{"message":"data"}}"#;
        assert_eq!(answered("tools/call", r#"{"name":"a"}"#, plain).1.to_raw().to_string(), plain);
        let other = r#"{"resources":[]}"#;
        assert_eq!(answered("resources/list", "{}", other).1.to_raw().to_string(), other);
    }
}
