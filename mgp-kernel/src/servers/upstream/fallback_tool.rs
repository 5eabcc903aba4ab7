//! The gate that names the fallback tool of the configuration for a call that failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_lifecycle::call::NotExecuted;
use mgp_types::mgp::{Category, Recovery, ToolName};
use mgp_types::{Error, Flow, Gate, Origin, Request, Response, code};

/// A gate that adds the configured fallback tool to the errors of failed calls.
///
/// Sits around all layers in front of one server. A call that was refused for a reason names no other tool, and neither
/// does a call of which nobody knows whether it was carried out: another tool may be called only if the server answered
/// with an error, or was never asked. Costs a look into a map, which is empty for most servers; allocates for tools
/// that are in it.
#[derive(Clone)]
pub(crate) struct FallbackToolGate(Arc<BTreeMap<ToolName, Box<str>>>);

impl FallbackToolGate {
    /// Makes a gate for the tools of `server` that have a `fallback`.
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
        || matches!(error.code(), code::INVALID_PARAMS | code::INVALID_TOOL_ARGS | code::TOOL_NOT_FOUND);
    !is_decision && (error.origin() == Origin::Peer || NotExecuted::is_cause_of(error))
}

fn naming(error: Error, tool: Box<str>) -> Error {
    let advice = error.recovery().or_else(|| Recovery::for_code(error.code())).unwrap_or_default();
    error.with_recovery(advice.with_retryable(true).with_fallback_tool(tool))
}
