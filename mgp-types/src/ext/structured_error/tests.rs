use super::*;
use crate::ext::envelope::ErrorType;
use crate::ext::projection::PROJECTIONS;
use crate::mgp::Recovery;

// covers: EXT-11-13, ENV-3.3-06
#[test]
fn every_code_has_a_word_a_class_and_a_kind() {
    let has_row = |code: i64| PROJECTIONS.lines().any(|row| row.starts_with(&format!("{code} ")));
    let named: Vec<i64> = (0..10_000).filter(|code| code::name(*code).is_some()).collect();
    assert!(named.len() > 20);
    for code in named.into_iter().chain([-32700, -32600, -32601, -32602, -32603]) {
        assert!(has_row(code), "{code} has no row");
    }
    for (code, word, class, kind) in [
        (-32602, "INVALID_PARAMETERS", "invalid_input", "ValidationError"),
        (-32601, "UNSUPPORTED_OPERATION", "permanent", "ResourceNotFound"),
        (1000, "PERMISSION_DENIED", "permanent", "PermissionError"),
        (1002, "AUTHENTICATION_REQUIRED", "auth_required", "AuthenticationError"),
        (2000, "SERVER_UNAVAILABLE", "transient", "ToolExecutionError"),
        (3000, "RATE_LIMIT_EXCEEDED", "rate_limited", "ApiLimitExceeded"),
        (3003, "OPERATION_TIMEOUT", "transient", "TimeoutError"),
        (4000, "INVALID_INPUT", "invalid_input", "ValidationError"),
        (4001, "RESOURCE_NOT_FOUND", "permanent", "ResourceNotFound"),
    ] {
        let found = projection(code);
        assert_eq!(
            (found.word, found.class.as_str(), found.envelope.as_str()),
            (word, class, kind),
            "{code}"
        );
    }
}

// covers: GGEN-5-01..10
#[test]
fn every_code_has_a_number_in_the_registry() {
    for (code, registry) in [
        (-32602, -32602),
        (-32601, -32601),
        (1000, -32005),
        (1002, -32004),
        (2000, -32603),
        (3000, 3000),
        (3003, -32003),
        (4000, -32001),
        (4001, -32002),
    ] {
        assert_eq!(projection(code).registry, registry, "{code}");
    }
}

