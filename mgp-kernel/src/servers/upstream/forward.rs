//! The innermost gate in front of a server's connection, which keeps account of the calls that are in work.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Flow, Gate, Method, Object, Origin, Request, RequestKind, Response, Session};

use super::task_progress::TaskProgress;
use crate::call::calls_in_work::{CallInWork, CallsInWork};
use crate::servers::fleet::FleetTables;
use crate::servers::task_locations::begun;

/// The innermost gate of the way to a server: it notes the calls of clients, each until its end, has the server report
/// progress under a number of the kernel's, and follows the progress of tasks that calls begin.
///
/// Sits directly in front of the service that carries calls. Reads `context.session` and `context.outbox`, and replaces
/// `_meta.progressToken`.
#[derive(Clone)]
pub(crate) struct ForwardGate {
    pub(super) server: ServerId,
    pub(super) calls: CallsInWork,
    pub(super) tasks: Arc<TaskProgress>,
    pub(super) tables: Arc<FleetTables>,
}

/// A call that a server works on. It ends when this is dropped, however that happens.
pub(crate) struct ForwardedCall {
    entry: Option<CallInWork>,
    tells: TaskUpdate,
    tables: Arc<FleetTables>,
}

impl Gate for ForwardGate {
    type Pass = Option<ForwardedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        if request.kind == RequestKind::Notify {
            return Flow::Pass(None);
        }
        let entry = self.calls.enter(request);
        let number = entry.as_ref().and_then(CallInWork::progress_number);
        let tells = TaskUpdate::of(request, number, &self.tasks);
        Flow::Pass(Some(ForwardedCall { entry, tells, tables: Arc::clone(&self.tables) }))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        match (outcome, call) {
            (Ok(response), call) => {
                without_server_info(response);
                if let Some(call) = call {
                    self.answered(&call.tells, response);
                }
            }
            (Err(error), Some(_)) if error.origin() == Origin::Connection => {
                let message = format!("{} did not answer the call: {}", self.server, error.message());
                *error = error.clone().with_message(message);
            }
            (Err(_), _) => {}
        }
    }
}

impl ForwardGate {
    /// Applies the answer to the followed tasks: the token of a call that became a task is kept until the task has
    /// ended.
    fn answered(&self, tells: &TaskUpdate, response: &Response) {
        match tells {
            TaskUpdate::Nothing => {}
            TaskUpdate::Beginning(number, session) => {
                let task = begun(&response.result);
                if let Some((task, (_, token))) = task.zip(self.calls.reported(*number)) {
                    self.tasks.follow(*number, task, session, token);
                }
            }
            TaskUpdate::Status => {
                if let Ok(status) = Object::from_raw(&response.result) {
                    self.tasks.hear(&status);
                }
            }
            TaskUpdate::End(task) => self.tasks.end(task),
        }
    }
}

impl Drop for ForwardedCall {
    fn drop(&mut self) {
        if let Some(stream) = self.entry.as_ref().and_then(CallInWork::end) {
            let ways = self.tables.callbacks.lock().end_of_call(stream);
            // Dropped without the lock: a connection may end with its way.
            drop(ways);
        }
    }
}

/// The effect of a call's answer on a task whose progress is followed.
enum TaskUpdate {
    Nothing,
    /// The answer may begin a task, which reports under this number to that session.
    Beginning(u64, Arc<Session>),
    /// The answer has the status of a task.
    Status,
    /// The answer says that this task has ended.
    End(Box<str>),
}

impl TaskUpdate {
    fn of(request: &Request, number: Option<u64>, tasks: &TaskProgress) -> Self {
        let Request { method, params, context, .. } = request;
        if let Some(number) = number {
            let session = context.session.as_ref().filter(|session| session.outbox.is_open());
            return match session.filter(|_| *method == Method::TOOLS_CALL && params.contains("task")) {
                Some(session) => Self::Beginning(number, Arc::clone(session)),
                None => Self::Nothing,
            };
        }
        if tasks.is_empty() {
            Self::Nothing
        } else if *method == Method::TASKS_GET || *method == Method::TASKS_CANCEL {
            Self::Status
        } else if *method == Method::TASKS_RESULT {
            params.text("taskId").map_or(Self::Nothing, |task| Self::End(task.into()))
        } else {
            Self::Nothing
        }
    }
}

static SERVER_INFO: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("serverInfo"));

/// Takes the server's description of itself, icons included, out of `_meta` of the result: clients get that of the kernel.
fn without_server_info(response: &mut Response) {
    // The name of the key may be written with escapes, but its last word hardly is.
    if SERVER_INFO.find(response.result.as_bytes()).is_none() {
        return;
    }
    let Ok(mut result) = Object::from_raw(&response.result) else { return };
    let Some(mut meta) = result.object("_meta").filter(|meta| meta.contains(key::SERVER_INFO)) else {
        return;
    };
    meta.remove(key::SERVER_INFO);
    if meta.is_empty() {
        result.remove("_meta");
    } else {
        result.set("_meta", meta.to_raw());
    }
    response.result = result.to_raw().into();
}

#[cfg(test)]
mod tests {
    use mgp_types::RawJson;

    use super::*;

    #[test]
    fn what_a_server_says_of_itself_is_taken_out_of_its_results_and_nothing_else() {
        for (result, left) in [
            (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"a":1.0}"#, r#"{"a":1.0}"#),
            (
                r#"{"_meta":{"io.modelcontextprotocol\/serverInfo":{},"b":2},"a":1}"#,
                r#"{"_meta":{"b":2},"a":1}"#,
            ),
            (r#"{"a":"serverInfo" }"#, r#"{"a":"serverInfo" }"#),
            (r#"{"_meta":{"x/serverInfo":1}}"#, r#"{"_meta":{"x/serverInfo":1}}"#),
            (
                r#"{"a":{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}}"#,
                r#"{"a":{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}}"#,
            ),
        ] {
            let mut response = Response::new(RawJson::parse(result.to_owned()).unwrap());
            without_server_info(&mut response);
            assert_eq!(response.result.as_bytes(), left.as_bytes());
        }
    }
}
