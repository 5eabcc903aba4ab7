//! Calls of tools, prompts and resources, on their way from the router to a handler.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::Recovery;
use mgp_types::{Error, Request, Revision, Session, code};

use super::RouterFuture;
use crate::cx::CallExtras;
use crate::resource;
use crate::server_shared::ServerShared;
use crate::task::{self, session_era::TaskRequest};
use crate::tool::{CallInput, TaskMode, ToolEntry, ToolResult, start_task};

/// Returns the error for a name that no tool has. A peer that speaks no MGP gets MCP's code in its place.
pub(super) fn unknown_tool(name: &str) -> Error {
    let recovery = Recovery::for_code(code::TOOL_NOT_FOUND).unwrap_or_default();
    Error::new(code::TOOL_NOT_FOUND, format!("unknown tool: {name}")).with_recovery(recovery)
}

/// Calls the tool that the request names.
pub(super) fn tool(shared: &Arc<ServerShared>, request: Request) -> RouterFuture {
    let catalog = shared.catalog();
    let tool = match request.params.text("name") {
        Some(name) => match catalog.tools.get(&name) {
            Some(tool) => tool,
            None => return Err(unknown_tool(&name)).into(),
        },
        None => return Err(Error::invalid_params("`name` is missing")).into(),
    };
    let Some(session) = request.context.session.as_deref() else {
        return Err(Error::invalid_request("the request belongs to no session")).into();
    };
    let revision = session.revision;
    #[cfg(feature = "http")]
    if revision.is_stateless()
        && let Err(error) = tool.check_headers(&request)
    {
        return Err(error).into();
    }
    if tool.mode != TaskMode::Never || shared.context.about.dynamic.tasks && request.params.contains("task") {
        match as_task(shared, tool, session, &request) {
            Ok(None) => {}
            Ok(Some(task)) => return start_task(&shared.context, tool, request, task.ttl).into(),
            Err(error) => return Err(error).into(),
        }
    }
    let may_become_task = tool.mode == TaskMode::Manual;
    let extras = CallExtras { may_become_task, ..CallExtras::of(&shared.context) };
    match tool.start(CallInput { request, extras }) {
        #[cfg(feature = "ext")]
        Ok(future) => RouterFuture::tool(
            shared.context.about.registry.limit(tool.name(), future),
            revision,
            tool.inline,
        ),
        #[cfg(not(feature = "ext"))]
        Ok(future) => RouterFuture::tool(future, revision, tool.inline),
        //= mcp SEP-1303
        //# input validation errors are tool execution errors
        Err(fault) => ToolResult::refused(fault).into_response(revision).into(),
    }
}

/// Gets the prompt that the request names.
pub(super) fn prompt(shared: &Arc<ServerShared>, request: Request, revision: Revision) -> RouterFuture {
    let catalog = shared.catalog();
    let prompt = match request.params.text("name") {
        Some(name) => match catalog.prompts.get(&name) {
            Some(prompt) => prompt,
            None => return Err(Error::invalid_params(format!("unknown prompt: {name}"))).into(),
        },
        None => return Err(Error::invalid_params("`name` is missing")).into(),
    };
    RouterFuture::handed(prompt.get(CallInput { request, extras: CallExtras::of(&shared.context) }, revision))
}

/// Reads the requested resource: the one with this URI, or else one of the first family whose template fits.
pub(super) fn resource(shared: &Arc<ServerShared>, request: Request, revision: Revision) -> RouterFuture {
    let catalog = shared.catalog();
    let Some(uri) = request.params.text("uri").map(Cow::into_owned) else {
        return Err(Error::invalid_params("`uri` is missing")).into();
    };
    let input = CallInput { request, extras: CallExtras::of(&shared.context) };
    if let Some(entry) = catalog.resources.get(&uri) {
        return RouterFuture::handed(entry.source.read(input, uri, Vec::new(), revision));
    }
    for entry in catalog.templates.iter() {
        if let Some(variables) = entry.template.matched(&uri) {
            return RouterFuture::handed(entry.source.read(input, uri, variables, revision));
        }
    }
    Err(resource::not_found(&uri, revision)).into()
}

/// Returns whether the session's revision has tasks.
pub(super) fn has_tasks(session: &Session) -> bool {
    session.revision == Revision::V2025_11_25
}

/// Returns the task that a call runs as; `None` for a call that runs at once.
fn as_task(
    shared: &ServerShared,
    tool: &ToolEntry,
    session: &Session,
    request: &Request,
) -> Result<Option<TaskRequest>, Error> {
    if session.describes_each_request() {
        return match (tool.mode, task::declared(session)) {
            (TaskMode::Optional | TaskMode::Required, Ok(())) => Ok(Some(TaskRequest { ttl: None })),
            (TaskMode::Required, Err(undeclared)) => Err(undeclared),
            _ => Ok(None),
        };
    }
    let wanted =
        if has_tasks(session) && shared.offered().tasks { task::session_era::wanted(request)? } else { None };
    match (tool.mode, wanted) {
        (TaskMode::Never | TaskMode::Manual, Some(_)) => {
            Err(Error::new(mgp_types::code::METHOD_NOT_FOUND, "the tool cannot run as a task"))
        }
        (TaskMode::Required, None) => {
            Err(Error::new(mgp_types::code::METHOD_NOT_FOUND, "the tool runs as a task only"))
        }
        (_, wanted) => Ok(wanted),
    }
}
