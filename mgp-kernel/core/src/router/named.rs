//! Requests for the one server that has a prompt, a resource or a task: each task is with the server that began it. And
//! the errors for a caller that names something that it is not offered: it is held back, or it is not there.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_security::definition::{DefinitionKind, server_of};
use mgp_types::mgp::{NameStyle, ServerId, method};
use mgp_types::{Error, Object, RawJson, Request, Response, code};

use super::list_cache::{first_page, list_of};
use super::{RouterFuture, Routes};
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
        subscribe(&self.sections.changes, &request.context, &server, &own, &shown).await?;
        Ok(Response::empty())
    }

    /// Answers `resources/unsubscribe`, also where there was no subscription.
    pub(super) fn unsubscribed(&self, request: &Request) -> Result<Response, Error> {
        unsubscribe(&self.sections.changes, &request.context, &uri(request)?);
        Ok(Response::empty())
    }

    /// Sends a request about one task to its server.
    pub(super) fn task(&self, request: Request) -> Result<RouterFuture, Error> {
        let session = request.context.session()?;
        if session.describes_each_request() {
            declares_tasks(session)?;
        }
        required(&request, "taskId", "which task is meant")?;
        let task = self.sections.fleet.tasks().meant_by(&request)?;
        let task = task.ok_or_else(|| Error::method_not_found(&request.method))?;
        self.to_server(&task.place.connection.server, request)
    }

    /// Answers `tasks/list`: the caller's tasks of all servers, on one page.
    pub(super) async fn list_tasks(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        first_page(&request)?;
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
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
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        let snapshot = self.sections.visibility.catalog.read();
        if let Some(prompt) = view.prompt(&snapshot, name) {
            return Ok((prompt.server.clone(), Arc::clone(&prompt.name)));
        }
        check_name(&view, request, DefinitionKind::Prompt, name)?;
        let visible = view.prompts(&snapshot).items;
        let names = self.sections.config.names(&request.context);
        let shown: Vec<_> =
            visible.iter().map(|prompt| names.write(prompt.server.as_str(), &prompt.name)).collect();
        let near = near(name, shown.iter().map(String::as_str));
        Err(unknown("prompt", name, "prompts/list", &near, code::INVALID_PARAMS))
    }

    fn resource_owner(&self, request: &Request, uri: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        let snapshot = self.sections.visibility.catalog.read();
        if let Some(owner) = view.resource_owner(&snapshot, uri) {
            return Ok((owner.server.clone(), owner.uri.into()));
        }
        check_uri(&view, request, uri)?;
        let visible = view.resources(&snapshot).items;
        let near = near(uri, visible.iter().map(|resource| &*resource.uri));
        Err(unknown("resource", uri, "resources/list", &near, not_found(request)))
    }

    fn template_owner(&self, request: &Request, uri: &str) -> Result<(ServerId, Arc<str>), Error> {
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        let snapshot = self.sections.visibility.catalog.read();
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

/// Fails with the reason why the caller cannot call the tool that it names: its definition is held back, the configuration
/// switches it off, or no server has such a tool.
pub(super) fn missing_tool(routes: &Routes, request: &Request) -> Result<RouterFuture, Error> {
    let (visibility, config) = (&routes.sections.visibility, &routes.sections.config);
    let name = required(request, "name", "which tool to call")?;
    let view = CallerView::of(visibility, &request.context)?;
    check_name(&view, request, DefinitionKind::Tool, &name)?;
    if let Some(message) = switched_off(&view, &name) {
        return Err(Error::new(code::TOOL_DISABLED, message).with_usual_recovery());
    }
    let snapshot = visibility.catalog.snapshot();
    let near = snapshot.near(&name, |tool| view.finds(&tool.resolved.server, &tool.resolved.name));
    let style = config.names(&request.context);
    let names: Vec<_> = near
        .iter()
        .map(|tool| style.write(tool.resolved.server.as_str(), tool.resolved.name.as_str()))
        .collect();
    let near: Vec<_> = names.iter().map(String::as_str).collect();
    let search = style.write_method(method::TOOLS_DISCOVER, &request.context);
    Err(unknown("tool", &name, &search, &near, code::TOOL_NOT_FOUND).with_usual_recovery())
}

/// Returns what switches the tool off that the caller means by `named`, if it may otherwise call it.
fn switched_off(view: &CallerView<'_>, named: &str) -> Option<String> {
    view.servers().find_map(|upstream| {
        let (id, config) = (upstream.id(), upstream.config());
        let bare = named.strip_prefix(id.as_str());
        let bare = bare.and_then(|rest| BORDERS.iter().find_map(|border| rest.strip_prefix(border)));
        let is_meant = |name: &&str| NameStyle::any_is(named, id.as_str(), name);
        let tool = config.tools.keys().map(String::as_str).find(is_meant).or(bare)?;
        (config.has_off(tool) && view.is_permitted(id, tool)).then(|| {
            format!("the tool `{tool}` of `{id}` is switched off; `enabled` in [servers.tools] of mgp.toml decides")
        })
    })
}

/// Checks that no definition of a tool, prompt or template that the caller may use, and means by `named`, is held back.
///
/// # Errors
/// Fails with the reason why the caller cannot have it.
fn check_name(
    view: &CallerView<'_>,
    request: &Request,
    kind: DefinitionKind,
    named: &str,
) -> Result<(), Error> {
    let definitions = &view.visibility.policies.definitions;
    let held = definitions.held(kind).into_iter().find(|(holder, name)| {
        let own = name.as_str();
        let is_meant = own == named
            || kind != DefinitionKind::Template && {
                let server = server_of(holder);
                let dotted = named.strip_prefix(server).and_then(|rest| rest.strip_prefix(['.', '/']));
                dotted == Some(own) || NameStyle::any_is(named, server, own)
            };
        is_meant && view.concerns(holder, name)
    });
    let Some((holder, name)) = held else { return Ok(()) };
    let refusal = definitions.hold(&holder, &name).map(|hold| hold.refusal(&holder, &name, &request.context));
    refusal.map_or(Ok(()), Err)
}

/// Checks that no server that the caller may use holds back the definition of the resource `uri`, or that of its template.
///
/// # Errors
/// Fails with the reason why the caller cannot read it.
fn check_uri(view: &CallerView<'_>, request: &Request, uri: &str) -> Result<(), Error> {
    let refusal = view.servers().find_map(|upstream| {
        let holder = view.holder(upstream.id().as_str());
        let (name, hold) = view.visibility.policies.definitions.hold_of_uri(&holder, uri)?;
        view.concerns(&holder, &name).then(|| hold.refusal(&holder, &name, &request.context))
    });
    refusal.map_or(Ok(()), Err)
}

/// Returns the code for a resource that does not exist: MCP's own where the peer speaks no MGP.
fn not_found(request: &Request) -> i64 {
    let speaks_mgp = request.context.session.as_ref().is_some_and(|session| session.mgp.is_some());
    if speaks_mgp { code::RESOURCE_NOT_FOUND } else { code::MCP_RESOURCE_NOT_FOUND }
}

/// Returns the error that no server has what the caller names, with the names that are like it.
fn unknown(what: &str, name: &str, list: &str, near: &[&str], code: i64) -> Error {
    let message = if near.is_empty() {
        format!("there is no {what} `{name}`; `{list}` names those there are")
    } else {
        format!("there is no {what} `{name}`; did you mean `{}`?", near.join("`, `"))
    };
    Error::new(code, message)
}

/// Returns a few of the names that differ from this one in no letter but case, contain it, or are contained in it.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = letters(name);
    let is_near = |other: &&str| {
        let other = letters(other);
        let shorter = name.len().min(other.len());
        shorter >= SHORTEST && (other.contains(&name) || name.contains(&other))
    };
    known.filter(is_near).take(MAX_NEAR).collect()
}

/// Returns the server that a request names, of those that its caller reaches.
pub(super) fn named_server(servers: &[Arc<Upstream>], named: &str) -> Result<Arc<Upstream>, Error> {
    let found = servers.iter().find(|upstream| upstream.id().as_str() == named);
    found.map(Arc::clone).ok_or_else(|| {
        let near = near(named, servers.iter().map(|upstream| upstream.id().as_str()));
        let like =
            if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) };
        Error::invalid_params(format!("there is no server `{named}`{like}"))
    })
}

/// Returns the text of a member that a request needs, which says what the request means.
fn required(request: &Request, member: &str, what: &str) -> Result<String, Error> {
    let text = request.params.text(member).map(Cow::into_owned);
    text.ok_or_else(|| Error::invalid_params(format!("`{member}` is missing: it says {what}")))
}

fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The signs between the id of a server and the name of its tool, in the styles that clients may use.
const BORDERS: [&str; 3] = [".", "/", "__"];
const SHORTEST: usize = 3;
const MAX_NEAR: usize = 3;
