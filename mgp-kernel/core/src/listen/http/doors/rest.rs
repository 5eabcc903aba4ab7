//! Tools over plain HTTP: the body is the arguments, the answer is the result; and tools in envelopes: each call has the tool's
//! name and arguments, and each result a status.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use mgp_discovery::catalog::Catalog;
use mgp_transport::Accept;
use mgp_transport::http::HttpBody;
use mgp_types::ext::{EnvelopeReading, ErrorClass, ProjectedNames, StructuredError, ToolCall, ToolResult};
use mgp_types::json::ObjectWriter;
use mgp_types::mgp::{TraceId, method};
use mgp_types::{Error, Object, RawJson, code};

use super::{InnerCalls, json, text, without_meta};

/// Calls a tool.
pub(super) async fn call<A: Accept>(
    calls: &InnerCalls<A>,
    name: &str,
    body: Bytes,
) -> Result<Response<HttpBody>, Error> {
    let arguments = Object::parse(body).map_err(|error| {
        let why = format!("the body must be one JSON object, the arguments of the tool: {error}");
        Error::new(code::INVALID_TOOL_ARGS, why)
    })?;
    let result = outcome(calls, name, &arguments).await?;
    Ok(json(StatusCode::OK, &output(&result)?.to_raw()))
}

/// Answers whether the caller has the scopes for a tool.
pub(super) async fn check_permission<A: Accept>(
    calls: &InnerCalls<A>,
    body: Bytes,
) -> Result<Response<HttpBody>, Error> {
    let wanted = Object::parse(body).map_err(|error| {
        Error::invalid_params(format!("the body must be one JSON object, with a `tool`: {error}"))
    })?;
    let checked = calls.call(method::PERMISSION_CHECK, wanted).await?;
    Ok(json(StatusCode::OK, &without_meta(&checked)))
}

/// Calls a tool, once its arguments were found to fit. Returns the result of the tool.
///
/// # Errors
/// Fails with all violations if the arguments do not fit, and with the error of the call.
pub(super) async fn outcome<A: Accept>(
    calls: &InnerCalls<A>,
    name: &str,
    arguments: &Object,
) -> Result<Object, Error> {
    if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::new(code::TOOL_NOT_FOUND, "there is no such tool"));
    }
    let params = Object::from([("name", RawJson::from_text(name)), ("arguments", arguments.to_raw())]);
    let checked = calls.call(method::REGISTRY_VALIDATE, params.clone()).await?;
    let checked = Object::from_raw(&checked).unwrap_or_default();
    if checked.bytes("valid") == Some(b"false") {
        let violations: Option<Vec<Object>> = checked.get("errors").and_then(|errors| errors.to().ok());
        return Err(invalid(&violations.unwrap_or_default()));
    }
    let result = calls.call("tools/call", params).await?;
    Ok(Object::from_raw(&result).unwrap_or_default())
}

/// The most calls in one body.
const MAX_CALLS: usize = 50;

/// Makes the call of a body, or each call of a list, one after the other. What is JSON is answered with 200, because a
/// result says itself whether the call failed.
pub(super) async fn call_in_envelopes<A: Accept>(
    calls: &InnerCalls<A>,
    catalog: &Catalog,
    body: Bytes,
) -> Response<HttpBody> {
    let Ok(wanted) = RawJson::parse(body) else {
        return text(StatusCode::BAD_REQUEST, "the body must be JSON: a call, or a list of calls");
    };
    let snapshot = catalog.snapshot();
    let tools = snapshot.tools().iter().map(|tool| {
        let (server, name) = (tool.resolved.server.as_str(), tool.resolved.name.as_str());
        (server, name, tool.shown.clone())
    });
    let names = ProjectedNames::dotted(tools);
    let one = async |call: &RawJson| call_in_envelope(calls, &names, call).await.to_raw();
    let Ok(list) = wanted.to::<Vec<RawJson>>() else {
        return json(StatusCode::OK, &one(&wanted).await);
    };
    if list.len() > MAX_CALLS {
        let why = format!("a list has at most {MAX_CALLS} calls");
        return text(StatusCode::BAD_REQUEST, why);
    }
    let mut results = Vec::with_capacity(list.len());
    for call in &list {
        results.push(one(call).await);
    }
    json(StatusCode::OK, &RawJson::from_value(&results).unwrap_or(RawJson::null()))
}

