//! The gate that answers with documents about tools: the catalog, the service manifest, and recommendations.

use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::service::{ListedTool, ManifestFacts, manifest, tool_list};
use mgp_security::auth::KeyScope;
use mgp_security::limit::LimitGate;
use mgp_security::scope::ScopeBook;
use mgp_toolindex::{Index, Search, VisibleTools};
use mgp_types::ext::{
    AuthMethod, DEFAULT_MANIFEST_TTL_SECONDS, ExtensionId, GetManifest, ManifestNotModified, ManifestServer,
    MatchConfidence, RateLimits, RecommendServers, RecommendedServers, ServerRecommendation,
};
use mgp_types::mgp::{Timestamp, method};
use mgp_types::{CacheHint, CacheScope, Error, Flow, Gate, RawJson, Request, RequestKind, Response, code};

use crate::offered::offered;
use crate::router::{CallerView, Visibility};
use crate::running::RunningConfig;
use crate::settings::NAME;

/// A gate that answers `mgp/discovery/catalog`, `mgp/manifest/get` and `mgp/discovery/recommend`, each with what the
/// caller may see and nothing else.
///
/// The methods exist for clients that declare the extension of the method, or that speak MGP. All other requests pass
/// untouched, and cost a look at the first letters of the method.
#[derive(Clone)]
pub(crate) struct ToolDocumentsGate {
    pub(crate) visibility: Arc<Visibility>,
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) index: Index,
    pub(crate) limit: LimitGate,
    pub(crate) scopes: ScopeBook,
}

