//! The answers to the methods of tool discovery.

use std::collections::BTreeSet;
use std::sync::Arc;

use mgp_types::mgp::{
    DiscoverTools, DiscoveredTools, Extension, FoundTool, MethodForm, NameStyle, RiskLevel, ServerId,
    ServerState, ToolSecurity, method, written,
};
use mgp_types::{Context, Error, Object, RawJson, Request, RequestKind, Response, Revision};
use tokio::time::Instant;

use super::request::request as request_tools;
use super::shared::DiscoveryShared;
use super::{meta_tool, params};
use crate::budget::ListedDefinition;
use crate::{Search, Snapshot, Tool};

/// Answers a method or a tool of discovery.
pub(super) async fn answer(
    shared: Arc<DiscoveryShared>,
    asked: DiscoveryRequest,
    request: Request,
) -> Result<Response, Error> {
    if request.kind == RequestKind::Notify {
        return Err(Error::invalid_request("tools are searched by calls, not by notifications"));
    }
    let outcome = result(&shared, asked, &request).await;
    let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
    asked.form.answer(outcome, revision)
}

async fn result(
    shared: &Arc<DiscoveryShared>,
    asked: DiscoveryRequest,
    request: &Request,
) -> Result<RawJson, Error> {
    let params = asked.params(request)?;
    let context = &request.context;
    let key = shared.key(context);
    match asked.method {
        method::TOOLS_DISCOVER => {
            let discovered = discover(shared, context, &params).await?;
            // The answer is in the list now, and may have pushed other tools out.
            shared.notifier.loaded(shared, &key);
            written(&discovered)
        }
        // A call that names a tool has become one of that tool.
        method::TOOLS_CALL => {
            let reserved = || Error::invalid_request("no server has a tool of this name");
            Err(meta_tool::named(request).err().unwrap_or_else(reserved))
        }
        method::TOOLS_REQUEST => written(&request_tools(shared, request, &params).await?),
        method::TOOLS_SESSION => {
            let (snapshot, who) = (shared.index.snapshot(), (&key, &**context));
            written(&shared.with_session(&snapshot, who, |session, _, settings| session.state(settings)))
        }
        _ => {
            let evict = params::evict(&params)?;
            let snapshot = shared.index.snapshot();
            let evicted = shared.with_session(&snapshot, (&key, context), |session, _, settings| {
                session.evict(settings, &evict)
            });
            shared.notifier.changed(shared, &key);
            written(&evicted)
        }
    }
}

/// The method that is called, and the form of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiscoveryRequest {
    method: &'static str,
    form: MethodForm,
}

/// The methods of discovery. One of them is a tool only: a call that names another tool.
const METHODS: [&str; 5] = [
    method::TOOLS_DISCOVER,
    method::TOOLS_CALL,
    method::TOOLS_REQUEST,
    method::TOOLS_SESSION,
    method::TOOLS_SESSION_EVICT,
];

impl DiscoveryRequest {
    /// Returns the method of a request; `None` if the request is not about discovery.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let (form, method) = MethodForm::of(request)?;
        let method = METHODS.into_iter().find(|known| *known == method)?;
        (method != method::TOOLS_CALL || form == MethodForm::Tool).then_some(Self { method, form })
    }

    /// Returns the parameters of the request.
    pub(super) fn params(self, request: &Request) -> Result<Object, Error> {
        self.form.check(request, &Extension::ToolDiscovery)?;
        self.form.params(request)
    }
}

const MAX_RESULTS: u32 = 50;
const USUAL_RESULTS: u32 = 5;

