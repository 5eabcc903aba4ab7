//! Calls of tools that become tasks: by the client's wish, or by the handler.

use std::sync::Arc;

use mgp_types::{Error, Outbox, Request, Response, Revision};

use super::entry::{CallInput, ToolFuture, or_refused};
use super::{IntoToolResult, ToolEntry, ToolResult};
use crate::cx::{CallExtras, Cx};
use crate::server_context::ServerContext;
use crate::task::{self, TaskRun};

/// Runs a call of the tool as a task, and answers the call with the task.
pub(crate) fn start_task(
    server: &Arc<ServerContext>,
    tool: &ToolEntry,
    request: Request,
    ttl: Option<i64>,
) -> Result<Response, Error> {
    run_as_task(server, request, ttl, |request, extras| or_refused(tool.start(CallInput { request, extras })))
}

fn run_as_task(
    server: &Arc<ServerContext>,
    mut request: Request,
    ttl: Option<i64>,
    start: impl FnOnce(Request, CallExtras) -> ToolFuture,
) -> Result<Response, Error> {
    let revision = request.context.session()?.revision;
    let store = &server.tasks;
    let task = store.create(&request.context, ttl)?;
    detach(&mut request);
    let extras = CallExtras { task: Some(TaskRun::new(&task, store)), ..CallExtras::of(server) };
    store.run(&task, outcome(start(request, extras), revision))?;
    task::created(&task, revision)
}

impl Cx {
    /// Continues the call as a task: the call is answered with the task at once, and `work` runs behind the answer.
    ///
    /// The method is for tools with [`TaskMode::Manual`](crate::TaskMode::Manual), after the steps that belong into the
    /// call, like questions. For a client that cannot handle tasks the work is done within the call.
    ///
    /// # Errors
    /// There are too many tasks, or the work itself fails before a task could be made of it.
    pub async fn into_task<F, Fut>(self, work: F) -> Result<ToolResult, Error>
    where
        F: FnOnce(Self) -> Fut,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let session = self.session();
        let can = session.describes_each_request() && task::declared(session).is_ok();
        let extras = self.extras();
        let server = match &extras.server {
            Some(server) if can && extras.may_become_task => server.clone(),
            _ => return work(self).await.into_tool_result(),
        };
        let created = run_as_task(&server, self.request().clone(), None, |request, extras| {
            let future = work(Self::new(request, extras));
            Box::pin(async move { future.await.into_tool_result() })
        });
        created.map(ToolResult::written)
    }
}

/// Cuts the request off from the call that it came in.
fn detach(request: &mut Request) {
    request.context.input = None;
    let session = request.context.session.as_ref();
    request.context.outbox = session.map_or(Outbox::CLOSED, |session| session.outbox.clone());
    // The frame of the call is not kept for as long as the task.
    if let Ok(params) = mgp_types::Object::from_raw(&request.params.to_raw().detached()) {
        request.params = params;
    }
}

async fn outcome(work: ToolFuture, revision: Revision) -> Result<(Response, bool), Error> {
    let result = work.await?;
    let is_error = result.is_error();
    Ok((result.into_response(revision)?, is_error))
}
