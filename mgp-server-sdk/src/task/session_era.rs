//! The methods of the experimental tasks of 2025-11-25.

use std::sync::Arc;

use mgp_types::mcp::task::{self, CreateTaskResult, ListTasksResult, TaskMetadata, TaskStatus};
use mgp_types::{Error, Method, Object, Request, Response};
use scopeguard::{ScopeGuard, guard};

use super::TaskStore;
use super::entry::{Outcome, Question, Task, millis, relate};

/// Returns the client's wish for a task, if it has one.
pub(crate) fn wanted(request: &Request) -> Result<Option<TaskMetadata>, Error> {
    let Some(task) = request.params.get("task").filter(|task| !task.is_null()) else { return Ok(None) };
    task.to().map(Some).map_err(|_| Error::invalid_params("`task` is malformed"))
}

/// Serves `tasks/get`.
pub(crate) fn get(store: &TaskStore, request: &Request) -> Result<Response, Error> {
    Response::with_body(&wire(&*store.named(request)?))
}

/// Serves `tasks/list`: all tasks at once, because their number is bounded.
pub(crate) fn list(store: &TaskStore, request: &Request) -> Result<Response, Error> {
    if request.params.text("cursor").is_some_and(|cursor| !cursor.is_empty()) {
        return Err(Error::invalid_params("the cursor is not one of this server"));
    }
    let tasks = store.of(&request.context);
    Response::with_body(&ListTasksResult::new(tasks.iter().map(|task| wire(task)).collect::<Vec<_>>()))
}

/// Serves `tasks/cancel`.
pub(crate) fn cancel(store: &Arc<TaskStore>, request: &Request) -> Result<Response, Error> {
    let task = store.named(request)?;
    if !task.finish(Outcome::Cancelled) {
        return Err(Error::invalid_params("the task is over already"));
    }
    store.announce(&task);
    Response::with_body(&wire(&task))
}

/// Serves `tasks/result`: waits until the task is over. Meanwhile the task's questions travel with this request.
pub(crate) async fn result(store: Arc<TaskStore>, request: Request) -> Result<Response, Error> {
    let task = store.named(&request)?;
    loop {
        let mut changed = std::pin::pin!(task.changed.notified());
        changed.as_mut().enable();
        let outcome = task.state().outcome.clone();
        match outcome {
            Some(Outcome::Result { result, .. }) => {
                let mut result = Object::from_raw(&result)?;
                relate(&mut result, &task.id);
                return Ok(Response::new(result.to_raw()));
            }
            Some(Outcome::Failed(error)) => return Err(error),
            Some(Outcome::Cancelled) => return Err(Error::invalid_params("the task was cancelled")),
            None => {}
        }
        match task.take_first_question() {
            Some(question) => put(&store, &task, question, &request).await,
            None => changed.await,
        }
    }
}

/// Returns the result of a call that goes on as the task.
pub(super) fn created(task: &Task) -> Result<Response, Error> {
    Response::with_body(&CreateTaskResult::new(wire(task)))
}

/// Returns the notification about the task for its session.
pub(super) fn notification(task: &Task) -> Option<Request> {
    let params = Object::from_value(&wire(task)).ok()?;
    Some(Request::notify(Method::TASK_STATUS, params))
}

/// Asks the client a question. If this request is dropped first, the question waits for the next one.
async fn put(store: &Arc<TaskStore>, task: &Arc<Task>, question: Question, request: &Request) {
    let mut asked = Request::call(question.method.clone(), question.params.clone());
    relate(&mut asked.params, &task.id);
    let open = guard(question, |question| task.put_back(question));
    let answer = request.context.outbox.call(asked).await;
    let question = ScopeGuard::into_inner(open);
    let _ = question.answer.send(answer.map(|answer| answer.to_raw().detached()));
    store.announce(task);
}

fn wire(task: &Task) -> task::Task {
    let state = task.state();
    // Here a result that reports an error is a failure of the task.
    let status = match state.outcome {
        Some(Outcome::Result { is_error: true, .. }) => TaskStatus::Failed,
        _ => state.status(),
    };
    let (created, updated) = (task.created_at.to_string(), state.updated_at.to_string());
    let mut wire = task::Task::new(&*task.id, status, created, updated, millis(task.ttl))
        .with_poll_interval(millis(task.poll_interval));
    wire.status_message.clone_from(&state.message);
    wire
}
