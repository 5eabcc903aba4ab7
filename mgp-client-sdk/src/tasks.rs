//! Tools that go on as tasks, of the experiment of 2025-11-25 and of the extension that followed it.

use std::time::Duration;

use mgp_types::mcp::task::{self, TaskStatus};
use mgp_types::mcp::{CallToolResult, EmptyResult, InputRequests, InputResponses, task_extension};
use mgp_types::{Error, Object, RawJson, Request, Response, ResultKind, RpcService, code};
use serde::Serialize;

use crate::tools::named_request;
use crate::{Call, Client, Pages};

/// The outcome of starting a tool.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartedTool<S> {
    /// The tool is done.
    Done(CallToolResult),
    /// The tool goes on as a task.
    Task(Task<S>),
}

/// A tool that goes on at the server.
pub struct Task<S> {
    client: Client<S>,
    id: String,
    poll_interval: Duration,
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// The status of the task.
    pub status: TaskStatus,
    /// The status in words, for people.
    pub message: Option<String>,
}

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_mins(1);

impl<S: RpcService> Client<S> {
    /// Calls a tool that may go on as a task: the server of a session is asked to run it as a task if it can, a server
    /// without sessions decides by itself. The client has to be built with tasks.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn start_tool(&self, name: &str, arguments: impl Serialize) -> Result<StartedTool<S>, Error> {
        let mut request = named_request(mgp_types::Method::TOOLS_CALL, name, &arguments)?;
        let session = self.session();
        let runs_tasks =
            session.is_some_and(|session| session.peer_can(&["tasks", "requests", "tools", "call"]));
        if runs_tasks && !self.is_stateless() {
            request.params.set("task", RawJson::empty_object());
        }
        let response = self.call(Ok(request), |response| Ok(response.clone())).await?;
        self.started(&response)
    }

    fn started(&self, response: &Response) -> Result<StartedTool<S>, Error> {
        let result = Object::from_raw(&response.result)?;
        let task = |id: String, interval: Option<i64>| {
            let interval =
                interval.and_then(|interval| u64::try_from(interval).ok()).map(Duration::from_millis);
            let poll_interval = interval.unwrap_or(POLL_INTERVAL).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);
            StartedTool::Task(Task { client: self.clone(), id, poll_interval })
        };
        if response.result.kind() == ResultKind::Task {
            let created: task_extension::CreateExtensionTaskResult = response.body()?;
            return Ok(task(created.task_id, created.poll_interval_ms));
        }
        if result.contains("task") && !result.contains("content") {
            let created: task::CreateTaskResult = response.body()?;
            return Ok(task(created.task.task_id, created.task.poll_interval));
        }
        response.body().map(StartedTool::Done)
    }

    /// Returns a task by its id, for instance one of an earlier connection.
    pub fn task(&self, id: impl Into<String>) -> Task<S> {
        Task { client: self.clone(), id: id.into(), poll_interval: POLL_INTERVAL }
    }

    /// Lists the tasks of a session, page by page.
    pub fn tasks(&self) -> Pages<S, task::ListTasksParams> {
        Pages::new(self.clone())
    }
}

impl<S: RpcService> Task<S> {
    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks for the state of the task.
    ///
    /// # Errors
    /// The server does not know the task, or the connection is lost.
    pub async fn state(&self) -> Result<TaskState, Error> {
        if self.client.is_stateless() {
            let task = self.details().await?;
            return Ok(TaskState { status: task.status, message: task.status_message });
        }
        let task = self.client.send(&task::GetTaskParams::new(self.id.as_str())).await?;
        Ok(TaskState { status: task.status, message: task.status_message })
    }

    /// Asks for the full description of the task, where there are no sessions.
    pub fn details(&self) -> Call<S, task_extension::DetailedTask> {
        self.client.send(&task_extension::GetExtensionTaskParams::new(self.id.as_str()))
    }

    /// Gives the task some of the input it waits for, where there are no sessions.
    pub fn update(&self, responses: InputResponses) -> Call<S, EmptyResult> {
        self.client.send(&task_extension::UpdateTaskParams::new(self.id.as_str(), responses))
    }

    /// Asks the server to cancel the task. The task may complete all the same.
    ///
    /// # Errors
    /// The server does not know the task, or the connection is lost.
    pub async fn cancel(&self) -> Result<(), Error> {
        if self.client.is_stateless() {
            let params = task_extension::CancelExtensionTaskParams::new(self.id.as_str());
            return self.client.send(&params).await.map(drop);
        }
        self.client.send(&task::CancelTaskParams::new(self.id.as_str())).await.map(drop)
    }

    /// Waits for the result of the tool. The client's handlers answer the questions of the task meanwhile.
    ///
    /// # Errors
    /// The task failed or was cancelled, the server does not know it, or the connection is lost.
    ///
    /// # Cancel safety
    /// Dropping the future does not cancel the task.
    pub async fn wait(&self) -> Result<CallToolResult, Error> {
        if !self.client.is_stateless() {
            // The server answers when the task is done, however long that takes.
            let params = task::GetTaskPayloadParams::new(self.id.as_str());
            let request = Request::with_body(mgp_types::Method::TASKS_RESULT, &params)?;
            return self.client.pass(request).await?.body();
        }
        let mut answered = Vec::new();
        loop {
            let task = self.details().await?;
            match task.status {
                TaskStatus::Completed => {
                    let result =
                        task.result.ok_or_else(|| Error::misbehaved("a completed task has no result"))?;
                    return Response::new(result).body();
                }
                TaskStatus::Failed => return Err(failure(task.error.as_ref())),
                TaskStatus::Cancelled => return Err(Error::cancelled()),
                TaskStatus::InputRequired => {
                    self.answer(task.input_requests.unwrap_or_default(), &mut answered).await?;
                }
                _ => {}
            }
            tokio::time::sleep(self.poll_interval).await;
        }
    }

    /// Answers the questions of the task, each once.
    async fn answer(&self, requests: InputRequests, answered: &mut Vec<Box<str>>) -> Result<(), Error> {
        let mut responses = InputResponses::new();
        for (key, question) in requests {
            if answered.contains(&key) {
                continue;
            }
            let question = Object::from_value(&question)
                .map_err(|error| Error::internal("a question cannot be written").with_source(error))?;
            let method = question.text("method").unwrap_or_default().into_owned();
            let params = question.get("params").map(|params| Object::from_raw(&params)).transpose()?;
            let mut request = Request::call(method.as_str(), params.unwrap_or_default());
            request.context.session = self.client.session();
            let answer = (self.client.shared.answering)(request).await?;
            responses.insert(key.clone(), answer.to_raw());
            answered.push(key);
        }
        if responses.is_empty() { Ok(()) } else { self.update(responses).await.map(drop) }
    }
}

/// Returns the error that a failed task ended with, in the form of a call's own error.
fn failure(error: Option<&RawJson>) -> Error {
    let read = error.and_then(|error| {
        let error = Object::from_raw(error).ok()?;
        let code: i64 = error.get("code")?.to().ok()?;
        Some((code, error.text("message").unwrap_or_default().into_owned(), error.get("data")))
    });
    let (code, message, data) = read.unwrap_or((code::INTERNAL_ERROR, "the task failed".into(), None));
    let failure = Error::from_origin(mgp_types::Origin::Peer, code, message);
    if let Some(data) = data { failure.with_data(data) } else { failure }
}

mgp_types::partial_debug!([S] Task<S>, self => id: self.id);
