//! Doors beside the protocol's endpoint: tools over plain HTTP and in envelopes, and documents about them.
//!
//! A door makes a call of the protocol of its request and the answer of the call into its own form. So a request through
//! a door passes the same layers as any other, and is recorded like it.

mod documents;
mod envelopes;
mod inner;
mod rest;

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Body;
use mgp_discovery::catalog::Catalog;
use mgp_security::GateFuture;
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, ResponseFuture, Routes};
use mgp_types::mgp::TraceId;
use mgp_types::{Error, RawJson};
use percent_encoding::percent_decode_str;
use tower_layer::Layer;
use tower_service::Service;

use self::inner::InnerCalls;
use super::auth_member::MessageBody;
use super::paths::page;
use crate::running::RunningConfig;

/// A layer that serves the doors which the configuration opens, around the routes of the protocol. Makes [`Doors`]
/// services.
#[derive(Clone)]
pub(super) struct DoorsLayer {
    pub(super) config: Arc<RunningConfig>,
    pub(super) catalog: Catalog,
}

impl<A: Accept> Layer<Routes<A>> for DoorsLayer {
    type Service = Doors<A>;

    fn layer(&self, inner: Routes<A>) -> Doors<A> {
        Doors { inner, doors: self.clone() }
    }
}

/// The service of [`DoorsLayer`].
#[derive(Clone)]
pub(super) struct Doors<A: Accept> {
    inner: Routes<A>,
    doors: DoorsLayer,
}

/// A door, with what its path says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Door {
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
    fn at(path: &str, config: &RunningConfig) -> Option<Self> {
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

impl<A: Accept> Service<Request<MessageBody>> for Doors<A> {
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<ResponseFuture<A, MessageBody>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<MessageBody>) -> Self::Future {
        let Some(door) = Door::at(request.uri().path(), &self.doors.config) else {
            return GateFuture::passed(self.inner.call(request));
        };
        let (head, body) = request.into_parts();
        let calls = InnerCalls::new(self.inner.server().clone(), head);
        let max_bytes = self.doors.config.connection_limits().max_frame_bytes;
        let catalog = self.doors.catalog.clone();
        GateFuture::waiting(async move { Ok(open(calls, catalog, door, body, max_bytes).await) })
    }
}

/// Answers a request at a door.
async fn open<A: Accept>(
    calls: InnerCalls<A>,
    catalog: Catalog,
    door: Door,
    body: MessageBody,
    max_bytes: usize,
) -> Response<HttpBody> {
    if calls.head().method != door.method() {
        let why = format!("send {} here", door.method());
        let mut refusal = door.refusal(StatusCode::METHOD_NOT_ALLOWED, why, calls.trace());
        if let Ok(method) = HeaderValue::try_from(door.method().as_str()) {
            refusal.headers_mut().insert(ALLOW, method);
        }
        return refusal;
    }
    let body = match door.method() {
        Method::POST => json_body(calls.head(), body, max_bytes).await,
        _ => Ok(Bytes::new()),
    };
    let body = match body {
        Ok(body) => body,
        Err((status, why)) => return door.refusal(status, why, calls.trace()),
    };
    let answer = match door {
        Door::Tool(name) => rest::call(&calls, &name, body).await,
        Door::Catalog => documents::catalog(&calls).await,
        Door::OpenApi => documents::openapi(&calls).await,
        Door::Manifest => documents::manifest(&calls).await,
        Door::Permissions => rest::check_permission(&calls, body).await,
        Door::Envelopes => Ok(envelopes::call(&calls, &catalog, body).await),
    };
    answer.unwrap_or_else(|error| rest::failed(&error, calls.trace()))
}

/// Returns the bytes of a body that says to be JSON.
async fn json_body<B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>>(
    head: &Parts,
    body: B,
    max_bytes: usize,
) -> Result<Bytes, (StatusCode, String)> {
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
    page(status, "application/json", body.to_bytes())
}

/// Returns an answer in words.
fn text(status: StatusCode, text: impl Into<String>) -> Response<HttpBody> {
    page(status, "text/plain; charset=utf-8", text.into() + "\n")
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
