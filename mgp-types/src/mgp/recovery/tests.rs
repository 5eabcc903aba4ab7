//! Tests of recovery advice.

use super::*;

fn read(json: &str) -> Recovery {
    Recovery::from_object(&Object::parse(json.to_owned()).unwrap())
}

fn raw(json: &str) -> RawJson {
    RawJson::parse(json.to_owned()).unwrap()
}

fn write(recovery: &Recovery) -> String {
    recovery.to_raw().to_string()
}

const EXAMPLE: &str = concat!(
    r#"{"category":"resource","retryable":true,"retry_after_ms":5000,"retry_strategy":"exponential_backoff","#,
    r#""max_retries":3,"fallback_tool":"search_local","details":{"limit":10,"window_secs":60,"current":12}}"#
);

fn example() -> Recovery {
    Recovery::new(Category::Resource, true)
        .with_retry_after_ms(5000)
        .with_retry_strategy(RetryStrategy::ExponentialBackoff)
        .with_max_retries(3)
        .with_fallback_tool("search_local")
        .with_details(&Object::parse(r#"{"limit":10,"window_secs":60,"current":12}"#).unwrap())
}

// covers: MGP-14.5-01, MGP-14.5-07..09, MGP-14.5-13..15
#[test]
fn every_field_is_read_and_written_under_its_name() {
    assert_eq!(read(EXAMPLE), example());
    assert_eq!(write(&example()), EXAMPLE);
}

// covers: MGP-14.4-01
#[test]
fn the_recovery_is_the_member_mgp_of_the_errors_data() {
    let data = example().into_error_data(Some(&raw(r#"{"hint":1,"_mgp":{"category":"security"},"z":2}"#)));
    assert_eq!(data.as_bytes(), format!(r#"{{"hint":1,"_mgp":{EXAMPLE},"z":2}}"#).as_bytes());
    assert_eq!(Recovery::from_error_data(&data), Some(example()));
    for none in [None, Some(&RawJson::null())] {
        assert_eq!(example().into_error_data(none).as_bytes(), format!(r#"{{"_mgp":{EXAMPLE}}}"#).as_bytes());
    }
}

#[test]
fn data_that_is_no_object_stays_as_it_is() {
    for data in [r#""text""#, "[1]", "5"] {
        assert_eq!(example().into_error_data(Some(&raw(data))), raw(data));
    }
}

#[test]
fn data_without_an_object_holds_no_recovery() {
    for data in ["{}", r#"{"_mgp":5}"#, r#"{"_mgp":null}"#, r#"{"_mgp":[]}"#, r#"["_mgp"]"#, "null"] {
        assert_eq!(Recovery::from_error_data(&raw(data)), None, "{data}");
    }
    assert_eq!(Recovery::from_error_data(&raw(r#"{"_mgp":5}"#)), None);
}

// covers: MGP-14.5-02..06
#[test]
fn the_five_categories_have_their_words() {
    for (category, word) in [
        (Category::Security, "security"),
        (Category::Lifecycle, "lifecycle"),
        (Category::Resource, "resource"),
        (Category::Validation, "validation"),
        (Category::External, "external"),
    ] {
        assert_eq!(read(&format!(r#"{{"category":"{word}"}}"#)).category, Some(category.clone()));
        assert_eq!(
            write(&Recovery::new(category, false)),
            format!(r#"{{"category":"{word}","retryable":false}}"#)
        );
    }
}

// covers: MGP-14.5-10..12
#[test]
fn the_three_strategies_have_their_words() {
    for (strategy, word) in [
        (RetryStrategy::Immediate, "immediate"),
        (RetryStrategy::FixedDelay, "fixed_delay"),
        (RetryStrategy::ExponentialBackoff, "exponential_backoff"),
    ] {
        let json = format!(r#"{{"retry_strategy":"{word}"}}"#);
        assert_eq!(read(&json).retry_strategy, Some(strategy.clone()));
        assert_eq!(write(&Recovery::default().with_retry_strategy(strategy)), json);
    }
}

#[test]
fn words_of_other_peers_are_read_and_unknown_ones_are_kept() {
    let other = read(r#"{"category":"upstream","retry_strategy":"exponential"}"#);
    assert_eq!(write(&other), r#"{"category":"external","retry_strategy":"exponential_backoff"}"#);
    let unknown = r#"{"category":"weather","retry_strategy":"lunar"}"#;
    assert_eq!(write(&read(unknown)), unknown);
    assert_eq!(read(unknown).category, Some(Category::Unknown("weather".into())));
}

#[test]
fn members_of_another_type_are_dropped_alone() {
    let broken = read(
        r#"{"category":1,"retryable":"yes","retry_after_ms":"5s","retry_strategy":{},"max_retries":-1,
            "fallback_tool":null,"details":[1]}"#,
    );
    assert_eq!(broken, Recovery::default());
    assert_eq!(read(r#"{"category":1,"retryable":true}"#), Recovery::default().with_retryable(true));
}

#[test]
fn fractions_and_large_numbers_are_read() {
    let numbers = |wait: &str, retries: &str| {
        let recovery = read(&format!(r#"{{"retry_after_ms":{wait},"max_retries":{retries}}}"#));
        (recovery.retry_after_ms, recovery.max_retries)
    };
    assert_eq!(numbers("5000.0", "3.0"), (Some(5000), Some(3)));
    assert_eq!(numbers("0.1", "2.9"), (Some(1), Some(2)));
    assert_eq!(numbers("1e300", "5000000000"), (Some(u64::MAX), Some(u32::MAX)));
    assert_eq!(numbers("-5", "1e999"), (None, None));
}

#[test]
fn the_nested_form_is_read_and_the_flat_one_is_written() {
    assert_eq!(read(&format!(r#"{{"recovery":{EXAMPLE}}}"#)), example());
    let mixed =
        read(r#"{"retryable":false,"recovery":{"retryable":true,"max_retries":2,"x":1},"trace":"t"}"#);
    assert_eq!(write(&mixed), r#"{"retryable":false,"max_retries":2,"recovery":{"x":1},"trace":"t"}"#);
    assert_eq!(read(&write(&mixed)), mixed);
}

#[test]
fn unknown_members_survive_in_order() {
    let json = r#"{"category":"security","z":{"k": 1},"recovery":"later","a":[]}"#;
    assert_eq!(write(&read(json)), json);
}

#[test]
fn silence_is_no_leave_to_retry() {
    assert!(!Recovery::default().may_retry());
    assert!(!read(r#"{"retryable":"true"}"#).may_retry());
    assert!(read(r#"{"retryable":true}"#).may_retry());
}

#[test]
fn each_code_has_the_category_of_its_range_and_only_passing_errors_are_retryable() {
    let passing = [2000, 2001, 2002, 3000, 3001, 3003, 5001, 5002];
    for code in 0..10_000 {
        let expected = code::category(code).map(|category| Recovery::new(category, passing.contains(&code)));
        assert_eq!(Recovery::for_code(code), expected, "{code}");
    }
    assert_eq!(Recovery::for_code(3000), Some(Recovery::new(Category::Resource, true)));
    assert_eq!(Recovery::for_code(4101), Some(Recovery::new(Category::Validation, false)));
    assert_eq!(Recovery::for_code(code::INTERNAL_ERROR), None);
}

proptest::proptest! {
    #[test]
    fn what_was_read_is_written_and_read_again_the_same(
        json in r#"\{("category":("security"|1|"\u{e9}")(,"recovery":(\{("max_retries":[0-9]{1,3})?\}|0))?(,"x":[0-9])?)?\}"#
    ) {
        let Ok(object) = Object::parse(json) else { return Ok(()) };
        let first = Recovery::from_object(&object);
        proptest::prop_assert_eq!(read(&write(&first)), first);
    }
}
