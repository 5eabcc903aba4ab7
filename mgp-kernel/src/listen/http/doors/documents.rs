//! The doors to documents about tools.

use http::StatusCode;
use http::header::IF_NONE_MATCH;
use http::request::Parts;
use mgp_discovery::service::{ListedTool, openapi as document};
use mgp_transport::Accept;
use mgp_types::mgp::method;
use mgp_types::{Error, Object, RawJson};

use super::inner::InnerCalls;
use super::{DoorAnswer, DoorBody, rest};

/// Answers with the catalog of all tools that the caller may call.
pub(super) async fn catalog<A: Accept>(calls: &InnerCalls<A>, head: &Parts) -> DoorAnswer {
    match calls.call(head, method::DISCOVERY_CATALOG, Object::new()).await {
        Ok(catalog) => DoorAnswer::json(StatusCode::OK, without_meta(&catalog)),
        Err(error) => rest::failed(&error, calls.trace()),
    }
}

/// Answers with the service manifest, or with 304 for a reader that has it already.
pub(super) async fn manifest<A: Accept>(calls: &InnerCalls<A>, head: &Parts) -> DoorAnswer {
    let known = head.headers.get(IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    match calls.call(head, method::MANIFEST_GET, Object::new()).await {
        Ok(manifest) => {
            let manifest = without_meta(&manifest);
            let revision = Object::from_raw(&manifest)
                .ok()
                .and_then(|manifest| Some(manifest.text("revision")?.into_owned()));
            let tag = revision.map(|revision| format!("\"{revision}\""));
            let is_known =
                |tag: &String| known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
            let mut answer = match &tag {
                Some(tag) if is_known(tag) => DoorAnswer::of(StatusCode::NOT_MODIFIED, DoorBody::Empty),
                _ => DoorAnswer::json(StatusCode::OK, manifest),
            };
            answer.revision = tag;
            answer
        }
        Err(error) => rest::failed(&error, calls.trace()),
    }
}

/// Answers with the OpenAPI document of all tools that the caller may call.
pub(super) async fn openapi<A: Accept>(calls: &InnerCalls<A>, head: &Parts) -> DoorAnswer {
    match described(calls, head).await {
        Ok(document) => DoorAnswer::json(StatusCode::OK, document),
        Err(error) => rest::failed(&error, calls.trace()),
    }
}

async fn described<A: Accept>(calls: &InnerCalls<A>, head: &Parts) -> Result<RawJson, Error> {
    let manifest = calls.call(head, method::MANIFEST_GET, Object::new()).await?;
    let manifest = Object::from_raw(&manifest).unwrap_or_default();
    let server = manifest.object("server").unwrap_or_default();
    let text = |name: &str| server.text(name).unwrap_or_default().into_owned();
    let tools: Vec<Object> = manifest.get("tools").and_then(|tools| tools.to().ok()).unwrap_or_default();
    let tools: Vec<ListedTool> = tools.iter().map(listed).collect();
    RawJson::from_value(&document(&text("name"), &text("version"), &tools))
        .map_err(|error| Error::internal("the document is not JSON").with_source(error))
}

/// Returns a tool of a manifest as it is listed in MCP.
fn listed(tool: &Object) -> ListedTool {
    let mut definition = Object::new();
    let name = tool.get("x_mcp_name").or_else(|| tool.get("name"));
    for (member, value) in [
        ("name", name),
        ("description", tool.get("description")),
        ("inputSchema", tool.get("input_schema")),
        ("outputSchema", tool.get("output_schema")),
    ] {
        if let Some(value) = value {
            definition.set(member, value);
        }
    }
    let name = definition.text("name").unwrap_or_default().into_owned();
    let server = name.split_once("__").or_else(|| name.split_once('.')).map_or("", |(server, _)| server);
    ListedTool { server: server.into(), definition, tags: Vec::new() }
}

/// Returns a result without the members that belong to the protocol.
pub(super) fn without_meta(result: &RawJson) -> RawJson {
    let Ok(mut object) = Object::from_raw(result) else { return result.clone() };
    for member in ["_meta", "resultType", "ttlMs", "cacheScope"] {
        object.remove(member);
    }
    object.to_raw()
}
