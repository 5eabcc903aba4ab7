//! What the data of an error say about trying again, where they are those of a structured error or of the tool registry.

use super::{ErrorClass, StructuredError};
use crate::mgp::{Category, Recovery};
use crate::{Object, RawJson};

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
    use crate::Error;

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
