//! The doors to documents about tools.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Response, StatusCode};
use mgp_discovery::service::{ListedTool, openapi as document};
use mgp_transport::Accept;
use mgp_transport::http::HttpBody;
use mgp_types::mgp::method;
use mgp_types::{Error, Object, RawJson};

use super::inner::InnerCalls;
use super::{json, uncached};

/// Answers with the catalog of all tools that the caller may call.
pub(super) async fn catalog<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
    let catalog = calls.call(method::DISCOVERY_CATALOG, Object::new()).await?;
    Ok(json(StatusCode::OK, &without_meta(&catalog)))
}

/// Answers with the manifest, unless the caller has it already.
pub(super) async fn manifest<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
    let known = calls.head.headers.get(IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let manifest = without_meta(&calls.call(method::MANIFEST_GET, Object::new()).await?);
    let revision = Object::from_raw(&manifest).ok().and_then(|it| Some(it.text("revision")?.into_owned()));
    let Some(tag) = revision.map(|revision| format!("\"{revision}\"")) else {
        return Ok(json(StatusCode::OK, &manifest));
    };
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut answer = if is_known {
        uncached(StatusCode::NOT_MODIFIED, "application/json", Bytes::new())
    } else {
        json(StatusCode::OK, &manifest)
    };
    if let Ok(tag) = HeaderValue::try_from(tag) {
        answer.headers_mut().insert(ETAG, tag);
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    Ok(answer)
}

/// Answers with a document of OpenAPI, which describes all tools that the caller may call.
pub(super) async fn openapi<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
    let manifest = calls.call(method::MANIFEST_GET, Object::new()).await?;
    let manifest = Object::from_raw(&manifest).unwrap_or_default();
    let server = manifest.object("server").unwrap_or_default();
    let text = |name: &str| server.text(name).unwrap_or_default().into_owned();
    let tools: Vec<Object> = manifest.get("tools").and_then(|tools| tools.to().ok()).unwrap_or_default();
    let tools: Vec<ListedTool> = tools.iter().map(listed).collect();
    let document = RawJson::from_value(&document(&text("name"), &text("version"), &tools))
        .map_err(|error| Error::internal("the document is not JSON").with_source(error))?;
    Ok(json(StatusCode::OK, &document))
}

/// Returns a tool of a manifest as it is listed in MCP.
fn listed(tool: &Object) -> ListedTool {
    let name = tool.get("x_mcp_name").or_else(|| tool.get("name"));
    let members = [
        ("name", name),
        ("description", tool.get("description")),
        ("inputSchema", tool.get("input_schema")),
        ("outputSchema", tool.get("output_schema")),
    ];
    let definition: Object = members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
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
