//! The data of an error in the profile of the tool registry, and what the data of an error say about trying again.

use super::projection::projection;
use super::{ErrorClass, StructuredError};
use crate::json::ObjectWriter;
use crate::mgp::{Category, Recovery, TraceId};
use crate::{Error, Object, RawJson};

/// The most suggestions that are read from the data of an error.
const MAX_SUGGESTIONS: usize = 16;

/// Returns the data of `error` with the members that the tool registry's clients read: `error_type`, `reason`,
/// `trace_id`, `suggestions`, `documentation_url` if the error has one, and `retry_after_seconds` if it says when to try
/// again. Members that are there already stay.
///
/// ```
/// use mgp_types::ext::registry_error_data;
/// use mgp_types::mgp::TraceId;
/// use mgp_types::{Error, code};
///
/// let error = Error::new(code::TOOL_NOT_FOUND, "there is no tool `x`");
/// let data = registry_error_data(&error, TraceId::from_random([7; 16]));
/// assert!(data.to_string().starts_with(r#"{"error_type":"ToolNotFound","reason":"there is no tool `x`","trace_id":"#));
/// ```
pub fn registry_error_data(error: &Error, trace: TraceId) -> RawJson {
    let data = error.data().and_then(|data| Object::from_raw(data).ok()).unwrap_or_default();
    let structured = error.data().and_then(StructuredError::read);
    let mut out = ObjectWriter::new();
    out.text("error_type", projection(error.code()).registry_kind);
    out.text("reason", error.message());
    out.text("trace_id", &trace.to_string());
    let mut suggestions: Vec<Box<str>> =
        data.get("suggestions").and_then(|list| list.to().ok()).unwrap_or_default();
    if suggestions.is_empty() {
        suggestions.extend(structured.and_then(|structured| structured.suggestion));
    }
    suggestions.truncate(MAX_SUGGESTIONS);
    out.value("suggestions", &suggestions);
    if let Some(wait) =
        error.recovery().filter(Recovery::may_retry).and_then(|recovery| recovery.retry_after_ms)
    {
        out.value("retry_after_seconds", &wait.div_ceil(1000));
    }
    data.followed_by(&out.finish())
}

/// Returns the advice in the data of an error: by the class of a structured error, else by the kind that the tool registry
/// names. The kind decides whatever the number of the error is, because programs differ in their numbers.
pub(crate) fn recovery_of(data: &RawJson) -> Option<Recovery> {
    if let Some(structured) = StructuredError::read(data) {
        let mut recovery = Recovery::default().with_retryable(structured.category.passes());
        recovery.category = category(&structured.category);
        return Some(match structured.retry_after_seconds {
            Some(seconds) if structured.category.passes() => {
                recovery.with_retry_after_ms(seconds.saturating_mul(1000))
            }
            _ => recovery,
        });
    }
    let kind = Object::from_raw(data).ok()?.text("error_type")?.into_owned();
    let (category, retryable) = match kind.as_str() {
        "ValidationError" | "FieldValidation" | "InvalidParams" | "InvalidRequest" | "ParseError" => {
            (Category::Validation, false)
        }
        "ToolNotFound" | "MethodNotFound" => (Category::Validation, false),
        "AuthenticationError" | "AuthorizationError" => (Category::Security, false),
        "ToolExecution" | "ToolTimeout" | "InternalError" => (Category::External, true),
        "RateLimited" => (Category::Resource, true),
        _ => return None,
    };
    Some(Recovery::new(category, retryable))
}

