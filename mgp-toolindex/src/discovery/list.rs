//! The answer to `tools/list` at each level.

use std::collections::BTreeMap;

use mgp_types::mcp::ForRevision;
use mgp_types::mgp::{MEMBER, method, written};
use mgp_types::{CacheHint, CacheScope, Context, Error, RawJson, Request, Response, Revision};

use super::meta_tool;
use super::shared::DiscoveryShared;
use crate::category::uppermost;
use crate::level::Level;
use crate::session::SessionKey;

/// Answers `tools/list`; `None` if all tools are listed, by an inner service.
///
/// The meta-tools stand in front, then the pinned tools, then the others in the order in which they came: definitions that a model has read stay as they are for as long as possible, and its prompt cache with them.
pub(super) fn answer(shared: &DiscoveryShared, request: &Request) -> Option<Result<Response, Error>> {
    let key = shared.key(&request.context);
    if let Some(level) = wished(request) {
        shared.notifier.listed_elsewhere(&key);
        return (level != Level::L0).then(|| of_level(level, shared, &key, request));
    }
    if shared.awaits_tools(&request.context) {
        // Many hosts ask for the list only once, and an empty one would hide tools that a search finds later.
        let list = of_level(Level::L3, shared, &key, request);
        shared.notifier.listed_too_early(&key, &request.context);
        return Some(list);
    }
    let level = shared.level(&key, &request.context);
    if level == Level::L0 {
        if shared.settings.level.is_none() {
            let (snapshot, who) = (shared.index.snapshot(), (&key, &*request.context));
            shared.with_session(&snapshot, who, |session, view, _| session.listed_whole(view));
        }
        shared.notifier.listed_elsewhere(&key);
        return None;
    }
    Some(of_level(level, shared, &key, request))
}

/// Returns the level that the caller wishes for this one list, as a gateway does that hands the tools on: not a model
/// reads such a list.
fn wished(request: &Request) -> Option<Level> {
    request.params.object(MEMBER)?.get("level")?.to().ok()
}

fn of_level(
    level: Level,
    shared: &DiscoveryShared,
    key: &SessionKey,
    request: &Request,
) -> Result<Response, Error> {
    if request.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(Error::invalid_params("`cursor` is unknown: all tools are on the first page"));
    }
    let context = &request.context;
    let mut tools = meta_tools(level, shared, key, context);
    if level == Level::L3 {
        let snapshot = shared.index.snapshot();
        let list = shared.with_view(&snapshot, context, |view| shared.sessions.listed(key, view));
        tools.extend(list.tools.into_iter().map(|tool| tool.definition.json().clone()));
        shared.notifier.listed(key, context);
    }
    let mut response = Response::plain(written(&BTreeMap::from([("tools", tools)]))?);
    // The list is a session's own, and may be another one after the next call.
    response.context.cache = Some(CacheHint { ttl_ms: 0, scope: CacheScope::Private });
    Ok(response)
}

fn meta_tools(level: Level, shared: &DiscoveryShared, key: &SessionKey, context: &Context) -> Vec<RawJson> {
    let session = context.session.as_deref();
    let revision = session.map_or(Revision::LATEST, |session| session.revision);
    let names = shared.names(context);
    let categories = if level == Level::L1 { categories(shared, key, context) } else { Vec::new() };
    let call = names.write_method(method::TOOLS_CALL, context);
    let tools = meta_tool::tools(&categories).into_iter().map(|mut tool| {
        tool.name = names.write_method(&tool.name, context);
        tool.description = tool.description.map(|text| text.replace(method::TOOLS_CALL, &call));
        tool
    });
    tools.filter_map(|tool| RawJson::from_value(&tool.for_revision(revision)).ok()).collect()
}

/// Returns the categories in which the caller sees a tool.
fn categories(shared: &DiscoveryShared, key: &SessionKey, context: &Context) -> Vec<String> {
    let snapshot = shared.index.snapshot();
    let visible = shared.visible_tools.of(key, context, &snapshot);
    let seen =
        snapshot.tools.iter().filter(|(slot, _)| visible.as_ref().is_none_or(|visible| visible.sees(*slot)));
    uppermost(seen.map(|(_, tool)| &*tool.categories))
}
