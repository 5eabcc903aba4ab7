//! Calls of tools, prompts and resources, on their way from the router to a handler.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mcp::task::TaskMetadata;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Request, Revision, Session, code};

use super::RouterFuture;
use crate::cx::CallExtras;
use crate::method::MethodFuture;
use crate::server_shared::ServerShared;
use crate::tool::{CallInput, TaskMode, ToolEntry, ToolResult, start_task};
use crate::{resource, task};

/// Returns the error for a name that no tool has. A peer that speaks no MGP gets MCP's code in its place.
pub(super) fn unknown_tool(name: &str) -> Error {
    let recovery = Recovery::for_code(code::TOOL_NOT_FOUND).unwrap_or_default();
    Error::new(code::TOOL_NOT_FOUND, format!("unknown tool: {name}")).with_recovery(recovery)
}

/// Calls the tool that the request names.
pub(super) fn tool(shared: &Arc<ServerShared>, request: Request) -> Result<RouterFuture, Error> {
    let catalog = shared.catalog();
    let name = name_of(&request)?;
    let tool = catalog.tools.get(&name).ok_or_else(|| unknown_tool(&name))?;
    let session = request.context.session()?;
    let revision = session.revision;
    #[cfg(feature = "http")]
    if revision.is_stateless() {
        tool.check_headers(&request)?;
    }
    if (tool.mode != TaskMode::Never || shared.context.about.dynamic.tasks && request.params.contains("task"))
        && let Some(task) = as_task(shared, tool, session, &request)?
    {
        return Ok(start_task(&shared.context, tool, request, task.ttl).into());
    }
    let may_become_task = tool.mode == TaskMode::Manual;
    let extras = CallExtras { may_become_task, ..CallExtras::of(&shared.context) };
    Ok(match tool.start(CallInput { request, extras }) {
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
    })
}

fn name_of(request: &Request) -> Result<Cow<'_, str>, Error> {
    request.params.text("name").ok_or_else(|| Error::invalid_params("`name` is missing"))
}

/// Gets the prompt that the request names.
pub(super) fn prompt(
    shared: &Arc<ServerShared>,
    request: Request,
    revision: Revision,
) -> Result<MethodFuture, Error> {
    let catalog = shared.catalog();
    let name = name_of(&request)?;
    let unknown = || Error::invalid_params(format!("unknown prompt: {name}"));
    let prompt = catalog.prompts.get(&name).ok_or_else(unknown)?;
    prompt.get(CallInput { request, extras: CallExtras::of(&shared.context) }, revision)
}

/// Reads the requested resource: the one with this URI, or else one of the first family whose template fits.
pub(super) fn resource(
    shared: &Arc<ServerShared>,
    request: Request,
    revision: Revision,
) -> Result<MethodFuture, Error> {
    let catalog = shared.catalog();
    let uri = uri_of(&request)?.into_owned();
    let input = CallInput { request, extras: CallExtras::of(&shared.context) };
    if let Some(entry) = catalog.resources.get(&uri) {
        return entry.source.read(input, uri, Vec::new(), revision);
    }
    for entry in catalog.templates.iter() {
        if let Some(variables) = entry.template.matched(&uri) {
            return entry.source.read(input, uri, variables, revision);
        }
    }
    Err(resource::not_found(&uri, revision))
}

/// Returns the URI of the resource that a request is about.
pub(super) fn uri_of(request: &Request) -> Result<Cow<'_, str>, Error> {
    request.params.text("uri").ok_or_else(|| Error::invalid_params("`uri` is missing"))
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
) -> Result<Option<TaskMetadata>, Error> {
    if session.describes_each_request() {
        return match (tool.mode, task::declared(session)) {
            (TaskMode::Optional | TaskMode::Required, Ok(())) => Ok(Some(TaskMetadata::new())),
            (TaskMode::Required, Err(undeclared)) => Err(undeclared),
            _ => Ok(None),
        };
    }
    let wanted =
        if has_tasks(session) && shared.offered().tasks { task::session_era::wanted(request)? } else { None };
    let why = match (tool.mode, wanted) {
        (TaskMode::Never | TaskMode::Manual, Some(_)) => "the tool cannot run as a task",
        (TaskMode::Required, None) => "the tool runs as a task only",
        (_, wanted) => return Ok(wanted),
    };
    Err(Error::new(code::METHOD_NOT_FOUND, why))
}