// covers: EXT-11-02, ENV-3.3-04
#[test]
fn numbers_without_a_row_have_the_forms_of_their_range_and_only_words_of_the_specifications() {
    for code in (-33_000..-32_000).chain(990..6_000).chain([0, i64::MIN, i64::MAX]) {
        let projection = projection(code);
        assert!(ErrorClass::KNOWN.contains(&projection.class), "{code}");
        assert!(ErrorType::KNOWN.contains(&projection.envelope), "{code}");
        assert!(projection.word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{code}");
    }
    assert_eq!(projection(1050).envelope, ErrorType::PermissionError);
    assert_eq!(projection(7).class, ErrorClass::Permanent);
}

// covers: EXT-11-13
#[test]
fn every_word_of_both_lists_is_read() {
    for word in [
        "RATE_LIMIT_EXCEEDED", "PERMISSION_DENIED", "RESOURCE_NOT_FOUND", "INVALID_INPUT", "QUOTA_EXHAUSTED",
        "SERVER_UNAVAILABLE", "TRANSACTION_CONFLICT", "AUTHENTICATION_REQUIRED", "SCOPE_INSUFFICIENT",
        "OPERATION_TIMEOUT", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_CONFLICT", "INVALID_PARAMETERS",
        "TOKEN_EXPIRED", "CONFLICT", "SERVER_ERROR", "UPSTREAM_ERROR", "TIMEOUT", "UNSUPPORTED_OPERATION",
    ] {
        let json = format!(r#"{{"code":"{word}","message":"m","category":"permanent"}}"#);
        assert_eq!(StructuredError::read(&RawJson::parse(json).unwrap()).unwrap().code, word);
    }
}

// covers: EXT-11-01
#[test]
fn an_error_without_its_code_its_message_or_its_class_is_none() {
    for json in [
        r#"{"message":"m","category":"permanent"}"#,
        r#"{"code":"X","category":"permanent"}"#,
        r#"{"code":"X","message":"m"}"#,
        r#"{"code":-32603,"message":"m","category":"permanent"}"#,
        "[]",
    ] {
        assert_eq!(StructuredError::read(&RawJson::parse(json).unwrap()), None, "{json}");
    }
}

// covers: EXT-11-03
#[test]
fn an_error_that_passes_always_says_when() {
    for class in ErrorClass::KNOWN {
        let error = StructuredError::new("X", class.clone(), "m");
        assert_eq!(error.retry_after_seconds.is_some(), class.passes(), "{class}");
    }
    let waits = |milliseconds| {
        let recovery = Recovery::for_code(code::TIMEOUT).unwrap().with_retry_after_ms(milliseconds);
        StructuredError::of(&Error::new(code::TIMEOUT, "late").with_recovery(recovery)).retry_after_seconds
    };
    assert_eq!([waits(0), waits(1), waits(1000), waits(1001)], [Some(0), Some(1), Some(1), Some(2)]);
}

#[test]
fn what_waits_for_a_person_is_not_permanent() {
    for code in [code::CONFIRMATION_REQUIRED, code::PERMISSION_DENIED] {
        let recovery = Recovery::for_code(code).unwrap().with_retryable(true).with_retry_after_ms(5_000);
        let waits = StructuredError::of(&Error::new(code, "wait").with_recovery(recovery));
        assert_eq!((waits.category, waits.retry_after_seconds), (ErrorClass::Transient, Some(5)));
        let refused = StructuredError::of(&Error::new(code, "no"));
        assert_eq!((refused.category, refused.retry_after_seconds), (ErrorClass::Permanent, None));
    }
}

// covers: EXT-11-04
#[test]
fn a_person_hears_of_an_error_only_where_the_error_says_so() {
    let error = StructuredError::new("X", ErrorClass::Permanent, "m");
    assert!(!error.user_actionable && !error.to_object().contains("user_actionable"));
    let error = error.user_actionable();
    assert_eq!(StructuredError::read(&error.to_object().to_raw()).unwrap(), error);
}

#[test]
fn a_suggestion_that_weakens_security_is_refused() {
    let error = || StructuredError::new("X", ErrorClass::Permanent, "m");
    assert!(error().with_suggestion("Narrow the date range.").is_ok());
    for unsafe_one in [
        "Try a different API key.", "Turn off the firewall", "disable TLS verification",
        "run it with --insecure", "Use SUDO",
    ] {
        assert_eq!(error().with_suggestion(unsafe_one), Err(UnsafeAdvice::Suggestion), "{unsafe_one}");
    }
}

#[test]
fn suggestions_of_others_that_weaken_security_are_taken_away_and_nothing_else() {
    let without = |data: &str| {
        let safe = StructuredError::without_unsafe_suggestions(&RawJson::parse(data.to_owned()).unwrap());
        safe.map(|safe| safe.to_string())
    };
    assert_eq!(
        without(r#"{"code":"X","suggestion":"Try another API key.","suggestions":["use sudo","wait",7]}"#)
            .unwrap(),
        r#"{"code":"X","suggestions":["wait",7]}"#
    );
    for safe in
        [r#"{"suggestion":"wait","suggestions":["ask"]}"#, r#"{"suggestion":7}"#, r#""use sudo""#, "[]"]
    {
        assert_eq!(without(safe), None, "{safe}");
    }
}

// covers: EXT-11-06
#[test]
fn details_say_nothing_about_the_inside_of_the_server() {
    let details = Object::parse(
        r#"{"limit":10,"stack_trace":"at x","SQL":"SELECT 1","host":"see 10.0.3.7:5432","public":"8.8.8.8"}"#,
    )
    .unwrap();
    let kept = StructuredError::new("X", ErrorClass::Permanent, "m").with_details(&details).details.unwrap();
    assert_eq!(kept.to_raw().as_bytes(), br#"{"limit":10,"public":"8.8.8.8"}"#);
}

// covers: EXT-11-07
#[test]
fn an_explanation_is_at_an_address_of_https_and_shown_if_it_belongs_to_the_server() {
    let error = || StructuredError::new("X", ErrorClass::Permanent, "m");
    for address in
        ["http://a.example/x", "ftp://a", "https://", "https://user@a.example", "javascript:alert(1)"]
    {
        assert_eq!(error().with_documentation_url(address), Err(UnsafeAdvice::Address), "{address}");
    }
    let error = error().with_documentation_url("https://docs.a.example:443/e/1").unwrap();
    assert_eq!(error.documentation_of("https://a.example"), Some("https://docs.a.example:443/e/1"));
    assert_eq!(error.documentation_of("https://docs.a.example/home"), Some("https://docs.a.example:443/e/1"));
    for other in ["https://b.example", "https://xa.example", "http://a.example", ""] {
        assert_eq!(error.documentation_of(other), None, "{other}");
    }
}

// covers: EXT-04-13
#[test]
fn a_missing_scope_is_an_error_of_its_own() {
    let mut details = Object::new();
    details.set("missing_scopes", RawJson::parse(r#"["delete:tickets"]"#).unwrap());
    let recovery = Recovery::for_code(code::PERMISSION_DENIED).unwrap().with_details(&details);
    let error = Error::new(code::PERMISSION_DENIED, "missing scopes: delete:tickets").with_recovery(recovery);
    let structured = StructuredError::of(&error);
    assert_eq!((&*structured.code, structured.category), ("SCOPE_INSUFFICIENT", ErrorClass::AuthRequired));
    assert!(structured.details.unwrap().contains("missing_scopes"));
    let other = StructuredError::of(&Error::new(code::PERMISSION_DENIED, "no"));
    assert_eq!((&*other.code, other.category), ("PERMISSION_DENIED", ErrorClass::Permanent));
}

// covers: EXT-11-12
#[test]
fn members_are_added_to_data_that_are_there() {
    let error = StructuredError::new("X", ErrorClass::Permanent, "m");
    let add = |data: &str| error.add_to(Some(&RawJson::parse(data.to_owned()).unwrap())).to_string();
    assert_eq!(
        add(r#"{"code":"THEIRS","_mgp":{"retryable":false}}"#),
        r#"{"code":"THEIRS","_mgp":{"retryable":false},"message":"m","category":"permanent"}"#
    );
    assert_eq!(add("[1]"), "[1]");
    assert_eq!(error.add_to(None).to_string(), r#"{"code":"X","message":"m","category":"permanent"}"#);
}

#[test]
fn a_structured_error_that_is_there_gets_nothing_of_another_class() {
    let error = StructuredError::new("X", ErrorClass::Transient, "m").with_retry_after_seconds(7);
    let add = |class: &str, more: &str| {
        let data = format!(r#"{{"code":"THEIRS","message":"t","category":"{class}"{more}}}"#);
        (error.add_to(Some(&RawJson::parse(data.clone()).unwrap())).to_string(), data)
    };
    for (class, more) in
        [("permanent", ""), ("auth_required", ""), ("transient", r#","retry_after_seconds":0"#)]
    {
        let (added, data) = add(class, more);
        assert_eq!(added, data);
    }
    let (added, _) = add("rate_limited", "");
    assert!(added.ends_with(r#","retry_after_seconds":7}"#), "{added}");
}

#[test]
fn a_quota_that_is_renewed_soon_is_worth_waiting_for() {
    let of =
        |recovery| StructuredError::of(&Error::new(code::QUOTA_EXCEEDED, "used up").with_recovery(recovery));
    let known = Recovery::for_code(code::QUOTA_EXCEEDED).unwrap();
    assert_eq!(of(known.clone()).category, ErrorClass::Permanent);
    let renewed = of(known.with_retry_after_ms(60_000));
    assert_eq!((renewed.category, renewed.retry_after_seconds), (ErrorClass::RateLimited, Some(60)));
}
