//! The methods of the extension `io.modelcontextprotocol/tasks` of 2026-07-28.

use std::sync::Arc;

use mgp_types::mcp::task_extension::{
    CreateExtensionTaskResult, DetailedTask, EXTENSION_ID, UpdateTaskParams,
};
use mgp_types::mcp::{InputRequest, InputRequests, Map, ResultType};
use mgp_types::{Error, Method, Object, RawJson, Request, Response, Session};

use super::entry::{Outcome, Question, Task, millis};
use super::{TaskStore, error_json};

/// Refuses a client that did not declare the extension on this request.
pub(crate) fn declared(session: &Session) -> Result<(), Error> {
    if session.peer_can(&["extensions", EXTENSION_ID]) {
        return Ok(());
    }
    let settings: Map<_> = [(EXTENSION_ID, RawJson::empty_object())].into_iter().collect();
    let required: Map<_> = [("extensions", settings)].into_iter().collect();
    let required = RawJson::from_value(&required).unwrap_or_else(|_| RawJson::empty_object());
    Err(Error::missing_client_capability(&required))
}

/// Serves `tasks/get`.
pub(crate) fn get(store: &Arc<TaskStore>, request: &Request) -> Result<Response, Error> {
    let task = find(store, request)?;
    let plain = request.context.session()?.mgp.is_none();
    Response::with_body(&detailed(&task, plain).with_result_type(ResultType::Complete))
}

/// Serves `tasks/update`.
pub(crate) fn update(store: &Arc<TaskStore>, request: &Request) -> Result<Response, Error> {
    let task = find(store, request)?;
    let params: UpdateTaskParams = request.body()?;
    for (key, answer) in params.input_responses.iter().filter(|(_, answer)| answer.is_object()) {
        if let Some(question) = task.take_question(key) {
            // Sending fails if the work no longer waits for the answer.
            let _ = question.answer.send(Ok(answer.detached()));
        }
    }
    store.announce(&task);
    Ok(Response::empty())
}

/// Serves `tasks/cancel`.
pub(crate) fn cancel(store: &Arc<TaskStore>, request: &Request) -> Result<Response, Error> {
    let task = find(store, request)?;
    if task.finish(Outcome::Cancelled) {
        store.announce(&task);
    }
    Ok(Response::empty())
}

/// Returns the result of a call that goes on as the task.
pub(super) fn created(task: &Task) -> Result<Response, Error> {
    let state = task.state();
    let (created, updated) = (task.created_at.to_string(), state.updated_at.to_string());
    let (status, ttl) = (state.status(), millis(task.ttl));
    let mut result =
        CreateExtensionTaskResult::new(ResultType::Task, &*task.id, status, created, updated, ttl)
            .with_poll_interval_ms(millis(task.poll_interval));
    result.status_message.clone_from(&state.message);
    Response::with_body(&result)
}

/// Returns the notification about the task for a request that listens.
pub(super) fn notification(task: &Task) -> Option<Request> {
    let params = Object::from_value(&detailed(task, true)).ok()?;
    Some(Request::notify(Method::TASKS, params))
}

fn find(store: &TaskStore, request: &Request) -> Result<Arc<Task>, Error> {
    declared(request.context.session()?)?;
    store.named(request)
}

fn detailed(task: &Task, plain: bool) -> DetailedTask {
    let state = task.state();
    let (created, updated) = (task.created_at.to_string(), state.updated_at.to_string());
    let mut detailed = DetailedTask::new(&*task.id, state.status(), created, updated, millis(task.ttl))
        .with_poll_interval_ms(millis(task.poll_interval));
    detailed.status_message.clone_from(&state.message);
    match &state.outcome {
        None => {
            let asked: InputRequests =
                state.waiting().map(|question| (question.key.clone(), asked(question))).collect();
            detailed.input_requests = Some(asked).filter(|asked| !asked.is_empty());
        }
        Some(Outcome::Result { result, .. }) => detailed.result = Some(complete(result)),
        Some(Outcome::Failed(error)) => detailed.error = Some(error_json(error, plain)),
        Some(Outcome::Cancelled) => {}
    }
    detailed
}

fn asked(question: &Question) -> InputRequest {
    let method = RawJson::from_text(question.method.as_str());
    let request = Object::from([("method", method), ("params", question.params.to_raw())]).to_raw();
    request.to().unwrap_or(InputRequest::Unknown(request))
}

/// Returns the result in the form of the call's own answer.
fn complete(result: &RawJson) -> RawJson {
    let Ok(mut members) = Object::from_raw(result) else { return result.clone() };
    if !members.contains("resultType") {
        members.set("resultType", RawJson::from_text("complete"));
    }
    members.to_raw()
}
