//! Requests for the one server that has a prompt or a resource.

use std::sync::Arc;

use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, RawJson, Request, Response, code};

use super::forward::{RouterFuture, to_server};
use super::missing::{held_by_name, held_by_uri, near, not_found, unknown};
use super::{CallerView, Visibility};
use crate::notify::changes::{ChangeListeners, subscribe, unsubscribe};
use crate::running::RunningConfig;

/// Answers `prompts/get`.
pub(super) fn prompt(visibility: &Visibility, config: &RunningConfig, mut request: Request) -> RouterFuture {
    let owner = request
        .params
        .text("name")
        .ok_or_else(|| Error::invalid_params("`name` is missing: it says which prompt to get"))
        .and_then(|name| prompt_owner(visibility, config, &request, &name));
    match owner {
        Ok((server, name)) => {
            rename(&mut request.params, "name", &name);
            to_server(&visibility.fleet, &server, request)
        }
        Err(error) => RouterFuture::done(Err(error)),
    }
}

/// Answers `resources/read`.
pub(super) fn read(visibility: &Visibility, mut request: Request) -> RouterFuture {
    match uri(&request).and_then(|uri| resource_owner(visibility, &request, &uri)) {
        Ok((server, uri)) => {
            rename(&mut request.params, "uri", &uri);
            to_server(&visibility.fleet, &server, request)
        }
        Err(error) => RouterFuture::done(Err(error)),
    }
}

/// Answers `completion/complete`.
pub(super) fn complete(
    visibility: &Visibility,
    config: &RunningConfig,
    mut request: Request,
) -> RouterFuture {
    match completed(visibility, config, &request) {
        Ok((server, member, mut reference, own)) => {
            if rename(&mut reference, member, &own) {
                request.params.set("ref", reference.to_raw());
            }
            to_server(&visibility.fleet, &server, request)
        }
        Err(error) => RouterFuture::done(Err(error)),
    }
}

/// Answers `resources/subscribe`.
pub(super) async fn subscribed(
    visibility: Arc<Visibility>,
    changes: Arc<ChangeListeners>,
    request: Request,
) -> Result<Response, Error> {
    let shown = uri(&request)?;
    let (server, own) = resource_owner(&visibility, &request, &shown)?;
    subscribe(&changes, &request.context, &server, &own, &shown).await?;
    Ok(Response::empty())
}

/// Answers `resources/unsubscribe`, also where there was no subscription.
pub(super) fn unsubscribed(changes: &ChangeListeners, request: &Request) -> Result<Response, Error> {
    unsubscribe(changes, &request.context, &uri(request)?);
    Ok(Response::empty())
}

type CompletionTarget = (ServerId, &'static str, Object, Arc<str>);

/// Returns the server whose argument is completed, the member of the reference that names the item, and its name at the
/// server.
fn completed(
    visibility: &Visibility,
    config: &RunningConfig,
    request: &Request,
) -> Result<CompletionTarget, Error> {
    let wrong = || {
        Error::invalid_params(
            r#"`ref` is {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}: it says whose argument to complete"#,
        )
    };
    let reference = request.params.get("ref").ok_or_else(wrong)?;
    let reference = Object::from_raw(&reference).map_err(|_| wrong())?;
    let kind = reference.text("type").ok_or_else(wrong)?;
    let (member, (server, own)) = match &*kind {
        "ref/prompt" => {
            let name = reference.text("name").ok_or_else(wrong)?;
            ("name", prompt_owner(visibility, config, request, &name)?)
        }
        "ref/resource" => {
            let uri = reference.text("uri").ok_or_else(wrong)?;
            ("uri", template_owner(visibility, request, &uri)?)
        }
        _ => return Err(wrong()),
    };
    drop(kind);
    Ok((server, member, reference, own))
}

fn prompt_owner(
    visibility: &Visibility,
    config: &RunningConfig,
    request: &Request,
    name: &str,
) -> Result<(ServerId, Arc<str>), Error> {
    let view = CallerView::of(visibility, &request.context)?;
    let snapshot = visibility.catalog.read();
    if let Some(prompt) = view.prompt(&snapshot, name) {
        return Ok((prompt.server.clone(), Arc::clone(&prompt.name)));
    }
    if let Some(held) = held_by_name(&visibility.definitions, &view, request, DefinitionKind::Prompt, name) {
        return Err(held);
    }
    let visible = view.prompts(&snapshot).items;
    let names = config.names(&request.context);
    let shown: Vec<_> =
        visible.iter().map(|prompt| names.write(prompt.server.as_str(), &prompt.name)).collect();
    let near = near(name, shown.iter().map(String::as_str));
    Err(unknown("prompt", name, "prompts/list", &near, code::INVALID_PARAMS))
}

fn resource_owner(
    visibility: &Visibility,
    request: &Request,
    uri: &str,
) -> Result<(ServerId, Arc<str>), Error> {
    let view = CallerView::of(visibility, &request.context)?;
    let snapshot = visibility.catalog.read();
    if let Some(owner) = view.resource_owner(&snapshot, uri) {
        return Ok((owner.server.clone(), owner.uri.into()));
    }
    if let Some(held) = held_by_uri(&visibility.definitions, &view, request, uri) {
        return Err(held);
    }
    let visible = view.resources(&snapshot).items;
    let near = near(uri, visible.iter().map(|resource| &*resource.uri));
    Err(unknown("resource", uri, "resources/list", &near, not_found(request)))
}

fn template_owner(
    visibility: &Visibility,
    request: &Request,
    uri: &str,
) -> Result<(ServerId, Arc<str>), Error> {
    let view = CallerView::of(visibility, &request.context)?;
    let snapshot = visibility.catalog.read();
    if let Some(owner) = view.template_owner(&snapshot, uri) {
        return Ok((owner.server.clone(), owner.uri.into()));
    }
    drop(snapshot);
    if let Some(held) = held_by_name(&visibility.definitions, &view, request, DefinitionKind::Template, uri) {
        return Err(held);
    }
    resource_owner(visibility, request, uri)
}

fn uri(request: &Request) -> Result<String, Error> {
    let uri = request.params.text("uri").map(std::borrow::Cow::into_owned);
    uri.ok_or_else(|| Error::invalid_params("`uri` is missing: it says which resource is meant"))
}

/// Replaces the client's name of an item with the server's. Returns whether the two differ.
fn rename(params: &mut Object, member: &'static str, own: &str) -> bool {
    let is_other = params.text(member).as_deref() != Some(own);
    if is_other && let Ok(own) = RawJson::from_value(own) {
        params.set(member, own);
    }
    is_other
}
