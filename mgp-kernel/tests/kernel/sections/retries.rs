//! Calls that are made again (§14.6).

use serde_json::{Value, json};
use std::ops::RangeInclusive;

use super::raw::{ERAS, Raw};
use crate::host::{Host, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    a_call_is_made_again_as_the_error_says_and_each_time_is_recorded,
    a_call_whose_error_is_not_to_be_tried_again_ends_with_it,
    a_server_that_speaks_of_errors_in_other_words_is_understood,
];

async fn kernel(error: &Value) -> (Host, Script) {
    let script = Script::named(&["fail"]).speaking(&[]);
    script.fails_with(&error.to_string());
    let host = Host::ready_with(quiet([script.server("web")])).await;
    (host, script)
}

/// The error as it is told: in the name of the server.
fn named(error: &Value) -> Value {
    let mut named = error.clone();
    named["message"] = json!(format!("web: {}", error["message"].as_str().unwrap()));
    named
}

// covers: MGP-14.6-01..03, MGP-14.6-05, GGEN-8.6-01
async fn a_call_is_made_again_as_the_error_says_and_each_time_is_recorded() {
    // The pause before each further attempt: as long as it is asked for, and longer by a part that is drawn.
    for (strategy, pauses) in [
        ("immediate", [200..=200, 200..=200]),
        ("fixed_delay", [200..=250, 200..=250]),
        ("exponential_backoff", [200..=300, 400..=600]),
    ] {
        let advice = json!({
            "category": "resource", "retryable": true, "retry_after_ms": 200, "retry_strategy": strategy,
            "max_retries": 2,
        });
        let error = json!({"code": 3000, "message": "too often", "data": {"_mgp": advice}});
        let (host, script) = kernel(&error).await;
        let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
        let began = tokio::time::Instant::now();
        assert_eq!(ada.refused("web.fail", json!({})).await, named(&error));
        let least: u64 = pauses.iter().map(RangeInclusive::start).sum();
        assert!(began.elapsed().as_millis() >= u128::from(least), "{strategy}: {:?}", began.elapsed());
        assert_eq!(script.calls().len(), 3, "{strategy}");

        let events = host.recorded(json!({"agent_id": "ada"})).await;
        let retries: Vec<_> = events.iter().filter(|event| event["details"]["retry"].is_object()).collect();
        assert_eq!(retries.len(), 2, "{events:#?}");
        for (number, (event, pause)) in (1..).zip(retries.iter().zip(&pauses)) {
            assert_eq!(
                (&event["event_type"], &event["result"]),
                (&json!("TOOL_EXECUTED"), &json!("FAILURE"))
            );
            let retry = &event["details"]["retry"];
            assert_eq!((&retry["attempt"], &retry["code"]), (&json!(number), &json!(3000)));
            assert!(pause.contains(&retry["after_ms"].as_u64().unwrap()), "{strategy}: {retry}");
            assert_eq!(event["trace_id"], events[0]["trace_id"]);
        }
    }
}

// covers: MGP-14.6-06, MGP-14.6-07
async fn a_call_whose_error_is_not_to_be_tried_again_ends_with_it() {
    let advice = json!({
        "category": "resource", "retryable": false, "retry_after_ms": 1, "retry_strategy": "immediate",
        "max_retries": 3,
    });
    let error = json!({"code": 3000, "message": "never again", "data": {"_mgp": advice}});
    let (host, script) = kernel(&error).await;
    for (calls, revision) in (1..).zip(ERAS) {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        assert_eq!(ada.refused("web.fail", json!({})).await, named(&error));
        assert_eq!(script.calls().len(), calls);
    }
}

// covers: EXT-11-08, EXT-11-09, EXT-11-10, GGEN-5-17
async fn a_server_that_speaks_of_errors_in_other_words_is_understood() {
    let structured =
        |class: &str| json!({"code": "X", "message": "m", "category": class, "retry_after_seconds": 0});
    for (code, data, once, idempotent) in [
        // The call was not made, so making it again does nothing twice.
        (3000, structured("rate_limited"), true, true),
        // The tool may have done its work, so only a tool that may work twice is called again.
        (-32603, structured("transient"), false, true),
        (-32003, json!({"error_type": "ToolExecution"}), false, true),
        (-32603, structured("permanent"), false, false),
        (-32603, structured("invalid_input"), false, false),
        (-32603, structured("auth_required"), false, false),
        // The kind of an error counts before its number.
        (-32603, json!({"error_type": "ValidationError"}), false, false),
        (-32003, json!({"error_type": "ValidationError"}), false, false),
    ] {
        for (is_idempotent, is_repeated) in [(false, once), (true, idempotent)] {
            let hints = json!({"annotations": {"idempotentHint": is_idempotent}});
            let script = Script::of([defined("fail", &[], &hints)]).speaking(&[]);
            let error = json!({"code": code, "message": "m", "data": data});
            script.fails_with(&error.to_string());
            let host = Host::ready_with(quiet([script.server("web")])).await;
            let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
            ada.refused("web.fail", json!({})).await;
            assert_eq!(script.calls().len() > 1, is_repeated, "{error}, idempotent: {is_idempotent}");
        }
    }
}
