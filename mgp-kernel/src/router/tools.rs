use std::sync::Arc;

use mgp_discovery::catalog::CatalogTool;
use mgp_security::definition::DefinitionKind;
use mgp_types::{Error, Request};

use super::{Sight, held};
use crate::parts::Parts;

/// A name that nobody knows, with those that are like it.
pub(super) fn unknown(parts: &Parts, request: &Request) -> Error {
    let Some(name) = request.params.text("name") else {
        return Error::invalid_params("`name` is missing: it says which tool to call");
    };
    let sight = match Sight::of(parts, &request.context) {
        Ok(sight) => sight,
        Err(error) => return error,
    };
    if let Some(held) = held::by_name(parts, &sight, request, DefinitionKind::Tool, &name) {
        return held;
    }
    let snapshot = parts.catalog.snapshot();
    let near = snapshot.near(&name, |tool| sight.tool(&tool.resolved.server, &tool.resolved.name));
    let style = parts.names(&request.context);
    let written =
        |tool: &&Arc<CatalogTool>| style.write(tool.resolved.server.as_str(), tool.resolved.name.as_str());
    let near: Vec<_> = near.iter().map(written).collect();
    if near.is_empty() {
        return Error::invalid_params(format!(
            "there is no tool `{name}`; `tools/list` names those there are"
        ));
    }
    Error::invalid_params(format!("there is no tool `{name}`; did you mean `{}`?", near.join("`, `")))
}