async fn call_in_envelope<A: Accept>(
    calls: &InnerCalls<A>,
    names: &ProjectedNames<Arc<str>>,
    call: &RawJson,
) -> ToolResult {
    let call = match ToolCall::from_json(call.to_bytes(), EnvelopeReading::Strict) {
        Ok(call) => call,
        Err(fault) => return ToolResult::failure(fault.to_error_detail()),
    };
    let name = names.tool(call.tool_name.as_str()).map_or(call.tool_name.as_str(), |name| name);
    match outcome(calls, name, &call.arguments).await {
        Ok(result) => ToolResult::of_result(&result),
        Err(error) => ToolResult::of_call(&Err(error)),
    }
}

/// Returns what a tool gave back: its structured result, or the blocks of its content.
fn output(result: &Object) -> Result<Object, Error> {
    if result.text("resultType").is_some_and(|kind| kind != "complete") {
        let why =
            "the call is not done: it asks a person something, or runs as a task, which needs MCP itself";
        return Err(Error::new(code::TOOL_DISABLED, why));
    }
    if result.bytes("isError") == Some(b"true") {
        return Err(failure_of(result));
    }
    Ok(result.object("structuredContent").unwrap_or_else(|| {
        let content = result.get("content").unwrap_or_else(|| RawJson::from_written(b"[]".to_vec()));
        Object::from([("content", content)])
    }))
}

/// Returns the error of a failed result: that in its metadata, or its text.
fn failure_of(result: &Object) -> Error {
    let structured = result.object("_meta").and_then(|meta| meta.get("error"));
    let blocks: Vec<Object> = result.get("content").and_then(|blocks| blocks.to().ok()).unwrap_or_default();
    let texts: Vec<String> =
        blocks.iter().filter_map(|block| Some(block.text("text")?.into_owned())).collect();
    let text = if texts.is_empty() { "the tool failed".to_owned() } else { texts.join("\n") };
    let data = structured.filter(|data| StructuredError::read(data).is_some()).unwrap_or_else(|| {
        StructuredError::new(TOOL_FAILED, ErrorClass::Permanent, text.as_str()).to_object().to_raw()
    });
    Error::new(code::UPSTREAM_ERROR, text).with_data(data)
}

/// The word for the error of a tool that says no more than that it failed.
const TOOL_FAILED: &str = "TOOL_FAILED";

/// Returns the error of arguments that do not fit: that of the first violation, and a list of all.
fn invalid(violations: &[Object]) -> Error {
    let mut data = violations.first().cloned().unwrap_or_default();
    let reason = data.text("reason").unwrap_or_default().into_owned();
    if let Ok(all) = RawJson::from_value(violations) {
        data.set("errors", all);
    }
    Error::new(code::INVALID_TOOL_ARGS, if reason.is_empty() { "Validation failed".into() } else { reason })
        .with_data(data.to_raw())
}

