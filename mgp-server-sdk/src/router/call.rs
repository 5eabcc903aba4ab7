//! Calls of tools, prompts and resources on their way from the router to a handler, completion, and streams of changes.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mcp::task::TaskMetadata;
use mgp_types::mcp::{
    CompleteParams, CompleteResult, Completion, Reference, SubscriptionFilter,
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use mgp_types::mgp::written;
use mgp_types::{Error, Method, Object, Request, Response, Revision, Session, code};

use super::RouterFuture;
use crate::change::{Change, MAX_SUBSCRIPTIONS, WantedChanges, notification};
use crate::cx::CallExtras;
use crate::method::{ArgumentOwner, CompletionRequest, MethodFuture};
use crate::server_shared::{Catalog, ServerShared};
use crate::tool::{CallInput, TaskMode, ToolEntry, ToolResult, start_task};
use crate::{resource, task};

/// Returns the error for a name that no tool has. A peer that speaks no MGP gets MCP's code in its place.
pub(super) fn unknown_tool(name: &str) -> Error {
    Error::new(code::TOOL_NOT_FOUND, format!("unknown tool: {name}")).with_usual_recovery()
}

/// Returns whether a request is about something that the server has itself, not only about what it passes on. A list is, on its
/// first page.
pub(super) fn is_known(catalog: &Catalog, request: &Request) -> bool {
    let names =
        |member: &str, has: &dyn Fn(&str) -> bool| request.params.text(member).is_some_and(|it| has(&it));
    let is_listed =
        |is_empty: bool| !is_empty && request.params.text("cursor").is_none_or(|cursor| cursor.is_empty());
    match request.method.as_str() {
        "tools/call" => names("name", &|name| catalog.tools.get(name).is_some()),
        "prompts/get" => names("name", &|name| catalog.prompts.get(name).is_some()),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => names("uri", &|uri| {
            catalog.resources.get(uri).is_some()
                || catalog.templates.iter().any(|entry| entry.template.matched(uri).is_some())
        }),
        "completion/complete" => !catalog.completers.is_empty(),
        "tools/list" => is_listed(catalog.tools.is_empty()),
        "prompts/list" => is_listed(catalog.prompts.is_empty()),
        "resources/list" => is_listed(catalog.resources.is_empty()),
        "resources/templates/list" => is_listed(catalog.templates.is_empty()),
        _ => true,
    }
}

/// Calls the tool that the request names.
pub(super) fn tool(shared: &Arc<ServerShared>, request: Request) -> Result<RouterFuture, Error> {
    let catalog = shared.catalog();
    let name = text(&request, "name")?;
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
        Ok(future) => {
            RouterFuture::tool(shared.context.about.registry.limit(&tool.name, future), revision, tool.inline)
        }
        #[cfg(not(feature = "ext"))]
        Ok(future) => RouterFuture::tool(future, revision, tool.inline),
        //= mcp SEP-1303
        //# input validation errors are tool execution errors
        Err(fault) => ToolResult::refused(fault).into_response(revision).into(),
    })
}

/// Returns the text of a member that a request has to have.
pub(super) fn text<'r>(request: &'r Request, member: &str) -> Result<Cow<'r, str>, Error> {
    request.params.text(member).ok_or_else(|| Error::invalid_params(format!("`{member}` is missing")))
}

