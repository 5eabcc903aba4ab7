//! The tools that are called in place of tools that failed.

use std::sync::Arc;

use mgp_discovery::catalog::Catalog;
use mgp_lifecycle::call::FallbackLayer;
use mgp_types::Request;
use mgp_types::mgp::{AuditPort, ToolName};

use crate::servers::fleet::Fleet;

/// Returns the layer that, where a call has failed, calls the tool that the configuration, or else the error, names.
///
/// The layer sits outside of tool resolution, so that the other tool is held to the same access, limits, validators and
/// permissions as if the caller had named it.
pub(crate) fn layer(catalog: Catalog, fleet: Arc<Fleet>, audit: Arc<dyn AuditPort>) -> FallbackLayer {
    FallbackLayer::new()
        .with_audit(audit)
        .known_as(move |request, named| known_as(&catalog, &fleet, request, named))
}

/// Returns the name under which clients know the tool that is called in place of the request's: the tool that the
/// configuration names for it, or the tool of the same server that the error names.
fn known_as(catalog: &Catalog, fleet: &Fleet, request: &Request, named: &ToolName) -> Option<ToolName> {
    let snapshot = catalog.snapshot();
    let failed = &snapshot.called(&request.params.text("name")?)?.resolved;
    let upstream = fleet.get(failed.server.as_str())?;
    let rule = upstream.config().tools.get(failed.name.as_str());
    if let Some(configured) = rule.and_then(|rule| rule.fallback.as_deref()) {
        return snapshot.called(configured).map(|tool| ToolName::from(&*tool.shown));
    }
    let other = snapshot.tool(failed.server.as_str(), named.as_str())?;
    Some(ToolName::from(&*other.shown))
}

#[cfg(test)]
mod tests;
