//! The rules for calls and results in examples.

use mgp_types::ext::ResultStatus;
use serde_json::{Map, Value};

/// The kind of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Envelope {
    /// An object with `tool_name` and `arguments`.
    Call,
    /// An object with `status`, and with `data` or `error`.
    Result,
    Other,
}

/// A rule that an example does not follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnvelopeFault {
    pub(super) pointer: &'static str,
    pub(super) what: String,
    pub(super) help: &'static str,
}

/// Returns what an example of the section on usage is.
pub(super) fn of_example(example: &Value) -> Envelope {
    if example.get("tool_name").is_some() {
        Envelope::Call
    } else if example.get("status").is_some() {
        Envelope::Result
    } else {
        Envelope::Other
    }
}

/// Returns what an example of output is. Data may have a member `status` too, so that a result is only what has nothing
/// that results do not have.
pub(super) fn of_output(example: &Value) -> Envelope {
    let is_result = example.as_object().is_some_and(|members| {
        let has_body = members.contains_key("data") || members.contains_key("error");
        has_body
            && members.contains_key("status")
            && members.keys().all(|name| RESULT.contains(&name.as_str()))
    });
    if is_result { Envelope::Result } else { Envelope::Other }
}

pub(super) fn is_failure(result: &Value) -> bool {
    status(result).is_some_and(|status| status.contains("failure"))
}

pub(super) fn is_success(result: &Value) -> bool {
    status(result) == Some("success")
}

/// Returns what is wrong with a call of the tool `name`.
pub(super) fn call_faults(call: &Value, name: &str) -> Vec<EnvelopeFault> {
    let mut faults = Vec::new();
    if call["tool_name"] != name {
        faults.push(fault(
            "/tool_name",
            format!("the call is not one of `{name}`"),
            "write the invocation name of the tool",
        ));
    }
    if !call["arguments"].is_object() {
        faults.push(fault("/arguments", "`arguments` is not an object", "write {} if there are none"));
    }
    if let Some(unknown) = unknown(call, &["tool_name", "arguments"]) {
        faults.push(fault(
            "",
            format!("a call has no member `{unknown}`"),
            "put the parameters into `arguments`",
        ));
    }
    faults
}

/// Returns what is wrong with a result.
pub(super) fn result_faults(result: &Value) -> Vec<EnvelopeFault> {
    let mut faults = Vec::new();
    if !status(result).is_some_and(|status| ResultStatus::ALL.iter().any(|known| known.as_str() == status)) {
        faults.push(fault(
            "/status",
            "the status is unknown",
            "write success, failure, no_change_needed or partial_success",
        ));
    }
    let (data, error) = (&result["data"], &result["error"]);
    if !data.is_object() && !data.is_null() {
        faults.push(fault(
            "/data",
            "`data` is neither an object nor null",
            "put the value into a member of an object",
        ));
    }
    if !result["explanation"].is_string() && !result["explanation"].is_null() {
        faults.push(fault("/explanation", "`explanation` is not a text", "write a text, or leave it out"));
    }
    if is_failure(result) && error.is_null() {
        faults.push(fault("/error", "a failure has no `error`", "add `error_type` and `error_message`"));
    }
    if is_failure(result) && !data.is_null() {
        faults.push(fault("/data", "a failure has `data`", "leave it out, or write null"));
    }
    match error {
        Value::Null => {}
        Value::Object(error) => faults.extend(error_faults(error)),
        _ => faults.push(fault(
            "/error",
            "`error` is not an object",
            "write an object with `error_type` and `error_message`",
        )),
    }
    faults
}

fn error_faults(error: &Map<String, Value>) -> Vec<EnvelopeFault> {
    let mut faults = Vec::new();
    let is_text = |name: &str| error.get(name).is_some_and(Value::is_string);
    if !is_text("error_type") {
        faults.push(fault("/error/error_type", "`error_type` is not a text", "write a type of section 5"));
    }
    if !is_text("error_message") {
        faults.push(fault("/error/error_message", "`error_message` is not a text", "say what went wrong"));
    }
    if error
        .get("error_details")
        .is_some_and(|details| !(details.is_object() || details.is_string() || details.is_null()))
    {
        faults.push(fault(
            "/error/error_details",
            "`error_details` is neither an object nor a text",
            "write an object",
        ));
    }
    faults
}

fn fault(pointer: &'static str, what: impl Into<String>, help: &'static str) -> EnvelopeFault {
    EnvelopeFault { pointer, what: what.into(), help }
}

fn status(result: &Value) -> Option<&str> {
    result["status"].as_str()
}

fn unknown<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    value.as_object()?.keys().map(String::as_str).find(|name| !known.contains(name))
}

const RESULT: [&str; 4] = ["status", "data", "error", "explanation"];
