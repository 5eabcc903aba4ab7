use super::*;

fn meta(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

// covers: EXT-05-27
#[test]
fn a_rollback_tells_which_steps_could_not_be_undone() {
    let json = concat!(
        r#"{"transaction_id":"t","steps_compensated":[{"step_id":"s2","status":"compensation_failed","error":"down"},"#,
        r#"{"step_id":"s1","status":"compensated"}]}"#
    );
    let report: TransactionReport = serde_json::from_str(json).unwrap();
    assert_eq!(report.failures().map(|step| step.step_id.as_str()).collect::<Vec<_>>(), ["s2"]);
}

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
