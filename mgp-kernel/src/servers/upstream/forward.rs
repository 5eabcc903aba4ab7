//! The innermost service in front of a server's connection, which numbers the progress of calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use memchr::memmem;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::ServerId;
use mgp_types::{
    Error, Method, Object, Origin, RawJson, Request, RequestKind, Response, RpcService, Session, StreamId,
};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::reports::CallReports;
use crate::notify::changes::tasks::begun;
use crate::servers::fleet::FleetBooks;

/// The innermost service of the way to a server: it has the server report progress under a number of the kernel's, as
/// callers may choose the same tokens.
///
/// Sits directly in front of the service that carries calls. Reads `context.outbox`, and replaces
/// `_meta.progressToken`. A call without a token takes no lock and allocates nothing.
#[derive(Clone)]
pub(crate) struct ForwardToServer<S> {
    inner: S,
    server: ServerId,
    reports: CallReports,
    books: Arc<FleetBooks>,
}

impl<S> ForwardToServer<S> {
    pub(super) fn new(inner: S, server: ServerId, reports: CallReports, books: Arc<FleetBooks>) -> Self {
        Self { inner, server, reports, books }
    }

    /// Replaces the progress token of the call by a number, if its caller wants progress.
    fn number(&self, request: &mut Request) -> Option<u64> {
        // The token outlives the frame that it came in.
        let token = request.meta_mut()?.get(key::PROGRESS_TOKEN)?.detached();
        let number = self.reports.enter(request.context.outbox.clone(), token);
        request.meta_mut()?.set(key::PROGRESS_TOKEN, RawJson::from_written(number.to_string().into_bytes()));
        Some(number)
    }
}

impl<S: RpcService> Service<Request> for ForwardToServer<S> {
    type Response = Response;
    type Error = Error;
    type Future = ForwardToServerFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let in_work = (request.kind == RequestKind::Call).then(|| {
            let number = self.number(&mut request);
            ForwardedCall {
                number,
                server: self.server.clone(),
                tells: TaskUpdate::of(&request, number, &self.reports),
                stream: request.context.outbox.stream(),
                reports: self.reports.clone(),
                books: Arc::clone(&self.books),
            }
        });
        ForwardToServerFuture { inner: self.inner.call(request), in_work }
    }
}

/// A guard of a call, which forgets the call's progress when it is over.
struct ForwardedCall {
    number: Option<u64>,
    server: ServerId,
    tells: TaskUpdate,
    stream: StreamId,
    reports: CallReports,
    books: Arc<FleetBooks>,
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
    fn of(request: &Request, number: Option<u64>, reports: &CallReports) -> Self {
        let Request { method, params, context, .. } = request;
        if let Some(number) = number {
            let session = context.session.as_ref().filter(|session| session.outbox.is_open());
            return match session.filter(|_| *method == Method::TOOLS_CALL && params.contains("task")) {
                Some(session) => Self::Beginning(number, Arc::clone(session)),
                None => Self::Nothing,
            };
        }
        if reports.tasks().is_empty() {
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

impl ForwardedCall {
    /// Applies the answer to the followed tasks: the token of a call that became a task is kept until the task has
    /// ended.
    fn answered(&self, response: &Response) {
        let tasks = self.reports.tasks();
        match &self.tells {
            TaskUpdate::Nothing => {}
            TaskUpdate::Beginning(number, session) => {
                let task = begun(&response.result);
                if let Some((task, (_, token))) = task.zip(self.reports.reported(*number)) {
                    tasks.follow(*number, task, session, token);
                }
            }
            TaskUpdate::Status => {
                if let Ok(status) = Object::from_raw(&response.result) {
                    tasks.hear(&status);
                }
            }
            TaskUpdate::End(task) => tasks.end(task),
        }
    }
}

impl Drop for ForwardedCall {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.reports.leave(number);
        }
        if self.reports.end(self.stream) {
            let ways = self.books.callbacks().lock().end_of_call(self.stream);
            // Dropped without the lock: a connection may end with its way.
            drop(ways);
        }
    }
}

pin_project! {
    /// The future of [`ForwardToServer`].
    pub(crate) struct ForwardToServerFuture<F> {
        #[pin]
        inner: F,
        // The call ends with the future, however that ends.
        in_work: Option<ForwardedCall>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ForwardToServerFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let outcome = ready!(this.inner.poll(cx)).map(without_server_info);
        let Some(in_work) = this.in_work.take() else { return Poll::Ready(outcome) };
        Poll::Ready(match outcome {
            Err(error) if error.origin() == Origin::Connection => {
                let message = format!("{} did not answer the call: {}", in_work.server, error.message());
                Err(error.with_message(message))
            }
            Ok(response) => {
                in_work.answered(&response);
                Ok(response)
            }
            Err(error) => Err(error),
        })
    }
}

/// Returns the result without the server's description of itself in `_meta`, icons included: clients get that of the
/// kernel.
fn without_server_info(mut response: Response) -> Response {
    // The name of the key may be written with escapes, but its last word hardly is.
    if memmem::find(response.result.as_bytes(), b"serverInfo").is_none() {
        return response;
    }
    let Ok(mut result) = Object::from_raw(&response.result) else { return response };
    let meta = result.object("_meta");
    let Some(mut meta) = meta.filter(|meta| meta.contains(key::SERVER_INFO)) else { return response };
    meta.remove(key::SERVER_INFO);
    if meta.is_empty() {
        result.remove("_meta");
    } else {
        result.set("_meta", meta.to_raw());
    }
    response.result = result.to_raw().into();
    response
}

#[cfg(test)]
mod tests {
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
            let response = Response::new(RawJson::parse(result.to_owned()).unwrap());
            assert_eq!(without_server_info(response).result.as_bytes(), left.as_bytes());
        }
    }
}
