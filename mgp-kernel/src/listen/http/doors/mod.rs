//! Doors beside the protocol's endpoint: tools over plain HTTP and in envelopes, and documents about them.
//!
//! A door makes a call of the protocol of its request and the answer of the call into its own form. So a request through
//! a door passes the same layers as any other, and is recorded like it.

mod documents;
mod inner;
mod rest;

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, HttpServer};
use mgp_types::mgp::TraceId;
use mgp_types::{Error, RawJson};
use percent_encoding::percent_decode_str;

use self::inner::InnerCalls;
use super::auth_member::MessageBody;
use super::paths::{request_trace, uncached};
use crate::running::RunningConfig;
use crate::sections::Sections;

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
    let body = match door.method() {
        Method::POST => {
            let max_bytes = kernel.config.connection_limits().max_frame_bytes;
            json_body(&calls.head, body, max_bytes).await
        }
        _ => Ok(Bytes::new()),
    };
    let body = match body {
        Ok(body) => body,
        Err((status, why)) => return door.refusal(status, why, calls.trace),
    };
    let answer = match door {
        Door::Tool(name) => rest::call(&calls, &name, body).await,
        Door::Catalog => documents::catalog(&calls).await,
        Door::OpenApi => documents::openapi(&calls).await,
        Door::Manifest => documents::manifest(&calls).await,
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
