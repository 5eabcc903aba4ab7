//! The innermost gate in front of a server's connection, which keeps account of the calls that are in work.

use std::sync::Arc;

use mgp_types::mgp::ServerId;
use mgp_types::{
    Error, Flow, Gate, Method, Object, Origin, Principal, Request, RequestKind, Response, Session, code,
};

use crate::call::calls_in_work::{CallInWork, CallsInWork};
use crate::servers::fleet::FleetTables;
use crate::servers::task_table::{TaskKey, TaskPlace, TaskProgress, has_ended, name, rename};

/// The innermost gate of the way to a server: it notes the calls of clients, each until its end, has the server report
/// progress under a number of the kernel's, notes the tasks that calls begin, and lets nobody but its owner ask about a task.
///
/// Sits directly in front of the service that carries calls. Reads `context.principal`, `context.session` and
/// `context.outbox`, and replaces `_meta.progressToken` and `taskId`.
#[derive(Clone)]
pub(crate) struct ForwardGate {
    pub(super) server: ServerId,
    pub(super) calls: CallsInWork,
    pub(super) tasks_at: Arc<TaskPlace>,
    pub(super) tables: Arc<FleetTables>,
}

/// A call that a server works on. It ends when this is dropped, however that happens.
pub(crate) struct ForwardedCall {
    entry: Option<CallInWork>,
    tasks: TaskAnswer,
    tables: Arc<FleetTables>,
}

impl Gate for ForwardGate {
    type Pass = Option<ForwardedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        if request.kind == RequestKind::Notify {
            return Flow::Pass(None);
        }
        let task = match self.tables.tasks.meant_by(request) {
            Ok(Some(task)) if task.place != self.tasks_at => {
                return Flow::refuse(Error::invalid_params("the task goes on at another server"));
            }
            Ok(task) => task,
            Err(error) => return Flow::refuse(error),
        };
        let entry = self.calls.enter(request);
        let number = entry.as_ref().and_then(CallInWork::progress_number);
        let tasks = TaskAnswer::to(request, number, task);
        Flow::Pass(Some(ForwardedCall { entry, tasks, tables: Arc::clone(&self.tables) }))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(call) = call else { return };
        self.answered(&call.tasks, outcome);
        if let Err(error) = outcome
            && error.origin() == Origin::Connection
        {
            let message = format!("{} did not answer the call: {}", self.server, error.message());
            *error = error.clone().with_message(message);
        }
    }
}

impl ForwardGate {
    /// Applies an answer to the tasks that it is about, and puts the ids for their owner into it.
    fn answered(&self, about: &TaskAnswer, outcome: &mut Result<Response, Error>) {
        let tasks = &self.tables.tasks;
        match (about, &mut *outcome) {
            (TaskAnswer::Beginning { owner, progress }, Ok(response)) => {
                tasks.learn(&self.tasks_at, owner, response, || {
                    let (number, session) = progress.as_ref()?;
                    let (_, token) = self.calls.reported(*number)?;
                    Some(TaskProgress { number: *number, session: Arc::downgrade(session), token })
                });
            }
            (TaskAnswer::List(owner), Ok(response)) => {
                if let Err(error) = tasks.keep_own(&self.tasks_at, owner, response) {
                    *outcome = Err(error);
                }
            }
            (TaskAnswer::About { task, shown, method }, outcome) => {
                if is_end(method, outcome) {
                    tasks.end(task);
                }
                if let (Some(shown), Ok(response)) = (shown, outcome) {
                    rename(response, shown);
                }
            }
            _ => {}
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

/// The meaning of a request's answer for tasks.
enum TaskAnswer {
    Nothing,
    /// The answer may begin a task of this owner, which reports under the number to the session.
    Beginning {
        owner: Principal,
        progress: Option<(u64, Arc<Session>)>,
    },
    /// The answer is about a task, which its owner knows by another id than the server if there is one.
    About {
        task: TaskKey,
        shown: Option<Box<str>>,
        method: Method,
    },
    /// The answer lists tasks, of which this owner's alone are shown.
    List(Principal),
}

impl TaskAnswer {
    /// Returns the meaning of the answer to a request, and puts the server's own id of `task`, which it is about, into it.
    fn to(request: &mut Request, number: Option<u64>, task: Option<TaskKey>) -> Self {
        let Request { method, params, context, .. } = request;
        let Some(task) = task else {
            let Some(owner) = &context.principal else { return Self::Nothing };
            if *method == Method::TASKS_LIST {
                return Self::List(owner.clone());
            }
            if *method != Method::TOOLS_CALL {
                return Self::Nothing;
            }
            let session = context.session.as_ref().filter(|session| session.outbox.is_open());
            let progress = number.zip(session.filter(|_| params.contains("task")).cloned());
            return Self::Beginning { owner: owner.clone(), progress };
        };
        let shown: Option<Box<str>> =
            params.text("taskId").filter(|shown| **shown != *task.own).map(Into::into);
        if shown.is_some() {
            name(params, &task.own);
        }
        Self::About { task, shown, method: method.clone() }
    }
}

/// Returns whether the answer to a request about a task means that the task has ended.
fn is_end(method: &Method, outcome: &Result<Response, Error>) -> bool {
    let is_result = *method == Method::TASKS_RESULT;
    match outcome {
        Ok(response) => {
            is_result || Object::from_raw(&response.result).is_ok_and(|status| has_ended(&status))
        }
        // The error is the outcome of the task, or the server no longer knows the task.
        Err(error) => {
            let is_unknown = *method != Method::TASKS_UPDATE && error.code() == code::INVALID_PARAMS;
            error.origin() == Origin::Peer && (is_result || is_unknown)
        }
    }
}