/// Answers a search (§16.5): the tools that fit the query, as many as the budget has room for.
pub(super) async fn discover(
    shared: &DiscoveryShared,
    context: &Context,
    params: &Object,
) -> Result<DiscoveredTools, Error> {
    let wanted = params::discover(params)?;
    let key = shared.key(context);
    let snapshot = shared.index.up_to_date().await;
    let visible = shared.visible_tools.of(&key, context, &snapshot);
    let DiscoverTools { query, strategy, max_results, filter, explain, .. } = wanted;
    let strategy = strategy.unwrap_or(shared.settings.strategy);
    let limit = max_results.unwrap_or(USUAL_RESULTS).min(MAX_RESULTS);
    let mut search = Search::new(&query).strategy(strategy).limit(limit as usize).filter(filter);
    search.visible = visible.as_deref();
    let began = Instant::now();
    let result = snapshot.search(&search).await;
    let time = began.elapsed();
    let names = shared.names(context);
    let tools = result.hits.iter().map(|hit| {
        let mut tool = found(&snapshot, &hit.tool, names);
        tool.relevance_score = Some(hit.score);
        tool.evidence = explain.then_some(hit.evidence);
        tool
    });
    let tools: Vec<FoundTool> = tools.collect();
    let is_of = |found: &FoundTool, tool: &Tool| {
        found.server_id == tool.server && found.name == snapshot.shown_name(tool, names)
    };
    let fitted = shared.with_session(&snapshot, (&key, context), |session, view, settings| {
        let fitted = session.fit(settings, tools);
        let hits = result.hits.iter().map(|hit| &hit.tool);
        let given = hits.filter(|hit| fitted.tools.iter().any(|found| is_of(found, hit)));
        session.found(view, settings, given);
        fitted
    });
    let available = visible.as_ref().map_or(snapshot.len(), |visible| visible.count());
    let mut answer = DiscoveredTools::new(available as u64, strategy);
    answer.starting = starting(&snapshot, fitted.tools.iter().map(|tool| &tool.server_id));
    answer.next =
        (!fitted.tools.is_empty()).then(|| meta_tool::how_to_call(names, context, &answer.starting));
    answer.tools = fitted.tools;
    answer.omitted = fitted.omitted;
    answer.fallback_strategy = result.fallback;
    answer.query_time_ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    Ok(answer)
}

/// Returns those of these servers that are still starting, each once.
pub(super) fn starting<'s>(
    snapshot: &Snapshot,
    servers: impl Iterator<Item = &'s ServerId>,
) -> Vec<ServerId> {
    let is_starting = |server: &&ServerId| {
        snapshot.server(server.as_str()).is_some_and(|server| server.state == ServerState::Connecting)
    };
    let found: BTreeSet<_> = servers.filter(is_starting).cloned().collect();
    found.into_iter().collect()
}

/// Returns a tool as it stands in an answer, with all that is needed to call it.
pub(super) fn found(snapshot: &Snapshot, tool: &Tool, names: NameStyle) -> FoundTool {
    let members = tool.members();
    let schema = members.get("inputSchema").filter(RawJson::is_object).unwrap_or_else(RawJson::empty_object);
    let mut found = FoundTool::new(snapshot.shown_name(tool, names), tool.server.clone(), schema);
    found.description = tool.description();
    // The security is as the server declares it, but no less than the index was told.
    let declared = members.get(ToolSecurity::MEMBER).and_then(|raw| raw.to().ok());
    let mut security: ToolSecurity = declared.unwrap_or_else(|| ToolSecurity::new(RiskLevel::Safe));
    security.risk_level = tool.risk;
    security.permissions_required = tool.permissions.to_vec();
    found.security = Some(security);
    found
}

/// Returns a tool as it stands in the list of the session.
pub(super) fn loaded(
    snapshot: &Snapshot,
    tool: &Tool,
    names: NameStyle,
    definition: Option<&ListedDefinition>,
) -> FoundTool {
    let mut found = found(snapshot, tool, names);
    if let Some(definition) = definition.filter(|definition| definition.is_shortened())
        && let Ok(members) = Object::from_raw(definition.json())
    {
        found.description = members.text("description").map(Into::into).unwrap_or_default();
        found.input_schema = members.get("inputSchema").unwrap_or(found.input_schema);
        found.schema_shortened = true;
    }
    found
}
