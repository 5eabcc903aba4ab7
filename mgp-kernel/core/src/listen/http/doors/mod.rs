//! Doors beside the protocol's endpoint: tools over plain HTTP and in envelopes, and documents about them.
//!
//! A door makes a call of the protocol of its request and the answer of the call into its own form. So a request through
//! a door passes the same layers as any other, and is recorded like it.

mod rest;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use mgp_discovery::service::{ListedTool, openapi as document};
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, HttpServer};
use mgp_types::ext::ExtensionId;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{CapabilityMessage, ExtensionSet, Offer, TraceId, method, written};
use mgp_types::{Error, Object, RawJson, Revision};
use percent_encoding::percent_decode_str;

use super::auth_member::MessageBody;
use super::paths::{request_trace, uncached};
use crate::sections::Sections;
use crate::settings::running::RunningConfig;

/// A door, with what its path says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Door {
    /// `POST /tools/NAME`: calls a tool.
    Tool(String),
    /// `GET /catalog`: lists all tools.
    Catalog,
    /// `GET /openapi.json`: describes all tools in OpenAPI.
    OpenApi,
    /// `GET /capabilities`: returns the service manifest.
    Manifest,
    /// `POST /permissions`: says whether the caller has the scopes for a tool.
    Permissions,
    /// `POST /env/tools/call`: calls tools in envelopes.
    Envelopes,
}

impl Door {
    /// Returns the door at a path, if the configuration opens it.
    pub(super) fn at(path: &str, config: &RunningConfig) -> Option<Self> {
        let config = config.load();
        let door = match path {
            "/catalog" => Self::Catalog,
            "/openapi.json" => Self::OpenApi,
            "/capabilities" => Self::Manifest,
            "/permissions" => Self::Permissions,
            "/env/tools/call" => Self::Envelopes,
            _ => Self::Tool(decoded(path.strip_prefix("/tools/")?)?),
        };
        config.listen.rest.then_some(door)
    }

    /// Returns the answer to a request that is none for this door, in the form of the door's other errors.
    fn refusal(&self, status: StatusCode, why: String, trace: TraceId) -> Response<HttpBody> {
        if *self == Self::Envelopes {
            return text(status, why);
        }
        let mut refusal = rest::failed(&Error::invalid_request(why), trace);
        *refusal.status_mut() = status;
        refusal
    }

    const fn method(&self) -> Method {
        match self {
            Self::Tool(_) | Self::Permissions | Self::Envelopes => Method::POST,
            Self::Catalog | Self::OpenApi | Self::Manifest => Method::GET,
        }
    }
}

/// Returns a part of a path without its escapes; `None` if it is empty, has further parts, or is not UTF-8.
fn decoded(part: &str) -> Option<String> {
    let is_escape = |rest: &str| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if part.is_empty() || part.contains('/') || !part.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(part).decode_utf8().ok().map(Cow::into_owned)
}

/// Answers a request at a door.
pub(super) async fn open<A: Accept>(
    door: Door,
    server: HttpServer<A>,
    head: Parts,
    body: MessageBody,
    kernel: &Sections,
) -> Response<HttpBody> {
    let calls = InnerCalls { server, trace: request_trace(&head.headers), head: head.into() };
    if calls.head.method != door.method() {
        let why = format!("send {} here", door.method());
        let mut refusal = door.refusal(StatusCode::METHOD_NOT_ALLOWED, why, calls.trace);
        if let Ok(method) = HeaderValue::try_from(door.method().as_str()) {
            refusal.headers_mut().insert(ALLOW, method);
        }
        return refusal;
    }
    let max_bytes = kernel.config.connection_limits().max_frame_bytes;
    let body = match door.method() {
        Method::POST => json_body(&calls.head, body, max_bytes).await,
        _ => Ok(Bytes::new()),
    };
    let body = match body {
        Ok(body) => body,
        Err((status, why)) => return door.refusal(status, why, calls.trace),
    };
    let answer = match door {
        Door::Tool(name) => rest::call(&calls, &name, body).await,
        Door::Catalog => catalog(&calls).await,
        Door::OpenApi => openapi(&calls).await,
        Door::Manifest => manifest(&calls).await,
        Door::Permissions => rest::check_permission(&calls, body).await,
        Door::Envelopes => Ok(rest::call_in_envelopes(&calls, &kernel.tools.catalog, body).await),
    };
    answer.unwrap_or_else(|error| rest::failed(&error, calls.trace))
}

