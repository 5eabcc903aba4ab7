//! The errors for a caller that names something that it is not offered: it is held back, or it is not there.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_security::definition::{DefinitionKind, server_of};
use mgp_types::mgp::{NameStyle, method};
use mgp_types::{Error, Request, code};

use super::Routes;
use super::forward::RouterFuture;
use crate::servers::upstream::Upstream;
use crate::visibility::CallerView;

/// Fails with the reason why the caller cannot call the tool that it names: its definition is held back, the configuration
/// switches it off, or no server has such a tool.
pub(super) fn tool(routes: &Routes, request: &Request) -> Result<RouterFuture, Error> {
    let Routes { visibility, config, .. } = routes;
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
pub(super) fn check_name(
    view: &CallerView<'_>,
    request: &Request,
    kind: DefinitionKind,
    named: &str,
) -> Result<(), Error> {
    let definitions = &view.visibility.definitions;
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
pub(super) fn check_uri(view: &CallerView<'_>, request: &Request, uri: &str) -> Result<(), Error> {
    let refusal = view.servers().find_map(|upstream| {
        let holder = view.holder(upstream.id().as_str());
        let (name, hold) = view.visibility.definitions.hold_of_uri(&holder, uri)?;
        view.concerns(&holder, &name).then(|| hold.refusal(&holder, &name, &request.context))
    });
    refusal.map_or(Ok(()), Err)
}

/// Returns the code for a resource that does not exist: MCP's own where the peer speaks no MGP.
pub(super) fn not_found(request: &Request) -> i64 {
    let speaks_mgp = request.context.session.as_ref().is_some_and(|session| session.mgp.is_some());
    if speaks_mgp { code::RESOURCE_NOT_FOUND } else { code::MCP_RESOURCE_NOT_FOUND }
}

/// Returns the error that no server has what the caller names, with the names that are like it.
pub(super) fn unknown(what: &str, name: &str, list: &str, near: &[&str], code: i64) -> Error {
    Error::new(
        code,
        if near.is_empty() {
            format!("there is no {what} `{name}`; `{list}` names those there are")
        } else {
            format!("there is no {what} `{name}`; did you mean `{}`?", near.join("`, `"))
        },
    )
}

/// Returns a few of the names that differ from this one in no letter but case, contain it, or are contained in it.
pub(super) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
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
pub(super) fn required(request: &Request, member: &str, what: &str) -> Result<String, Error> {
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
