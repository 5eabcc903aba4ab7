//! Requests for the one server that has a prompt or a resource.

use std::sync::Arc;

use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, RawJson, Request, Response, code};

use super::Routes;
use super::forward::RouterFuture;
use super::missing::{held_by_name, held_by_uri, near, not_found, required, unknown};
use crate::changes::{subscribe, unsubscribe};
use crate::visibility::CallerView;

impl Routes {
    /// Answers `prompts/get`.
    pub(super) fn prompt(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let name = required(&request, "name", "which prompt to get")?;
        let (server, name) = self.prompt_owner(&request, &name)?;
        rename(&mut request.params, "name", &name);
        self.to_server(&server, request)
    }

    /// Answers `resources/read`.
    pub(super) fn read(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let (server, uri) = self.resource_owner(&request, &uri(&request)?)?;
        rename(&mut request.params, "uri", &uri);
        self.to_server(&server, request)
    }

    /// Answers `completion/complete`.
    pub(super) fn complete(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let (server, member, mut reference, own) = self.completed(&request)?;
        if rename(&mut reference, member, &own) {
            request.params.set("ref", reference.to_raw());
        }
        self.to_server(&server, request)
    }

    /// Answers `resources/subscribe`.
    pub(super) async fn subscribed(self: Arc<Self>, request: Request) -> Result<Response, Error> {
        let shown = uri(&request)?;
        let (server, own) = self.resource_owner(&request, &shown)?;
        subscribe(&self.changes, &request.context, &server, &own, &shown).await?;
        Ok(Response::empty())
    }

    /// Answers `resources/unsubscribe`, also where there was no subscription.
    pub(super) fn unsubscribed(&self, request: &Request) -> Result<Response, Error> {
        unsubscribe(&self.changes, &request.context, &uri(request)?);
        Ok(Response::empty())
    }

    /// Returns the server whose argument is completed, the member of the reference that names the item, and its name at the
    /// server.
    fn completed(&self, request: &Request) -> Result<CompletionTarget, Error> {
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
                ("name", self.prompt_owner(request, &name)?)
            }
            "ref/resource" => {
                let uri = reference.text("uri").ok_or_else(wrong)?;
                ("uri", self.template_owner(request, &uri)?)
            }
            _ => return Err(wrong()),
        };
        drop(kind);
        Ok((server, member, reference, own))
    }

    fn prompt_owner(&self, request: &Request, name: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let snapshot = self.visibility.catalog.read();
        if let Some(prompt) = view.prompt(&snapshot, name) {
            return Ok((prompt.server.clone(), Arc::clone(&prompt.name)));
        }
        if let Some(held) =
            held_by_name(&self.visibility.definitions, &view, request, DefinitionKind::Prompt, name)
        {
            return Err(held);
        }
        let visible = view.prompts(&snapshot).items;
        let names = self.config.names(&request.context);
        let shown: Vec<_> =
            visible.iter().map(|prompt| names.write(prompt.server.as_str(), &prompt.name)).collect();
        let near = near(name, shown.iter().map(String::as_str));
        Err(unknown("prompt", name, "prompts/list", &near, code::INVALID_PARAMS))
    }

    fn resource_owner(&self, request: &Request, uri: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let snapshot = self.visibility.catalog.read();
        if let Some(owner) = view.resource_owner(&snapshot, uri) {
            return Ok((owner.server.clone(), owner.uri.into()));
        }
        if let Some(held) = held_by_uri(&self.visibility.definitions, &view, request, uri) {
            return Err(held);
        }
        let visible = view.resources(&snapshot).items;
        let near = near(uri, visible.iter().map(|resource| &*resource.uri));
        Err(unknown("resource", uri, "resources/list", &near, not_found(request)))
    }

    fn template_owner(&self, request: &Request, uri: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let snapshot = self.visibility.catalog.read();
        if let Some(owner) = view.template_owner(&snapshot, uri) {
            return Ok((owner.server.clone(), owner.uri.into()));
        }
        drop(snapshot);
        if let Some(held) =
            held_by_name(&self.visibility.definitions, &view, request, DefinitionKind::Template, uri)
        {
            return Err(held);
        }
        self.resource_owner(request, uri)
    }
}

type CompletionTarget = (ServerId, &'static str, Object, Arc<str>);

fn uri(request: &Request) -> Result<String, Error> {
    required(request, "uri", "which resource is meant")
}

/// Replaces the client's name of an item with the server's. Returns whether the two differ.
fn rename(params: &mut Object, member: &'static str, own: &str) -> bool {
    let is_other = params.text(member).as_deref() != Some(own);
    if is_other && let Ok(own) = RawJson::from_value(own) {
        params.set(member, own);
    }
    is_other
}
