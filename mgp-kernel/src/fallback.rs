//! Tools that are called where another one has failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_lifecycle::call::{FallbackLayer, Unsent};
use mgp_types::mgp::{Category, Recovery, ToolName};
use mgp_types::{Error, Flow, Gate, Origin, Request, Response, code};

use crate::parts::Parts;

/// Calls the tool that the configuration, or else the error, names where a call has failed.
///
/// It sits outside of what resolves tools, so that the other tool is held to the same access, limits, validators and
/// permissions as if the caller had named it.
pub(crate) fn layer(parts: &Arc<Parts>) -> FallbackLayer {
    let parts_of_names = Arc::clone(parts);
    FallbackLayer::new()
        .with_audit(parts.port())
        .known_as(move |request, named| known_as(&parts_of_names, request, named))
}

/// The name under which clients know the tool that is called in place of the one of the request: the one that the
/// configuration names for it, or the tool of the same server that the error names.
fn known_as(parts: &Parts, request: &Request, named: &ToolName) -> Option<ToolName> {
    let snapshot = parts.catalog.snapshot();
    let failed = &snapshot.called(&request.params.text("name")?)?.resolved;
    let upstream = parts.fleet.get(failed.server.as_str())?;
    let rule = upstream.config().tools.get(failed.name.as_str());
    if let Some(configured) = rule.and_then(|rule| rule.fallback.as_deref()) {
        return snapshot.called(configured).map(|tool| ToolName::from(&*tool.shown));
    }
    let other = snapshot.tool(failed.server.as_str(), named.as_str())?;
    Some(ToolName::from(&*other.shown))
}

/// Has failed calls name the tool that the configuration has for them.
///
/// Sits around all that lies in front of one server. A call that was refused for a reason names no other tool, and neither
/// does one of which nobody knows whether it was carried out: that the server answered with an error, or was never asked,
/// are the failures in whose place something else may be done. Costs a look into a map, which is empty for most servers;
/// allocates for tools that are in it.
#[derive(Clone)]
pub(crate) struct FallbackToolGate(Arc<BTreeMap<ToolName, Box<str>>>);

impl FallbackToolGate {
    /// Names what stands under `fallback` of the tools of `server`.
    pub(crate) fn new(server: &ServerConfig) -> Self {
        let named = server.tools.iter().filter_map(|(tool, rule)| {
            Some((ToolName::from(tool.as_str()), rule.fallback.as_deref()?.into()))
        });
        Self(Arc::new(named.collect()))
    }
}

impl Gate for FallbackToolGate {
    type Pass = Option<Box<str>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let tool = request.context.tool.as_ref().filter(|_| !self.0.is_empty());
        Flow::Pass(tool.and_then(|tool| self.0.get(&tool.name)).cloned())
    }

    fn leave(&self, named: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(named), Err(error)) = (named, outcome)
            && may_be_replaced(error)
        {
            *error = naming(error.clone(), named);
        }
    }
}

fn may_be_replaced(error: &Error) -> bool {
    let is_decision = code::category(error.code()) == Some(Category::Security)
        || matches!(error.code(), code::INVALID_PARAMS | code::INVALID_TOOL_ARGS);
    !is_decision && (error.origin() == Origin::Peer || Unsent::is_cause_of(error))
}

fn naming(error: Error, tool: Box<str>) -> Error {
    let advice = error.recovery().or_else(|| Recovery::for_code(error.code())).unwrap_or_default();
    error.with_recovery(advice.with_retryable(true).with_fallback_tool(tool))
}

#[cfg(test)]
mod tests;