/// Returns the answer for an error: its status, and its members in one object.
pub(super) fn failed(error: &Error, trace: TraceId) -> Response<HttpBody> {
    let received = error.data().and_then(StructuredError::read);
    let structured = received.unwrap_or_else(|| StructuredError::of(error));
    let status = status(error, &structured);
    let data = structured.add_to(error.data());
    let data = Object::from_raw(&data).unwrap_or_default();
    let mut members = ObjectWriter::new();
    for (name, value) in data.iter().filter(|(name, _)| name != "_mgp") {
        members.json(&name, &value);
    }
    for (name, value) in
        [("error_type", &*structured.code), ("reason", error.message()), ("trace_id", &*trace.to_string())]
    {
        if !data.contains(name) {
            members.text(name, value);
        }
    }
    if !data.contains("suggestions") {
        members.value("suggestions", structured.suggestion.as_slice());
    }
    let mut body = ObjectWriter::new();
    body.json("error", &members.finish().to_raw());
    let mut answer = json(status, &body.finish().to_raw());
    let headers = answer.headers_mut();
    if let Some(seconds) = structured.retry_after_seconds {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if structured.code == "SCOPE_INSUFFICIENT"
        && let Ok(challenge) = HeaderValue::try_from(insufficient_scope(structured.details.as_ref()))
    {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}

/// Returns the challenge for missing scopes (RFC 6750). A scope that cannot be written in it is left out.
fn insufficient_scope(details: Option<&Object>) -> String {
    let missing = details.and_then(|details| details.get("missing_scopes")?.to::<Vec<String>>().ok());
    let mut missing = missing.unwrap_or_default();
    missing.retain(|scope| scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte)));
    format!("Bearer error=\"insufficient_scope\", scope=\"{}\"", missing.join(" "))
}

/// Returns the status that stands for a structured error, by the table of statuses.
fn status(error: &Error, structured: &StructuredError) -> StatusCode {
    let word = &*structured.code;
    // The arguments fit the tool, and the kernel does not let them pass.
    if word == "INVALID_INPUT"
        && matches!(error.code(), code::VALIDATION_BLOCKED | code::CODE_SAFETY_VIOLATION)
    {
        return StatusCode::FORBIDDEN;
    }
    let mut rows = include_str!("statuses.txt").lines().filter_map(|row| row.split_once(' '));
    let row = rows.find(|(known, _)| *known == word);
    row.and_then(|(_, status)| status.parse().ok()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;

    fn body(answer: Response<HttpBody>) -> serde_json::Value {
        let body = answer.into_body().collect().now_or_never().expect("it is there").unwrap();
        serde_json::from_slice(&body.to_bytes()).unwrap()
    }

    // covers: EXT-04-14
    #[test]
    fn the_challenge_names_missing_scopes_that_can_be_written_in_it() {
        let details = Object::parse(r#"{"missing_scopes":["a:b","c\"d","日本","e"]}"#).unwrap();
        assert_eq!(insufficient_scope(Some(&details)), r#"Bearer error="insufficient_scope", scope="a:b e""#);
    }

    #[test]
    fn every_error_has_a_status_and_the_members_of_the_document() {
        for (number, status) in [
            (4000, 400),
            (-32602, 400),
            (1002, 401),
            (1001, 403),
            (1010, 403),
            (1020, 403),
            (4020, 409),
            (4001, 404),
            (4002, 404),
            (3000, 429),
            (3002, 429),
            (5000, 500),
            (-32603, 500),
            (2000, 503),
            (5002, 503),
            (3003, 504),
            (5001, 504),
        ] {
            let answer = failed(&Error::new(number, "why"), TraceId::from_random([7; 16]));
            assert_eq!(answer.status().as_u16(), status, "{number}");
            let error = &body(answer)["error"];
            for member in ["code", "message", "category", "error_type", "reason", "trace_id"] {
                assert!(error[member].is_string(), "{member} of {number}");
            }
            assert!(error["suggestions"].is_array() && error.get("_mgp").is_none());
        }
    }

    #[test]
    fn a_failed_result_says_what_it_said() {
        let result = Object::parse(r#"{"content":[{"type":"text","text":"boom"}],"isError":true}"#).unwrap();
        let answer = failed(&failure_of(&result), TraceId::from_random([7; 16]));
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let error = &body(answer)["error"];
        assert_eq!((&error["message"], &error["code"]), (&"boom".into(), &"TOOL_FAILED".into()));
    }
}
