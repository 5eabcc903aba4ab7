//! Suites and reports as documents, and the areas of the proposal, each by a server that breaks a rule of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says so")]

#[path = "subjects/mod.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod subjects;

use mgp_conform::{
    Category, ClientSubject, Level, Report, RunOptions, ServerSubject, Status, Suite, Transport,
    check_client, check_server,
};
use serde_json::{Value, json};

use self::subjects::http;

const RIGHT: &str = "none";

async fn report(defect: &'static str) -> Report {
    let subject = ServerSubject::Url(http::serve(defect).await);
    check_server(&Suite::built_in(), &subject, &RunOptions::default()).await
}

fn broken(report: &Report) -> Vec<&str> {
    let failed = report.results.iter().filter(|result| result.status == Status::Failed);
    failed.map(|result| result.test_id.as_str()).collect()
}

/// Asserts that the right server passes what is tested of an area, and that a defect in it is found.
async fn judges(area: Category, defect: &'static str) {
    let suite = Suite::built_in();
    let right = report(RIGHT).await;
    let of_area = suite.tests.iter().filter(|test| test.category == Some(area)).map(|test| &test.test_id);
    let ids: Vec<_> = of_area.collect();
    let judged: Vec<_> = right.results.iter().filter(|result| ids.contains(&&result.test_id)).collect();
    assert!(judged.iter().all(|result| result.status == Status::Passed), "{judged:?}");
    assert!(ids.iter().any(|id| *id == defect));
    assert_eq!(broken(&report(defect).await), [defect]);
}

fn schema() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(include_str!("conformance.schema.json")).unwrap())
        .unwrap()
}

// covers: EXT-12-01
#[tokio::test]
async fn an_incomplete_manifest_is_found() {
    judges(Category::Manifest, "CONF-001").await;
}

// covers: EXT-12-02
#[tokio::test]
async fn an_error_of_an_unknown_class_is_found() {
    judges(Category::ErrorHandling, "CONF-004").await;
}

// covers: EXT-12-03
#[tokio::test]
async fn a_repeated_call_that_runs_again_is_found() {
    judges(Category::Idempotency, "EXT-05-replay").await;
}

// covers: EXT-12-04
#[tokio::test]
async fn a_permission_check_that_allows_without_the_scope_is_found() {
    judges(Category::Permissions, "CONF-003").await;
}

// covers: EXT-12-05
#[tokio::test]
async fn a_chunk_without_a_number_is_found() {
    judges(Category::Streaming, "MGP-12-chunks").await;
}

// covers: EXT-12-06
#[tokio::test]
async fn a_server_that_fails_for_an_unknown_extension_is_found() {
    assert_eq!(broken(&report("EXT-degrade-unknown").await), ["EXT-degrade-unknown"]);
}

// covers: EXT-12-07
#[test]
fn the_built_in_suite_is_a_suite_document() {
    let suite = Suite::built_in();
    assert_eq!(suite.metadata.total_tests, Some(suite.tests.len()));
    let mut document = serde_json::to_value(&suite).unwrap();
    schema().validate(&document).unwrap();
    document["metadata"]["suite_version"] = Value::Null;
    assert!(!schema().is_valid(&document));
}

// covers: EXT-12-09
#[tokio::test]
async fn the_report_is_a_report_document() {
    let report = report("CONF-001").await;
    let mut document = serde_json::to_value(&report).unwrap();
    schema().validate(&document).unwrap();
    assert_eq!((&*report.server_name, &*report.server_version), ("subject", "1.0.0"));
    let of = |status| report.results.iter().filter(|result| result.status == status).count();
    assert_eq!(document["summary"]["failed"], json!(1));
    assert_eq!(document["summary"]["passed"], json!(of(Status::Passed)));
    document["results"][0]["status"] = "fine".into();
    assert!(!schema().is_valid(&document));
}

// covers: EXT-12-10
#[tokio::test]
async fn only_a_passing_server_gets_a_badge() {
    let badge = report(RIGHT).await.badge().unwrap();
    assert!(badge.starts_with("<svg ") && badge.contains(">full</text>"), "{badge}");
    assert_eq!(report("CONF-001").await.badge(), None);
}

// covers: EXT-12-11
#[tokio::test]
async fn suite_and_badge_name_their_version_and_promise_nothing_more() {
    let suite = Suite::built_in();
    assert_eq!(suite.metadata.mcp_spec_version, "2025-11-25, 2026-07-28");
    assert!(suite.tests.iter().all(|test| !test.proposal_ref.is_empty()));
    let report = report(RIGHT).await;
    assert_eq!(report.suite_version, suite.metadata.suite_version);
    let badge = report.badge().unwrap();
    assert!(
        badge.contains(&suite.metadata.suite_version)
            && badge.contains("Necessary for quality, not sufficient")
    );
}

// covers: EXT-12-12
#[tokio::test]
async fn the_level_ends_below_the_first_broken_rule() {
    for (defect, level) in
        [("S25-ping", None), ("S25-log-level", Some(Level::Core)), ("CONF-001", Some(Level::Extended))]
    {
        let report = report(defect).await;
        assert_eq!((report.level, report.is_passing()), (level, false), "{defect}: {:?}", broken(&report));
    }
    let own = r#"{ "metadata": { "suite_version": "7", "mcp_spec_version": "2025-11-25" }, "tests": [{
        "test_id": "own", "proposal_ref": "own", "description": "The server greets.",
        "input": { "protocol": "2025-11-25", "steps": [{ "request": "own/greet" }] },
        "expected_output": { "code": "ok" }, "assertion_type": "status_code" }] }"#;
    let suite = Suite::built_in().with(Suite::parse(own).unwrap()).unwrap();
    let subject = ServerSubject::Url(http::serve(RIGHT).await);
    let report = check_server(&suite, &subject, &RunOptions::default()).await;
    assert_eq!(broken(&report), ["own"]);
    assert!(report.junit().contains("<failure message=\"expected"), "{}", report.junit());
}

// covers: EXT-12-13
#[tokio::test]
async fn the_reference_tests_are_there_and_pass() {
    let report = report(RIGHT).await;
    for number in 1..=7 {
        let id = format!("CONF-{number:03}");
        let result = report.results.iter().find(|result| result.test_id == id).unwrap();
        assert_eq!(result.status, Status::Passed, "{result:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_passes_nothing() {
    let command = vec!["mgp-conform-no-such-program".to_owned()];
    let subject = ServerSubject::Command(command.clone());
    let report = check_server(&Suite::built_in(), &subject, &RunOptions::default()).await;
    assert!(!report.is_passing());
    let subject = ClientSubject { command, transport: Transport::Http };
    assert!(!check_client(&Suite::built_in(), &subject, &RunOptions::default()).await.is_passing());
}
