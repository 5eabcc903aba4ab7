//! The four comparisons of what was observed with what is expected.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How what was observed is compared with what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the schema of suites")]
pub enum Assertion {
    /// Both are the same JSON.
    ExactMatch,
    /// The observation has to match the expected JSON Schema.
    SchemaMatch,
    /// The member `code` is the code of the JSON-RPC error, and `http` the status over HTTP. Each is a number or a list of
    /// numbers to choose from; `code` may also be `error` for any error, or `ok` for a result.
    StatusCode,
    /// The observation has to contain each expected member of an object and each expected item of a list.
    Contains,
}

impl Assertion {
    /// Compares, and returns what differs.
    pub(crate) fn check(self, observed: &Value, expected: &Value) -> Result<(), Fault> {
        let differs = || Fault::Differs(format!("expected {}, got {}", short(expected), short(observed)));
        match self {
            Self::ExactMatch => (observed == expected).then_some(()).ok_or_else(differs),
            Self::Contains => has(observed, expected).then_some(()).ok_or_else(differs),
            Self::StatusCode => status(observed, expected),
            Self::SchemaMatch => {
                let schema = jsonschema::validator_for(expected)
                    .map_err(|error| Fault::BadTest(format!("the expected schema is invalid: {error}")))?;
                schema.validate(observed).map_err(|error| {
                    let path = error.instance_path().to_string();
                    let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
                    Fault::Differs(format!("{}{place}, in {}", cut(&error.to_string(), 160), short(observed)))
                })
            }
        }
    }
}

/// Why an assertion does not hold.
pub(crate) enum Fault {
    /// The subject breaks the rule.
    Differs(String),
    /// The test case itself is wrong.
    BadTest(String),
}

fn has(observed: &Value, expected: &Value) -> bool {
    match (observed, expected) {
        (Value::Object(observed), Value::Object(expected)) => expected
            .iter()
            .all(|(name, value)| observed.get(name).is_some_and(|observed| has(observed, value))),
        (Value::Array(observed), Value::Array(expected)) => {
            expected.iter().all(|value| observed.iter().any(|observed| has(observed, value)))
        }
        _ => observed == expected,
    }
}

/// Judges an observation as a whole: its answer, and its status over HTTP.
fn status(observed: &Value, expected: &Value) -> Result<(), Fault> {
    let answer = &observed["answer"];
    let is_code = match &expected["code"] {
        Value::Null => true,
        Value::String(word) if word == "ok" => answer.get("result").is_some(),
        Value::String(_) => answer.get("error").is_some(),
        codes => is_one_of(&answer["error"]["code"], codes),
    };
    let is_status = observed["status"].is_null()
        || expected["http"].is_null()
        || is_one_of(&observed["status"], &expected["http"]);
    if is_code && is_status {
        return Ok(());
    }
    let status = observed["status"].as_u64().map(|status| format!("HTTP {status} and ")).unwrap_or_default();
    Err(Fault::Differs(format!("expected {expected}, got {status}{}", short(answer))))
}

fn is_one_of(observed: &Value, expected: &Value) -> bool {
    expected.as_array().map_or(observed == expected, |choices| choices.contains(observed))
}

/// Returns JSON that is short enough for a message.
pub(crate) fn short(value: &Value) -> String {
    cut(&value.to_string(), 300)
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(assertion: Assertion, observed: &Value, expected: &Value) -> bool {
        assertion.check(observed, expected).is_ok()
    }

    // covers: EXT-12-08
    #[test]
    fn each_assertion_accepts_what_is_right_and_rejects_what_is_wrong() {
        let refused = json!({ "answer": { "error": { "code": -32601 } }, "status": 404 });
        for (assertion, expected, right, wrong) in [
            (Assertion::ExactMatch, json!({ "a": [1] }), json!({ "a": [1] }), json!({ "a": [1], "b": 2 })),
            (Assertion::Contains, json!({ "a": [1] }), json!({ "a": [2, 1], "b": 2 }), json!({ "a": [2] })),
            (Assertion::SchemaMatch, json!({ "required": ["a"] }), json!({ "a": 1 }), json!({})),
            (Assertion::StatusCode, json!({ "code": -32601 }), refused.clone(), json!({ "answer": {} })),
            (Assertion::StatusCode, json!({ "http": [404, 405] }), refused.clone(), json!({ "status": 200 })),
            (Assertion::StatusCode, json!({ "code": "ok" }), json!({ "answer": { "result": {} } }), refused),
        ] {
            assert!(holds(assertion, &right, &expected), "{assertion:?} {expected}");
            assert!(!holds(assertion, &wrong, &expected), "{assertion:?} {expected}");
        }
    }

    #[test]
    fn a_schema_that_is_none_is_a_fault_of_the_test() {
        let fault = Assertion::SchemaMatch.check(&json!({}), &json!({ "type": 1 }));
        assert!(matches!(fault, Err(Fault::BadTest(_))));
    }
}
