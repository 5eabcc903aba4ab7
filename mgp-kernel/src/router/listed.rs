use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_discovery::catalog::CatalogSnapshot;
use mgp_types::{CacheHint, CacheScope, Error, Principal, RawJson, Request, Response};
use parking_lot::Mutex;

use super::Sight;
use crate::parts::Parts;

/// The lists that callers were given last: as bytes, until something else is to be seen.
#[derive(Default)]
pub(super) struct Lists(Mutex<HashMap<(Principal, List), Given, RandomState>>);

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

struct Given {
    of: State,
    list: RawJson,
}

/// What a list depends on beside the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    catalog: u64,
    access: u64,
    changes: u64,
}

impl Lists {
    /// All that the caller may use, on one page.
    pub(super) fn answer(&self, parts: &Parts, list: List, request: &Request) -> Result<Response, Error> {
        if request.params.bytes("cursor").is_some_and(|cursor| cursor != b"null") {
            return Err(Error::invalid_params(
                "`cursor` is none of ours: all there is stands on the first page",
            ));
        }
        let sight = Sight::of(parts, &request.context)?;
        parts.changes.ready(&request.context);
        if list == List::Tools {
            parts.changes.lists_tools(&request.context);
        }
        let mut response = Response::plain(self.list(parts, list, &sight));
        // Another caller may see something else.
        response.context.cache = Some(CacheHint { ttl_ms: FRESH_MS, scope: CacheScope::Private });
        Ok(response)
    }

    fn list(&self, parts: &Parts, list: List, sight: &Sight<'_>) -> RawJson {
        // Read before the catalog: a change in between is seen by whoever asks next.
        let (access, changes) = (parts.access.revision(), parts.changes.revision());
        let snapshot = parts.catalog.snapshot();
        let of = State { catalog: snapshot.generation(), access, changes };
        let key = (sight.principal().clone(), list);
        if let Some(given) = self.0.lock().get(&key).filter(|given| given.of == of) {
            return given.list.clone();
        }
        let written = write(&snapshot, list, sight);
        let mut lists = self.0.lock();
        if lists.len() >= MOST_LISTS {
            lists.clear();
        }
        lists.insert(key, Given { of, list: written.clone() });
        written
    }
}

fn write(snapshot: &CatalogSnapshot, list: List, sight: &Sight<'_>) -> RawJson {
    match list {
        List::Tools => {
            let all = snapshot.tools().iter().map(|tool| (sight.tool(&tool.resolved), tool));
            seen("tools", all, |tool| tool.definition.clone(), || snapshot.tool_list())
        }
        List::Prompts => {
            let all = snapshot.prompts().iter().map(|prompt| (sight.whole(&prompt.server), prompt));
            seen("prompts", all, |prompt| prompt.definition.clone(), || snapshot.prompt_list())
        }
        List::Resources => {
            let all = snapshot.resources().map(|resource| (sight.whole(&resource.server), resource));
            let listed = |resource: &_| snapshot.listed_resource(resource);
            seen("resources", all, |resource| listed(resource), || snapshot.resource_list())
        }
        List::Templates => {
            let all = snapshot.templates().map(|template| (sight.whole(&template.server), template));
            let listed = |template: &_| snapshot.listed_template(template);
            seen("resourceTemplates", all, |template| listed(template), || snapshot.template_list())
        }
    }
}

/// The list of what is seen; if that is everything, the one that everybody shares.
fn seen<T>(
    member: &str,
    all: impl Iterator<Item = (bool, T)>,
    listed: impl Fn(T) -> RawJson,
    whole: impl FnOnce() -> RawJson,
) -> RawJson {
    let mut is_whole = true;
    let mut visible = Vec::new();
    for (is_seen, item) in all {
        is_whole &= is_seen;
        if is_seen {
            visible.push(item);
        }
    }
    if is_whole {
        return whole();
    }
    let mut out = format!(r#"{{"{member}":["#).into_bytes();
    for (place, item) in visible.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(listed(item).as_bytes());
    }
    out.extend_from_slice(b"]}");
    RawJson::from_written(out)
}

/// Servers come and go, and a policy may change at any time.
const FRESH_MS: u64 = 1_000;
const MOST_LISTS: usize = 4096;
