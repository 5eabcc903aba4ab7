//! Tools that go on after their call was answered.

use mgp_client_sdk::{Elicited, StartedTool, Task};
use mgp_types::mcp::task::TaskStatus;
use mgp_types::{BoxedService, Origin};
use serde_json::json;

use crate::calls::text;
use crate::host::builder;
use crate::leg::{Connected, Leg, Transport};
use crate::runner::tests;

tests![
    a_task_goes_on_and_is_waited_for if has_tasks,
    a_task_asks_for_what_it_needs if has_tasks,
    a_task_that_fails_fails_who_waits if has_tasks,
    a_cancelled_task_ends_at_the_server if has_tasks,
    a_client_without_tasks_gets_the_result,
];

/// HTTP+SSE here has the first revision, which has no tasks.
fn has_tasks(leg: Leg) -> bool {
    leg.transport != Transport::Sse
}

async fn start(client: &Connected, tool: &str) -> Task<BoxedService> {
    match client.start_tool(tool, ()).await.unwrap() {
        StartedTool::Task(task) => task,
        _ => panic!("{tool} is no task"),
    }
}

async fn a_task_goes_on_and_is_waited_for(leg: Leg) {
    let client = leg.connect_as(builder().tasks()).await;
    let (first, second) = (start(&client, "work").await, start(&client, "work").await);
    assert_ne!(first.id(), second.id());
    for task in [second, first] {
        assert_eq!(task.wait().await.unwrap().content[0].as_text(), Some("worked"));
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Completed);
        let again = client.task(task.id()).wait().await.unwrap();
        assert_eq!(again.content[0].as_text(), Some("worked"));
    }
    if !leg.is_stateless() {
        assert_eq!(client.tasks().all().await.unwrap().len(), 2);
    }
    client.task("nothing").state().await.unwrap_err();
}

async fn a_task_asks_for_what_it_needs(leg: Leg) {
    let answering = async |_, _| Elicited::Accepted(json!({"name": "Ada"}));
    let client = leg.connect_as(builder().tasks().on_elicitation(answering)).await;
    let result = start(&client, "work_for").await.wait().await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("worked for Ada"));
}

async fn a_task_that_fails_fails_who_waits(leg: Leg) {
    let client = leg.connect_as(builder().tasks()).await;
    let error = start(&client, "work_in_vain").await.wait().await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (-31_339, Origin::Peer));
}

async fn a_cancelled_task_ends_at_the_server(leg: Leg) {
    let client = leg.connect_as(builder().tasks()).await;
    let task = start(&client, "work_forever").await;
    // It has begun.
    text(&client, "begun", json!({})).await;
    assert_eq!(task.state().await.unwrap().status, TaskStatus::Working);
    task.cancel().await.unwrap();
    text(&client, "stopped", json!({})).await;
    assert_eq!(task.state().await.unwrap().status, TaskStatus::Cancelled);
    task.wait().await.unwrap_err();
}

async fn a_client_without_tasks_gets_the_result(leg: Leg) {
    let client = leg.connect().await;
    assert_eq!(text(&client, "work", json!({})).await, "worked");
}