/// Gets the prompt that the request names.
pub(super) fn prompt(
    shared: &Arc<ServerShared>,
    request: Request,
    revision: Revision,
) -> Result<MethodFuture, Error> {
    let catalog = shared.catalog();
    let name = text(&request, "name")?;
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
    let uri = text(&request, "uri")?.into_owned();
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

/// Completes an argument; an argument without a completion has no values.
pub(super) fn complete(catalog: &Catalog, input: CallInput) -> Result<MethodFuture, Error> {
    let params: CompleteParams = input.request.body()?;
    let owner = match &params.reference {
        Reference::Prompt(prompt) => {
            catalog.prompts.get(&prompt.name).ok_or_else(|| Error::invalid_params("unknown prompt"))?;
            ArgumentOwner::Prompt(prompt.name.as_str().into())
        }
        Reference::Resource(template) => {
            let known = catalog.templates.get(&template.uri).is_some()
                || catalog.resources.get(&template.uri).is_some();
            known.then_some(()).ok_or_else(|| Error::invalid_params("unknown resource template"))?;
            ArgumentOwner::Template(template.uri.as_str().into())
        }
        _ => return Err(Error::invalid_params("unknown kind of reference")),
    };
    let arguments = params.context.and_then(|context| context.arguments).unwrap_or_default();
    let wanted = CompletionRequest { value: params.argument.value, arguments };
    let completer = catalog.completers.get(&(owner, params.argument.name.into()));
    let values = completer.map(|completer| completer(wanted, input));
    Ok(Box::pin(async move {
        let completion = match values {
            Some(values) => bounded(values.await?),
            None => Completion::new([]),
        };
        written(&CompleteResult::new(completion)).map(Response::plain)
    }))
}

const MAX_VALUES: usize = 100;

/// Cuts the values to the number that the specification allows.
fn bounded(mut completion: Completion) -> Completion {
    if completion.values.len() > MAX_VALUES {
        let all = i64::try_from(completion.values.len()).unwrap_or(i64::MAX);
        completion.total.get_or_insert(all);
        completion.has_more = Some(true);
        completion.values.truncate(MAX_VALUES);
    }
    completion
}

/// Serves `subscriptions/listen`: acknowledges the honoured wishes, then sends notifications of changes until the
/// request is dropped or the server ends its subscriptions.
pub(super) async fn listen(shared: Arc<ServerShared>, request: Request) -> Result<Response, Error> {
    let session = request.context.session()?.clone();
    let params: SubscriptionsListenParams = request.body()?;
    let honoured = honour(&shared, &session, &request, params.notifications)?;
    // Listening starts before the acknowledgement, so that no change after it is missed.
    let mailbox = shared.listeners.listen(wanted(&honoured));
    let outbox = request.context.outbox;
    let acknowledged = Object::from_value(&SubscriptionsAcknowledgedParams::new(honoured))
        .map_err(|error| Error::internal("the acknowledgement is not JSON").with_source(error))?;
    outbox.notify(Request::notify(Method::ACKNOWLEDGED, acknowledged)).await?;
    while let Some(change) = mailbox.next().await {
        let notification = match &change {
            Change::Task(id) => shared.context.tasks.stateless_notification(id),
            other => Some(notification(other)),
        };
        if let Some(notification) = notification {
            outbox.notify(notification).await?;
        }
    }
    Ok(Response::empty())
}

/// Returns the wanted notifications that this server sends.
fn honour(
    shared: &ServerShared,
    session: &Session,
    request: &Request,
    wanted: SubscriptionFilter,
) -> Result<SubscriptionFilter, Error> {
    let offered = shared.offered();
    let mut honoured = SubscriptionFilter::new();
    let only = |wanted: Option<bool>, offered: bool| wanted.filter(|wanted| *wanted && offered);
    honoured.tools_list_changed = only(wanted.tools_list_changed, offered.tools);
    honoured.prompts_list_changed = only(wanted.prompts_list_changed, offered.prompts);
    honoured.resources_list_changed = only(wanted.resources_list_changed, offered.resources);
    if let Some(mut uris) = wanted.resource_subscriptions.filter(|_| offered.resources) {
        uris.truncate(MAX_SUBSCRIPTIONS);
        honoured.resource_subscriptions = Some(uris);
    }
    if let Some(mut ids) = wanted.task_ids.filter(|_| offered.tasks) {
        task::declared(session)?;
        ids.retain(|id| shared.context.tasks.find(id, &request.context).is_ok());
        ids.truncate(MAX_SUBSCRIPTIONS);
        honoured.task_ids = Some(ids);
    }
    Ok(honoured)
}

fn wanted(honoured: &SubscriptionFilter) -> WantedChanges {
    let lists = [
        (honoured.tools_list_changed, Change::Tools),
        (honoured.prompts_list_changed, Change::Prompts),
        (honoured.resources_list_changed, Change::Resources),
    ];
    let lists = lists.into_iter().filter_map(|(wanted, change)| (wanted == Some(true)).then_some(change));
    let named = |names: &Option<Vec<String>>, change: fn(Arc<str>) -> Change| {
        names.iter().flatten().map(move |name| change(name.as_str().into())).collect::<Vec<_>>()
    };
    let uris = named(&honoured.resource_subscriptions, Change::Updated);
    lists.chain(uris).chain(named(&honoured.task_ids, Change::Task)).collect()
}
