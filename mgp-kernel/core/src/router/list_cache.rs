//! The lists of tools, prompts and resources, as callers last got them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_discovery::catalog::{CatalogPrompt, CatalogSnapshot, CatalogTool};
use mgp_types::ext::scope::Scopes;
use mgp_types::mgp::NameStyle;
use mgp_types::{CacheHint, CacheScope, ClientSessionId, Error, Principal, RawJson, Request, Response};
use parking_lot::Mutex;

use super::Routes;
use crate::visibility::{CallerView, VisibleItems};

/// The lists that callers were last given, as bytes, until the caller would see something else.
#[derive(Default)]
pub(super) struct ListCache(Mutex<HashMap<ListKey, (ListVersion, RawJson), RandomState>>);

/// The list of a caller.
#[derive(PartialEq, Eq, Hash)]
struct ListKey {
    principal: Principal,
    /// The client session of the list, if that has lists of its own.
    client: Option<ClientSessionId>,
    /// The scopes of its token.
    scopes: Option<Arc<Scopes>>,
    list: CatalogKind,
    names: NameStyle,
}

/// The kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CatalogKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// The revisions that a list depends on, beside the caller: of access, of changes, of the servers, of scopes and of the
/// catalog.
type ListVersion = [u64; 5];

impl Routes {
    /// Returns the list of all that the caller may use, on one page.
    pub(super) fn list(&self, list: CatalogKind, request: &Request) -> Result<Response, Error> {
        first_page(request)?;
        let (visibility, changes) = (&self.sections.visibility, &self.sections.changes);
        let view = CallerView::of(visibility, &request.context)?;
        changes.ready(&request.context);
        if list == CatalogKind::Tools {
            changes.lists_tools(&request.context);
        }
        // The revisions are read before the catalog: a change in between is seen by the next caller.
        let (access, changes) = (visibility.policies.access.revision(), changes.revision());
        let (fleet, scopes) = (visibility.fleet.revision(), visibility.policies.scopes.revision());
        let snapshot = visibility.catalog.snapshot();
        let of = [access, changes, fleet, scopes, snapshot.generation()];
        let names = self.sections.config.names(&request.context);
        let (principal, client) = (view.principal.clone(), visibility.fleet.lists_for(&view.principal));
        let key = ListKey { principal, client, scopes: view.scopes.clone(), list, names };
        let list = self.lists.list(key, of, || write(&snapshot, list, &view, names));
        let mut response = Response::plain(list);
        // Another caller may see something else.
        response.context.cache = Some(CacheHint { ttl_ms: FRESH_MS, scope: CacheScope::Private });
        Ok(response)
    }
}

impl ListCache {
    fn list(&self, key: ListKey, of: ListVersion, write: impl FnOnce() -> RawJson) -> RawJson {
        if let Some((_, given)) = self.0.lock().get(&key).filter(|(given_of, _)| *given_of == of) {
            return given.clone();
        }
        let written = write();
        let mut lists = self.0.lock();
        if lists.len() >= MAX_LISTS {
            lists.clear();
        }
        lists.insert(key, (of, written.clone()));
        written
    }
}

/// Checks that a request for a list wants its first page.
///
/// # Errors
/// Fails if it wants another one: there is none.
pub(super) fn first_page(request: &Request) -> Result<(), Error> {
    if request.params.bytes("cursor").is_some_and(|cursor| cursor != b"null") {
        return Err(Error::invalid_params("`cursor` is none of ours: all there is stands on the first page"));
    }
    Ok(())
}

fn write(snapshot: &CatalogSnapshot, list: CatalogKind, view: &CallerView<'_>, names: NameStyle) -> RawJson {
    match list {
        CatalogKind::Tools => {
            let definition = |tool: &CatalogTool| tool.definition(names);
            written("tools", &view.tools(snapshot), definition, || snapshot.tool_list(names))
        }
        CatalogKind::Prompts => {
            let definition = |prompt: &CatalogPrompt| prompt.definition(names);
            written("prompts", &view.prompts(snapshot), definition, || snapshot.prompt_list(names))
        }
        CatalogKind::Resources => {
            let listed = |resource: &_| snapshot.listed(resource);
            written("resources", &view.resources(snapshot), listed, || snapshot.resource_list())
        }
        CatalogKind::Templates => {
            let listed = |template: &_| snapshot.listed(template);
            written("resourceTemplates", &view.templates(snapshot), listed, || snapshot.template_list())
        }
    }
}

/// Returns the list of the visible items; if these are all, the list that everybody shares.
fn written<T>(
    member: &str,
    seen: &VisibleItems<T>,
    listed: impl Fn(&T) -> RawJson,
    whole: impl FnOnce() -> RawJson,
) -> RawJson {
    if seen.is_whole {
        return whole();
    }
    list_of(member, seen.items.iter().map(|item| listed(item)))
}

/// Returns a result with one member, a list.
pub(super) fn list_of(member: &str, items: impl IntoIterator<Item = RawJson>) -> RawJson {
    let mut out = format!(r#"{{"{member}":["#).into_bytes();
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_bytes());
    }
    out.extend_from_slice(b"]}");
    RawJson::from_written(out)
}

/// The time in milliseconds for which a client may take a list as current. Servers come and go, and a policy may change
/// at any time.
const FRESH_MS: u64 = 1_000;
const MAX_LISTS: usize = 4096;