const fn category(class: &ErrorClass) -> Option<Category> {
    match class {
        ErrorClass::Transient => Some(Category::External),
        ErrorClass::RateLimited => Some(Category::Resource),
        ErrorClass::AuthRequired => Some(Category::Security),
        ErrorClass::InvalidInput => Some(Category::Validation),
        ErrorClass::Permanent | ErrorClass::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(error: &Error) -> Object {
        Object::from_raw(&registry_error_data(error, TraceId::from_random([1; 16]))).unwrap()
    }

    // covers: GGEN-5-11, GGEN-5-13, GGEN-5-15
    #[test]
    fn every_error_has_a_kind_a_reason_and_a_list_of_suggestions() {
        for (code, kind) in [
            (-32700, "ParseError"),
            (-32600, "InvalidRequest"),
            (-32601, "MethodNotFound"),
            (-32602, "InvalidParams"),
            (-32603, "InternalError"),
            (4000, "ValidationError"),
            (4001, "ToolNotFound"),
            (5000, "ToolExecution"),
            (3003, "ToolTimeout"),
            (1002, "AuthenticationError"),
            (1001, "AuthorizationError"),
            (3000, "RateLimited"),
        ] {
            let data = data(&Error::new(code, "why"));
            assert_eq!((&*data.text("error_type").unwrap(), &*data.text("reason").unwrap()), (kind, "why"));
            assert_eq!(data.get("suggestions").unwrap().as_bytes(), b"[]");
            assert!(!data.contains("field") && !data.contains("documentation_url"));
        }
    }

    #[test]
    fn an_error_that_passes_says_when_to_try_again() {
        let limited = Recovery::for_code(3000).unwrap().with_retry_after_ms(1200);
        let data = data(&Error::new(3000, "why").with_recovery(limited));
        assert_eq!(data.bytes("retry_after_seconds"), Some(&b"2"[..]));
    }

    // covers: GGEN-5-12, GGEN-5-16
    #[test]
    fn what_the_tool_said_itself_stays() {
        let details = concat!(
            r#"{"error_type":"FieldValidation","field":"ticker_symbol","reason":"Pattern mismatch","#,
            r#""suggestions":["Use uppercase letters only"],"documentation_url":"https://docs.example.com/ticker"}"#
        );
        let data = data(&Error::new(4000, "Validation failed").with_data(RawJson::parse(details).unwrap()));
        assert_eq!(data.text("error_type").unwrap(), "FieldValidation");
        assert_eq!(data.text("field").unwrap(), "ticker_symbol");
        assert_eq!(data.text("reason").unwrap(), "Pattern mismatch");
        assert_eq!(data.get("suggestions").unwrap().as_bytes(), br#"["Use uppercase letters only"]"#);
        assert_eq!(data.text("documentation_url").unwrap(), "https://docs.example.com/ticker");
        assert!(data.contains("trace_id"));
    }

    fn advice(code: i64, data: &str) -> Option<Recovery> {
        Error::new(code, "m").with_data(RawJson::parse(data.to_owned()).unwrap()).recovery()
    }

    #[test]
    fn the_class_of_a_structured_error_says_whether_and_when_to_try_again() {
        let of = |class: &str, wait: &str| {
            let data = format!(r#"{{"code":"X","message":"m","category":"{class}"{wait}}}"#);
            let recovery = advice(-32603, &data).unwrap();
            (recovery.may_retry(), recovery.retry_after_ms)
        };
        assert_eq!(of("transient", r#","retry_after_seconds":2"#), (true, Some(2000)));
        assert_eq!(of("rate_limited", ""), (true, None));
        for class in ["permanent", "invalid_input", "auth_required", "of_later"] {
            assert_eq!(of(class, r#","retry_after_seconds":2"#), (false, None), "{class}");
        }
    }

    #[test]
    fn the_kind_of_the_registry_decides_before_the_number_and_mgp_before_both() {
        assert!(!advice(-32603, r#"{"error_type":"ValidationError"}"#).unwrap().may_retry());
        assert!(advice(-32003, r#"{"error_type":"ToolExecution"}"#).unwrap().may_retry());
        assert!(advice(-32603, r#"{"error_type":"Surprise"}"#).is_none());
        let both = r#"{"_mgp":{"retryable":false},"code":"X","message":"m","category":"transient"}"#;
        assert!(!advice(3000, both).unwrap().may_retry());
    }
}
