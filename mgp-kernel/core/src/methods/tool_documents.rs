//! The documents about tools: the catalog, the service manifest, and recommendations, each with what the caller may see and
//! nothing else.

use std::num::NonZeroU32;
use std::time::Duration;

use mgp_discovery::service::{ListedTool, ManifestFacts, manifest, tool_list};
use mgp_security::auth::KeyScope;
use mgp_security::scope::ScopeBook;
use mgp_toolindex::{Search, VisibleTools};
use mgp_types::ext::{
    AuthMethod, DEFAULT_MANIFEST_TTL_SECONDS, GetManifest, ManifestNotModified, ManifestServer,
    MatchConfidence, RateLimits, RecommendServers, RecommendedServers, ServerRecommendation,
};
use mgp_types::mgp::{ServerState, Timestamp};
use mgp_types::{CacheHint, CacheScope, Error, Request, Response, code};

use crate::sections::Sections;
use crate::settings::{NAME, offered};
use crate::visibility::CallerView;

pub(crate) fn catalog(kernel: &Sections, request: &Request) -> Result<Response, Error> {
    Ok(private(Response::plain(tool_list(&tools(kernel, request)?, Timestamp::now())), Duration::ZERO))
}

pub(crate) fn service_manifest(kernel: &Sections, request: &Request) -> Result<Response, Error> {
    let wanted: GetManifest = request.body()?;
    let mut tools = tools(kernel, request)?;
    if let Some(names) = &wanted.tools {
        let has = |name: &str| tools.iter().any(|tool| tool.name() == name);
        if let Some(unknown) = names.iter().find(|name| !has(name)) {
            let unknown: String = unknown.chars().take(128).collect();
            return Err(Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{unknown}`")));
        }
        tools.retain(|tool| names.iter().any(|name| **name == *tool.name()));
    }
    let manifest = manifest(facts(kernel, request)?, &tools);
    let fresh = Duration::from_secs(manifest.ttl_seconds());
    let result = match &manifest.revision {
        Some(revision) if wanted.if_revision.as_ref() == Some(revision) => {
            Response::with_body(&ManifestNotModified::new(revision.clone()))
        }
        _ => Response::with_body(&manifest),
    };
    Ok(private(result?, fresh))
}

fn facts(kernel: &Sections, request: &Request) -> Result<ManifestFacts, Error> {
    let config = kernel.config.load();
    let revision = request.context.session()?.revision;
    let principal = request.context.principal.as_ref();
    let rate_limits = kernel.policies.limit.left(principal).map(|(rates, remaining, renewed_in)| {
        let mut limits = RateLimits::default();
        limits.requests_per_minute = rates.requests_per_minute.map(NonZeroU32::get);
        limits.requests_per_day = rates.requests_per_day.map(NonZeroU32::get);
        limits.remaining = Some(remaining);
        limits.resets_at = Some(Timestamp::now().saturating_add(renewed_in));
        limits
    });
    let held = kernel.visibility.policies.scopes.held(request)?;
    let keyless = (!config.listen.keys_required()).then_some(AuthMethod::None);
    Ok(ManifestFacts {
        server: ManifestServer::new(NAME, env!("CARGO_PKG_VERSION"), revision.as_str()),
        methods: [AuthMethod::ApiKey, AuthMethod::BearerToken].into_iter().chain(keyless).collect(),
        session_ttl_seconds: held.is_some().then_some(ScopeBook::INACTIVITY_TIMEOUT_SECONDS),
        current_scopes: held.map(|held| held.iter().map(Box::from).collect()),
        rate_limits,
        extensions: offered(&config),
        ttl_seconds: DEFAULT_MANIFEST_TTL_SECONDS,
    })
}

/// Returns the tools that the caller may call, with the names by which it calls them.
fn tools(kernel: &Sections, request: &Request) -> Result<Vec<ListedTool>, Error> {
    let view = CallerView::of(&kernel.visibility, &request.context)?;
    let style = kernel.config.names(&request.context);
    let snapshot = kernel.visibility.catalog.snapshot();
    let index = kernel.tools.index.snapshot();
    let listed = view.tools(&snapshot).items.into_iter().filter_map(|tool| {
        let (server, name) = (&tool.resolved.server, &tool.resolved.name);
        if !KeyScope::covers(request, server.as_str(), name.as_str()) {
            return None;
        }
        let indexed = index.tool(server.as_str(), name.as_str());
        let tags = indexed.map(|tool| tool.categories.iter().map(ToString::to_string).collect());
        Some(ListedTool {
            server: server.as_str().into(),
            definition: mgp_types::Object::from_raw(&tool.definition(style)).ok()?,
            tags: tags.unwrap_or_default(),
        })
    });
    Ok(listed.collect())
}

/// Answers with the servers that have a tool for the capability which the caller may call, whether they are connected
/// or not. Servers that failed or were stopped are left out. Nothing is connected because of it, and nobody else is asked.
pub(crate) async fn recommend(kernel: &Sections, request: &Request) -> Result<Response, Error> {
    let asked: RecommendServers = request.body()?;
    let capability = &asked.capability_needed;
    if capability.trim().is_empty() || capability.len() > MAX_CAPABILITY_BYTES {
        return Err(Error::invalid_params("`capability_needed` must have 1 to 256 bytes"));
    }
    let limit = asked.limit.unwrap_or(DEFAULT_RECOMMENDATIONS).clamp(1, MAX_RECOMMENDATIONS) as usize;
    let words = capability.replace(['_', '-'], " ");
    let snapshot = kernel.tools.index.snapshot();
    let view = CallerView::of(&kernel.visibility, &request.context)?;
    let visible = VisibleTools::of(&snapshot, |tool| {
        KeyScope::covers(request, tool.server.as_str(), tool.name.as_str())
            && view.finds(&tool.server, &tool.name)
    });
    let search = Search::new(&words).limit(MAX_RECOMMENDATIONS as usize * 2).visible(&visible);
    let found = snapshot.search(&search).await;
    let mut recommended: Vec<ServerRecommendation> = Vec::new();
    for hit in &found.hits {
        let server = hit.tool.server.as_str();
        if recommended.iter().all(|known| &*known.server_name != server) && is_usable(kernel, server) {
            let confidence = MatchConfidence::of(hit.score.into());
            recommended.push(ServerRecommendation::new(capability.clone(), server, confidence));
        }
    }
    recommended.truncate(limit);
    Response::with_body(&RecommendedServers::new(asked.capability_needed, recommended))
}

fn is_usable(kernel: &Sections, server: &str) -> bool {
    let state = kernel.fleet.get(server).map(|server| server.state());
    state.is_some_and(|state| !matches!(state, ServerState::Error | ServerState::Disconnected))
}

/// Returns a result that only its reader may keep.
fn private(mut response: Response, fresh: Duration) -> Response {
    let ttl_ms = u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX);
    response.context.cache = Some(CacheHint { ttl_ms, scope: CacheScope::Private });
    response
}

const MAX_CAPABILITY_BYTES: usize = 256;
const DEFAULT_RECOMMENDATIONS: u32 = 5;
const MAX_RECOMMENDATIONS: u32 = 20;
