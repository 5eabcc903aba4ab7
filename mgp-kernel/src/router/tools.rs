use mgp_discovery::catalog::CatalogTool;
use mgp_types::{Error, RawJson, Request, Response};

use crate::parts::Parts;

/// All tools that the caller may call, on one page.
pub(super) fn list(parts: &Parts, request: &Request) -> Result<Response, Error> {
    let snapshot = parts.catalog.snapshot();
    let mut out = br#"{"tools":["#.to_vec();
    let empty = out.len();
    for tool in snapshot.tools().iter().filter(|tool| sees(parts, request, tool)) {
        if out.len() > empty {
            out.push(b',');
        }
        out.extend_from_slice(tool.definition.as_bytes());
    }
    out.extend_from_slice(b"]}");
    Ok(Response::plain(RawJson::from_written(out)))
}

/// A name that nobody knows, with those that are like it.
pub(super) fn unknown(parts: &Parts, request: &Request) -> Error {
    let Some(name) = request.params.text("name") else {
        return Error::invalid_params("`name` is missing: it says which tool to call");
    };
    let snapshot = parts.catalog.snapshot();
    let near = snapshot.near(&name, |tool| sees(parts, request, tool));
    if near.is_empty() {
        return Error::invalid_params(format!(
            "there is no tool `{name}`; `tools/list` names those there are"
        ));
    }
    Error::invalid_params(format!("there is no tool `{name}`; did you mean `{}`?", near.join("`, `")))
}

fn sees(parts: &Parts, request: &Request, tool: &CatalogTool) -> bool {
    let Some(principal) = &request.context.principal else { return false };
    let (server, name) = (&tool.resolved.server, &tool.resolved.name);
    parts.access.decide(principal.as_str(), server.as_str(), Some(name.as_str())).allows()
        && parts.definitions.is_admitted(server, name)
        && parts.fleet.get(server.as_str()).is_some_and(|server| server.admits(principal))
}
