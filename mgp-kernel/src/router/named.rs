//! Requests for the one server that has a prompt, a resource or a task: each task is with the server that began it.

use std::sync::Arc;

use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, RawJson, Request, Response, code};

use super::Routes;
use super::forward::RouterFuture;
use super::list_cache::{first_page, list_of};
use super::missing::{check_name, check_uri, near, not_found, required, unknown};
use crate::changes::{declares_tasks, subscribe, unsubscribe};
use crate::servers::fan_out::{ask, has, to};
use crate::servers::upstream::Upstream;
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
        let wrong = || {
            Error::invalid_params(
                r#"`ref` is {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}: it says whose argument to complete"#,
            )
        };
        let reference = request.params.get("ref").ok_or_else(wrong)?;
        let mut reference = Object::from_raw(&reference).map_err(|_| wrong())?;
        let kind = reference.text("type").ok_or_else(wrong)?;
        let (member, (server, own)) = match &*kind {
            "ref/prompt" => {
                let name = reference.text("name").ok_or_else(wrong)?;
                ("name", self.prompt_owner(&request, &name)?)
            }
            "ref/resource" => {
                let uri = reference.text("uri").ok_or_else(wrong)?;
                ("uri", self.template_owner(&request, &uri)?)
            }
            _ => return Err(wrong()),
        };
        drop(kind);
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

    /// Sends a request about one task to its server.
    pub(super) fn task(&self, request: Request) -> Result<RouterFuture, Error> {
        let session = request.context.session()?;
        if session.describes_each_request() {
            declares_tasks(session)?;
        }
        required(&request, "taskId", "which task is meant")?;
        let task = self.visibility.fleet.tasks().meant_by(&request)?;
        let task = task.ok_or_else(|| Error::method_not_found(&request.method))?;
        self.to_server(&task.place.line.server, request)
    }

    /// Answers `tasks/list`: the caller's tasks of all servers, on one page.
    pub(super) async fn list_tasks(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        first_page(&request)?;
        let view = CallerView::of(&self.visibility, &request.context)?;
        request.params.remove("cursor");
        let has_list =
            |upstream: &Arc<Upstream>| has(&upstream.capabilities(&view.principal), &["tasks", "list"]);
        let mut open: Vec<_> =
            view.servers().filter(has_list).map(|upstream| (upstream, request.clone())).collect();
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES {
            if open.is_empty() {
                break;
            }
            let answers = ask(open.iter().map(|(upstream, request)| to(upstream, request)).collect()).await;
            open.retain_mut(|(upstream, request)| {
                let answer = answers.iter().find(|(server, _)| server == upstream.id());
                let page = match answer {
                    Some((_, Ok(response))) => Object::from_raw(&response.to_raw()).unwrap_or_default(),
                    Some((server, Err(error))) => {
                        tracing::debug!(%server, %error, "a server does not list its tasks");
                        return false;
                    }
                    None => return false,
                };
                let tasks = page.get("tasks").and_then(|tasks| tasks.to::<Vec<RawJson>>().ok());
                all.extend(tasks.unwrap_or_default());
                let next = page.get("nextCursor").filter(|cursor| !cursor.is_null());
                next.map(|cursor| request.params.set("cursor", cursor)).is_some()
            });
        }
        Ok(Response::plain(list_of("tasks", all)))
    }

    fn prompt_owner(&self, request: &Request, name: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let snapshot = self.visibility.catalog.read();
        if let Some(prompt) = view.prompt(&snapshot, name) {
            return Ok((prompt.server.clone(), Arc::clone(&prompt.name)));
        }
        check_name(&view, request, DefinitionKind::Prompt, name)?;
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
        check_uri(&view, request, uri)?;
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
        check_name(&view, request, DefinitionKind::Template, uri)?;
        self.resource_owner(request, uri)
    }
}

const MAX_PAGES: usize = 16;

fn uri(request: &Request) -> Result<String, Error> {
    required(request, "uri", "which resource is meant")
}

/// Replaces the client's name of an item with the server's. Returns whether the two differ.
fn rename(params: &mut Object, member: &'static str, own: &str) -> bool {
    let is_other = params.text(member).as_deref() != Some(own);
    if is_other {
        params.set(member, RawJson::from_text(own));
    }
    is_other
}
