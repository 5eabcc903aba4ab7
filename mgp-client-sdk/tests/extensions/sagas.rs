//! Sagas: calls at several servers that are taken back together, whatever breaks in between.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::Compensation;
use mgp_client_sdk::types::ext::transaction::{CompensatedStep, CompensationStatus};
use mgp_client_sdk::{Error, Object, Saga, SagaOutcome, SagaStep, UndoCall};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::office::{BLINKS, BREAKS, Office, page, ticket, title, titled};
use crate::servers::MODES;

fn failed(outcome: SagaOutcome) -> Vec<CompensatedStep> {
    match outcome {
        SagaOutcome::Partial { failed } => failed,
        SagaOutcome::Clean => panic!("all was taken back"),
    }
}

fn entries(saga: &Saga) -> Value {
    serde_json::to_value(saga.entries().unwrap()).unwrap()
}

// covers: EXT-05-40, EXT-05-41, EXT-05-43
#[tokio::test]
async fn a_saga_that_finishes_keeps_its_steps_and_logs_each_in_order() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let mut saga = office.saga().begin().await.unwrap();
        saga.step(ticket("a")).await.unwrap();
        saga.step(page("b")).await.unwrap();
        let found = SagaStep::new("look".parse().unwrap(), "wiki", "find", Object::new());
        saga.step(found).await.unwrap();
        assert_eq!(office.world.done(), ["jira create a", "wiki create b"]);

        let mut log = entries(&saga);
        for (entry, id) in log.as_array_mut().unwrap().iter_mut().zip(["ticket-a", "page-b", "look"]) {
            let key = entry["idempotency_key"].take();
            let key = key.as_str().unwrap();
            assert!(key.starts_with(&format!("compensate-order-7-{id}")), "{key}");
        }
        let entry = |server: &str, step: &str| {
            json!({
                "server_id": server, "step_id": step, "compensation_tool": "delete",
                "compensation_arguments": {"title": "[redacted]"}, "idempotency_key": null, "status": "pending",
            })
        };
        let harmless = json!({
            "server_id": "wiki", "step_id": "look", "compensation_tool": null, "compensation_arguments": null,
            "idempotency_key": null, "status": "done",
        });
        assert_eq!(log, json!([entry("jira", "ticket-a"), entry("wiki", "page-b"), harmless]));

        saga.finish().await.unwrap();
        let statuses: Vec<_> =
            entries(&saga).as_array().unwrap().iter().map(|e| e["status"].clone()).collect();
        assert_eq!(statuses, ["done", "done", "done"]);
        assert_eq!(saga.rollback().await.unwrap_err().code(), code::TRANSACTION_CONFLICT);
        assert_eq!(office.world.things(), ["a", "b"]);
    }
}

// covers: EXT-05-34, EXT-05-40, EXT-05-43
#[tokio::test]
async fn after_a_step_that_fails_the_caller_decides_whether_the_others_are_taken_back() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let mut saga = office.saga().begin().await.unwrap();
        saga.step(ticket("a")).await.unwrap();
        saga.step(page("b")).await.unwrap();
        for step in [ticket("impossible"), page("impossible")] {
            assert!(saga.step(step).await.unwrap().is_error());
            assert_eq!(office.world.things(), ["a", "b"], "nothing is taken back unasked");
        }
        saga.step(ticket("c")).await.unwrap();
        let again = page("b");
        assert_eq!(saga.step(again).await.unwrap_err().code(), code::TRANSACTION_CONFLICT);

        for _ in 0..2 {
            assert_eq!(saga.rollback().await.unwrap(), SagaOutcome::Clean, "it tells the same again");
        }
        assert_eq!(office.world.things(), [""; 0]);
        assert_eq!(office.world.done()[3..], ["jira delete c", "wiki delete b", "jira delete a"]);
    }
}

// covers: EXT-05-43
#[tokio::test]
async fn a_step_that_is_not_taken_back_is_told_and_stops_no_other() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let mut saga = office.saga().begin().await.unwrap();
        for step in [ticket("a"), page("stuck"), ticket("c")] {
            saga.step(step).await.unwrap();
        }
        let failed = failed(saga.rollback().await.unwrap());
        assert_eq!(failed.len(), 1, "{failed:?}");
        let failure =
            (failed[0].step_id.as_str(), failed[0].status, &*failed[0].error.as_ref().unwrap().message);
        assert_eq!(failure, ("page-stuck", CompensationStatus::CompensationFailed, "the disk is full"));
        assert_eq!(office.world.things(), ["stuck"]);
        assert_eq!(entries(&saga)[1]["status"], "compensation_failed");
    }
}

// covers: EXT-05-42
#[tokio::test]
async fn a_call_that_takes_back_is_repeated_with_its_key_and_has_one_effect() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let mut saga = office.saga().begin().await.unwrap();
        for step in [ticket("a"), page("b")] {
            saga.step(step).await.unwrap();
        }
        office.lines.iter().for_each(|line| line.set(BLINKS));
        assert_eq!(saga.rollback().await.unwrap(), SagaOutcome::Clean);
        assert_eq!(office.world.done()[2..], ["wiki delete b", "jira delete a"]);
        let keys = office.world.keys.lock();
        for (key, step) in keys[2..].iter().map(|(key, _)| key).zip(["page-b", "ticket-a"]) {
            assert!(key.starts_with(&format!("compensate-order-7-{step}")), "{key}");
        }
    }
}

