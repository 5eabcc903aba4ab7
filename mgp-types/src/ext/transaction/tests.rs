use super::*;

fn meta(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

// covers: EXT-05-20
#[test]
fn a_transaction_waits_five_minutes_and_at_most_an_hour() {
    let timeout = |json: &str| {
        serde_json::from_str::<BeginTransaction>(&format!(r#"{{"transaction_id":"tx-001"{json}}}"#))
            .map(|begin| begin.timeout_seconds)
    };
    assert_eq!(timeout("").unwrap(), 300);
    for (asked, given) in [(1, 1), (0, 1), (-1, 1), (3600, 3600), (86_400, 3600)] {
        assert_eq!(timeout(&format!(r#","timeout_seconds":{asked}"#)).unwrap(), given, "{asked}");
    }
    assert!(timeout(r#","timeout_seconds":"60""#).is_err());
    assert!(serde_json::from_str::<BeginTransaction>(r#"{"transaction_id":"a b"}"#).is_err());
    let begin = BeginTransaction::new("tx-001".parse().unwrap()).with_timeout_seconds(60);
    assert_eq!(serde_json::to_string(&begin).unwrap(), r#"{"transaction_id":"tx-001","timeout_seconds":60}"#);
}

// covers: EXT-05-25
#[test]
fn a_commit_tells_the_number_of_steps() {
    let committed = TransactionCommitted::new("tx-001".parse().unwrap(), 2);
    let json = r#"{"transaction_id":"tx-001","status":"committed","steps_completed":2}"#;
    assert_eq!(serde_json::to_string(&committed).unwrap(), json);
    assert_eq!(serde_json::from_str::<TransactionCommitted>(json).unwrap(), committed);
}

// covers: EXT-05-27
#[test]
fn a_rollback_tells_of_each_step_and_errors_may_be_objects_or_text() {
    let json = concat!(
        r#"{"transaction_id":"tx-001","status":"partially_rolled_back","steps_compensated":[{"step_id":"step-2","#,
        r#""status":"compensation_failed","error":{"code":"SERVER_UNAVAILABLE","message":"Confluence API unavailable","#,
        r#""category":"transient","retry_after_seconds":30}},{"step_id":"step-1","status":"compensated"}]}"#
    );
    let report: TransactionReport = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&report).unwrap(), json);
    assert_eq!(report.failures().map(|step| step.step_id.as_str()).collect::<Vec<_>>(), ["step-2"]);
    let lenient: TransactionReport = serde_json::from_str(
        r#"{"transaction_id":"t","steps_compensated":[{"step_id":"s","status":"compensation_failed","error":"down"}]}"#,
    )
    .unwrap();
    assert_eq!(lenient.status, None);
    assert_eq!(&*lenient.steps_compensated[0].error.as_ref().unwrap().message, "down");
}

// covers: EXT-05-22
#[test]
fn a_step_names_its_transaction_and_a_wrong_name_is_refused() {
    let step = TransactionStep {
        transaction_id: "tx-001".parse().unwrap(),
        step_id: Some("step-1".parse().unwrap()),
    };
    let mut written = Object::new();
    step.write(&mut written);
    assert_eq!(written.to_raw().as_bytes(), br#"{"transaction_id":"tx-001","step_id":"step-1"}"#);
    assert_eq!(TransactionStep::read(&written).unwrap(), Some(step));
    assert_eq!(TransactionStep::read(&meta(r#"{"step_id":"lonely"}"#)).unwrap(), None);
    for wrong in
        [r#"{"transaction_id":"a b"}"#, r#"{"transaction_id":7}"#, r#"{"transaction_id":"t","step_id":""}"#]
    {
        assert_eq!(TransactionStep::read(&meta(wrong)).unwrap_err().code(), -32602, "{wrong}");
    }
}

// covers: EXT-05-23
#[test]
fn a_result_tells_of_its_step_with_its_compensation() {
    let json = concat!(
        r#"{"transaction":{"transaction_id":"tx-001","step_id":"step-1","status":"ok","compensation":{"#,
        r#""tool":"delete_issue","arguments":{"ticket_id":"PROJ-42"},"parameters":{"ticket_id":"PROJ-42"},"#,
        r#""description":"Delete the ticket"}}}"#
    );
    let step = StepResult::read(&meta(json)).unwrap().unwrap();
    let mut written = Object::new();
    step.write(&mut written);
    assert_eq!(written.to_raw().as_bytes(), json.as_bytes());
    assert_eq!(StepResult::read(&meta("{}")).unwrap(), None);
    let short = r#"{"transaction":{"transaction_id":"t","step_id":"s"}}"#;
    assert_eq!(StepResult::read(&meta(short)).unwrap().unwrap().status, StepStatus::Ok);
    let differs = concat!(
        r#"{"transaction":{"transaction_id":"t","step_id":"s","compensation":"#,
        r#"{"tool":"x","arguments":{"a":1},"parameters":{"a":2}}}}"#
    );
    assert!(StepResult::read(&meta(differs)).is_err());
}

#[test]
fn three_states_are_ends() {
    let ends: Vec<_> =
        TransactionState::ALL.iter().filter(|state| state.is_end()).map(|state| state.as_str()).collect();
    assert_eq!(ends, ["committed", "rolled_back", "partially_rolled_back"]);
}
