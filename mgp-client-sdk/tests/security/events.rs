//! The audit events of each step, and the answers to the caller.

use mgp_types::Revision;
use mgp_types::mgp::{Outcome, Permission};
use serde_json::{Value, json};

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, SERVER, Setup};
use crate::upstream::{self, Reached};

/// A refused call, by whom and why, and what it leaves behind.
struct Refused {
    tool: &'static str,
    arguments: Value,
    code: i64,
    section: &'static str,
    rule: &'static str,
    cause: Option<&'static str>,
}

fn refusals() -> Vec<Refused> {
    let refused =
        |tool, arguments, code, section, rule, cause| Refused { tool, arguments, code, section, rule, cause };
    vec![
        refused("secret", json!({"text": "x"}), 1001, "access", "not-granted", None),
        refused("echo", json!({"text": 1}), 4000, "validate", "schema", Some("VALIDATION_FAILED")),
        refused("run", json!({"command": "rm -rf /"}), 1010, "validate", "*", Some("VALIDATION_FAILED")),
        refused(
            "evaluate",
            json!({"code": "import subprocess\nsubprocess.run(['id'])"}),
            1011,
            "code-safety",
            "code-rejected",
            Some("CODE_REJECTED"),
        ),
        refused(
            "run",
            json!({"command": "ls"}),
            1000,
            "permission",
            "permission-denied",
            Some("PERMISSION_DENIED"),
        ),
        refused("wipe", json!({"target": "x"}), 1000, "confirmation", "timeout", Some("PERMISSION_DENIED")),
    ]
}

async fn kernel(reached: &Reached, revision: Revision) -> Kernel {
    let mut setup = Setup::default();
    setup.settings = setup.settings.with_denial(Permission::ShellExecute);
    setup.confirmation = Some(
        mgp_security::confirmation::ConfirmationSettings::new()
            .with_patience(std::time::Duration::from_millis(10)),
    );
    Kernel::before(upstream::mgp(reached).accept().unwrap(), revision, setup).await
}

// covers: MGP-1.2-04, MGP-1.2-05
#[tokio::test]
async fn every_step_that_refuses_leaves_its_cause_and_its_code_under_one_trace() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for Refused { tool, arguments, code, section, rule, cause } in refusals() {
            let before = kernel.events().len();
            let answer = client.tool(tool, arguments).await;
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{tool}: {answer}");
            assert!(error["data"]["_mgp"]["category"].is_string(), "{tool}: {answer}");
            let events = &kernel.events()[before..];
            let blocked = events.iter().find(|event| event.event_type.as_str() == "TOOL_BLOCKED");
            let blocked = blocked.unwrap_or_else(|| panic!("{tool}: {events:?}"));
            assert_eq!(blocked.result, Outcome::Blocked);
            assert_eq!(blocked.actor.id, AGENT);
            assert_eq!(blocked.target.server_id, Some(SERVER.into()));
            assert_eq!(blocked.target.tool_name, Some(tool.into()));
            assert_eq!(blocked.details.text("section").as_deref(), Some(section));
            let told = blocked.details.text("rule").unwrap_or_default().into_owned();
            assert!(told == rule || (rule == "*" && !told.is_empty()), "{tool}: {told}");
            let causes: Vec<_> =
                events.iter().filter(|event| event.event_type != blocked.event_type).collect();
            assert_eq!(causes.last().map(|event| event.event_type.as_str()), cause, "{tool}: {causes:?}");
            assert!(events.iter().all(|event| event.trace_id == blocked.trace_id), "{tool}: {events:?}");
        }
        assert!(reached.tools().is_empty());
        assert!(kernel.log.reader().verify(&[]).is_ok());
    }
}

// covers: MGP-1.3-02
#[tokio::test]
async fn a_plain_client_reads_a_refusal_as_a_result_and_nothing_of_mgp() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, false).await;
        for Refused { tool, arguments, .. } in refusals() {
            let answer = client.tool(tool, arguments).await;
            assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(!text.is_empty());
            // The commands of a person are no words of the protocol.
            let told = answer.to_string().replace("`mgp permissions ", "");
            assert!(!told.contains("mgp"), "{tool}: {answer}");
        }
        assert!(reached.tools().is_empty());
    }
}

#[tokio::test]
async fn an_allowed_call_is_recorded_as_executed_under_the_trace_that_the_server_sees() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let before = kernel.events().len();
        let answer = client.tool("echo", json!({"text": "hello"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hello", "{answer}");
        assert_eq!(kernel.kinds(before), ["TOOL_EXECUTED"]);
        let event = &kernel.events()[before];
        let (_, params) = reached.take().pop().unwrap();
        assert_eq!(params["trace_id"], event.trace_id.to_string());
    }
}