// covers: EXT-05-43
#[tokio::test]
async fn a_server_that_is_gone_takes_its_step_back_by_itself_and_the_client_the_others() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let saga = office.saga().server_timeout(Duration::from_secs(1));
        let mut saga = saga.begin().await.unwrap();
        saga.step(page("a")).await.unwrap();
        office.lines[0].set(BREAKS);
        saga.step(ticket("b")).await.unwrap_err();
        let failed = failed(saga.rollback().await.unwrap());
        let failed_steps: Vec<_> = failed.iter().map(|step| step.step_id.as_str()).collect();
        assert_eq!(failed_steps, ["ticket-b"], "nobody knows what became of it");
        assert!(!office.world.things().contains(&"a".to_owned()));

        let deadline = Instant::now() + Duration::from_mins(1);
        while !office.world.things().is_empty() {
            assert!(Instant::now() < deadline, "the server never takes it back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let done = office.world.done();
        assert_eq!(done.iter().filter(|call| *call == "jira delete b").count(), 1, "{done:?}");
    }
}

// covers: EXT-05-43
#[tokio::test]
async fn a_server_that_lies_about_what_it_took_back_is_found_out() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let jira = office.clients[0].clone();
        let look = move |undone: UndoCall| {
            let jira = jira.clone();
            async move {
                let found = jira.call_tool("find", ()).await?;
                let title = title(&undone.arguments);
                if found.content[0].as_text().unwrap().split(',').any(|thing| thing == title) {
                    return Err(Error::new(code::UPSTREAM_ERROR, "it is still there"));
                }
                Ok(())
            }
        };
        let mut saga = office.saga().verify_undo(look).begin().await.unwrap();
        for step in [ticket("a"), ticket("kept")] {
            saga.step(step).await.unwrap();
        }
        let failed = failed(saga.rollback().await.unwrap());
        let failed_steps: Vec<_> = failed
            .iter()
            .map(|step| (step.step_id.as_str(), &*step.error.as_ref().unwrap().message))
            .collect();
        assert_eq!(failed_steps, [("ticket-kept", "it is still there")]);
        assert_eq!(office.world.things(), ["kept"]);
    }
}

// covers: EXT-05-44
#[tokio::test]
async fn a_step_is_taken_back_by_who_made_it_and_the_log_shows_no_values() {
    for mode in MODES {
        let office = Office::open(mode).await;
        let mut saga = office.saga().begin().await.unwrap();
        for step in [ticket("secret-1"), page("secret-2")] {
            saga.step(step).await.unwrap();
        }
        let shown = format!("{saga:?} {:?} {}", saga.entries().unwrap(), entries(&saga));
        assert!(shown.contains("ticket-secret-1"), "ids are shown");
        for value in [r#""secret-1""#, r#""secret-2""#, "token of"] {
            assert!(!shown.contains(value), "{shown}");
        }
        assert_eq!(saga.rollback().await.unwrap(), SagaOutcome::Clean);
        let keys = office.world.keys.lock();
        let tokens: Vec<_> = keys.iter().map(|(_, token)| token.as_str()).collect();
        assert_eq!(tokens, ["token of jira", "token of wiki", "token of wiki", "token of jira"]);
    }
}

// covers: EXT-05-45
#[tokio::test]
async fn what_may_destroy_something_is_not_done_unless_somebody_agreed_to_that_very_call() {
    for mode in MODES {
        // Nobody agrees.
        let office = Office::open(mode).await;
        let mut saga = office.strict_saga().begin().await.unwrap();
        saga.step(ticket("a")).await.unwrap();
        let mild = SagaStep::new("mild".parse().unwrap(), "wiki", "create", titled("b"))
            .undone_by(Compensation::new("close", titled("b")));
        saga.step(mild).await.unwrap();
        let refused = failed(saga.rollback().await.unwrap());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].error.as_ref().unwrap().code, "PERMISSION_DENIED");
        assert_eq!(office.world.things(), ["a"], "what is not destructive needs no agreement");

        // One call was authorised before, and each other one is asked about.
        let office = Office::open(mode).await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let questions = Arc::clone(&asked);
        let confirm = move |call: UndoCall| {
            let agrees = call.server.as_str() == "jira";
            questions.lock().push((call.server.to_string(), call.tool.to_string(), title(&call.arguments)));
            ready(agrees)
        };
        let mut saga = office.strict_saga().confirm_undo(confirm).begin().await.unwrap();
        for step in [page("a"), page("b"), ticket("a")] {
            saga.step(step).await.unwrap();
        }
        saga.authorise_undo(&"page-a".parse().unwrap()).unwrap();
        let unknown = saga.authorise_undo(&"page-z".parse().unwrap()).unwrap_err();
        assert_eq!(unknown.code(), code::TRANSACTION_NOT_FOUND);
        let refused = failed(saga.rollback().await.unwrap());
        let refused_steps: Vec<_> = refused.iter().map(|step| step.step_id.as_str()).collect();
        assert_eq!(refused_steps, ["page-b"]);
        let question = |server: &str, title: &str| (server.to_owned(), "delete".to_owned(), title.to_owned());
        assert_eq!(*asked.lock(), [question("jira", "a"), question("wiki", "b")]);
        assert_eq!(office.world.things(), ["b"]);
    }
}