impl Gate for ToolDocumentsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some(document) = ToolDocument::of(request) else { return Flow::Pass(()) };
        match document {
            ToolDocument::Catalog => Flow::Answer(self.catalog(request)),
            ToolDocument::Manifest => Flow::Answer(self.manifest(request)),
            ToolDocument::Recommendations => {
                let gate = self.clone();
                let request = request.take();
                Flow::answer_later(async move { gate.recommend(&request).await })
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolDocument {
    Catalog,
    Manifest,
    Recommendations,
}

impl ToolDocument {
    /// Returns the document that a request asks for, where its method exists for the caller.
    fn of(request: &Request) -> Option<Self> {
        if request.kind != RequestKind::Call || !request.method.as_str().starts_with("mgp/") {
            return None;
        }
        let (document, extension) = match request.method.as_str() {
            method::DISCOVERY_CATALOG => (Self::Catalog, ExtensionId::ToolRegistry),
            method::MANIFEST_GET => (Self::Manifest, ExtensionId::ServiceManifest),
            method::DISCOVERY_RECOMMEND => (Self::Recommendations, ExtensionId::ServerRecommendations),
            _ => return None,
        };
        let session = request.context.session.as_ref()?;
        (session.mgp.is_some() || session.extensions().has(extension)).then_some(document)
    }
}

impl ToolDocumentsGate {
    fn catalog(&self, request: &Request) -> Result<Response, Error> {
        Ok(private(tool_list(&self.tools(request)?, Timestamp::now()), Duration::ZERO))
    }

    fn manifest(&self, request: &Request) -> Result<Response, Error> {
        let wanted: GetManifest = request.body()?;
        let mut tools = self.tools(request)?;
        if let Some(names) = &wanted.tools {
            let has = |name: &str| tools.iter().any(|tool| tool.name() == name);
            if let Some(unknown) = names.iter().find(|name| !has(name)) {
                let unknown: String = unknown.chars().take(128).collect();
                return Err(Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{unknown}`")));
            }
            tools.retain(|tool| names.iter().any(|name| **name == *tool.name()));
        }
        let manifest = manifest(self.facts(request)?, &tools);
        let fresh = Duration::from_secs(manifest.ttl_seconds());
        match &manifest.revision {
            Some(revision) if wanted.if_revision.as_ref() == Some(revision) => {
                let result = RawJson::from_value(&ManifestNotModified::new(revision.clone()));
                result.map(|result| private(result, fresh)).map_err(unwritable)
            }
            _ => RawJson::from_value(&manifest).map(|result| private(result, fresh)).map_err(unwritable),
        }
    }

    fn facts(&self, request: &Request) -> Result<ManifestFacts, Error> {
        let config = self.config.load();
        let revision = request.context.session()?.revision;
        let principal = request.context.principal.as_ref();
        let rate_limits = self.limit.left(principal).map(|(remaining, renewed_in)| {
            let mut limits = RateLimits::default();
            limits.requests_per_minute = config.limits.agent_calls_per_minute;
            limits.requests_per_day = config.limits.agent_calls_per_day;
            limits.remaining = Some(remaining);
            limits.resets_at = Some(Timestamp::now().saturating_add(renewed_in));
            limits
        });
        let held = self.scopes.held(request)?;
        let methods = vec![AuthMethod::ApiKey, AuthMethod::BearerToken];
        Ok(ManifestFacts {
            server: ManifestServer::new(NAME, env!("CARGO_PKG_VERSION"), revision.as_str()),
            methods: if config.listen.keys_required() {
                methods
            } else {
                [methods, vec![AuthMethod::None]].concat()
            },
            session_ttl_seconds: held.is_some().then_some(ScopeBook::INACTIVITY_TIMEOUT_SECONDS),
            current_scopes: held.map(|held| held.iter().map(Box::from).collect()),
            rate_limits,
            extensions: offered(&config),
            ttl_seconds: DEFAULT_MANIFEST_TTL_SECONDS,
        })
    }

    /// Returns the tools that the caller may call, with the names by which it calls them.
    fn tools(&self, request: &Request) -> Result<Vec<ListedTool>, Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let style = self.config.names(&request.context);
        let snapshot = self.visibility.catalog.snapshot();
        let index = self.index.snapshot();
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
    /// or not. Nothing is connected because of it, and nobody else is asked.
    async fn recommend(&self, request: &Request) -> Result<Response, Error> {
        let asked: RecommendServers = request.body()?;
        let capability = &asked.capability_needed;
        if capability.trim().is_empty() || capability.len() > MAX_CAPABILITY_BYTES {
            return Err(Error::invalid_params("`capability_needed` must have 1 to 256 bytes"));
        }
        let limit = asked.limit.unwrap_or(DEFAULT_RECOMMENDATIONS).clamp(1, MAX_RECOMMENDATIONS) as usize;
        let words = capability.replace(['_', '-'], " ");
        let snapshot = self.index.snapshot();
        let view = CallerView::of(&self.visibility, &request.context)?;
        let visible = VisibleTools::of(&snapshot, |tool| {
            KeyScope::covers(request, tool.server.as_str(), tool.name.as_str())
                && view.finds(&tool.server, &tool.name)
        });
        let search = Search::new(&words).limit(MAX_RECOMMENDATIONS as usize * 2).visible(&visible);
        let found = snapshot.search(&search).await;
        let mut recommended: Vec<ServerRecommendation> = Vec::new();
        for hit in &found.hits {
            let server = hit.tool.server.as_str();
            if recommended.iter().all(|known| &*known.server_name != server) {
                let confidence = MatchConfidence::of(hit.score.into());
                recommended.push(ServerRecommendation::new(capability.clone(), server, confidence));
            }
        }
        recommended.truncate(limit);
        let result = RecommendedServers::new(asked.capability_needed, recommended);
        RawJson::from_value(&result).map(Response::plain).map_err(unwritable)
    }
}

/// Returns a result that only its reader may keep.
fn private(result: RawJson, fresh: Duration) -> Response {
    let mut response = Response::plain(result);
    let ttl_ms = u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX);
    response.context.cache = Some(CacheHint { ttl_ms, scope: CacheScope::Private });
    response
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("the document is not JSON").with_source(error)
}

const MAX_CAPABILITY_BYTES: usize = 256;
const DEFAULT_RECOMMENDATIONS: u32 = 5;
const MAX_RECOMMENDATIONS: u32 = 20;