/// Returns the bytes of a body that says to be JSON.
async fn json_body(head: &Parts, body: MessageBody, max_bytes: usize) -> Result<Bytes, (StatusCode, String)> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let why = "`Content-Type` must be application/json".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let body = Limited::new(body, max_bytes).collect().await.map_err(|_| {
        let why = format!("the body is longer than {max_bytes} bytes, or was cut off");
        (StatusCode::PAYLOAD_TOO_LARGE, why)
    })?;
    Ok(body.to_bytes())
}

/// Returns an answer in JSON.
fn json(status: StatusCode, body: &RawJson) -> Response<HttpBody> {
    uncached(status, "application/json", body.to_bytes())
}

/// Returns an answer in words.
fn text(status: StatusCode, text: impl Into<String>) -> Response<HttpBody> {
    uncached(status, "text/plain; charset=utf-8", text.into() + "\n")
}

/// The protocol's own server, to which a door sends calls. Each call describes itself, so a door holds no session.
struct InnerCalls<A: Accept> {
    server: HttpServer<A>,
    /// The head of the request at the door, whose sender makes the calls.
    head: Arc<Parts>,
    /// The trace of the request at the door, by which the record knows all calls that are made of it: that of `traceparent`,
    /// or a new one.
    trace: TraceId,
}

impl<A: Accept> InnerCalls<A> {
    /// Calls `method` with these parameters, for the sender of the request at the door.
    ///
    /// # Errors
    /// Fails with the error of the call, whose data have the members of a structured error and those of the tool
    /// registry.
    async fn call(&self, method: &str, mut params: Object) -> Result<RawJson, Error> {
        let mut meta = params.object("_meta").unwrap_or_default();
        meta.set(key::PROTOCOL_VERSION, RawJson::from_text(Revision::LATEST.as_str()));
        meta.set(key::CLIENT_INFO, RawJson::parse(CLIENT).unwrap_or(RawJson::empty_object()));
        meta.set(key::CLIENT_CAPABILITIES, capabilities());
        meta.set("trace_id", RawJson::from_text(&self.trace.to_string()));
        params.set("_meta", meta.to_raw());
        let method = mgp_types::Method::new(method);
        let response = self.server.call_for(Arc::clone(&self.head), method, params).await?;
        Ok(response.to_raw())
    }
}

const CLIENT: &str = concat!(r#"{"name":"mgp-door","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Returns the capabilities of a door: it asks nobody anything, and reads errors in all their forms. MGP is among them for
/// the numbers of its errors.
fn capabilities() -> RawJson {
    let ids = [ExtensionId::StructuredErrors, ExtensionId::ToolRegistry, ExtensionId::ServiceManifest];
    let extensions = Object::from(ids.map(|id| (id.id(), RawJson::empty_object())));
    let mut capabilities = Object::from([("extensions", extensions.to_raw())]);
    Offer::new(ExtensionSet::new()).write(&mut capabilities, CapabilityMessage::Stateless);
    capabilities.to_raw()
}

/// Answers with the catalog of all tools that the caller may call.
async fn catalog<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
    let catalog = calls.call(method::DISCOVERY_CATALOG, Object::new()).await?;
    Ok(json(StatusCode::OK, &without_meta(&catalog)))
}

/// Answers with the manifest, unless the caller has it already.
async fn manifest<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
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
async fn openapi<A: Accept>(calls: &InnerCalls<A>) -> Result<Response<HttpBody>, Error> {
    let manifest = calls.call(method::MANIFEST_GET, Object::new()).await?;
    let manifest = Object::from_raw(&manifest).unwrap_or_default();
    let server = manifest.object("server").unwrap_or_default();
    let text = |name: &str| server.text(name).unwrap_or_default().into_owned();
    let tools: Vec<Object> = manifest.get("tools").and_then(|tools| tools.to().ok()).unwrap_or_default();
    let tools: Vec<ListedTool> = tools.iter().map(listed).collect();
    Ok(json(StatusCode::OK, &written(&document(&text("name"), &text("version"), &tools))?))
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
fn without_meta(result: &RawJson) -> RawJson {
    let Ok(mut object) = Object::from_raw(result) else { return result.clone() };
    for member in ["_meta", "resultType", "ttlMs", "cacheScope"] {
        object.remove(member);
    }
    object.to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_path_is_read_without_its_escapes() {
        for (part, name) in [
            ("git__status", Some("git__status")),
            ("a%2Fb", Some("a/b")),
            ("%C3%A9", Some("é")),
            ("", None),
            ("a/b", None),
            ("a%2", None),
            ("a%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decoded(part).as_deref(), name, "{part}");
        }
    }
}
