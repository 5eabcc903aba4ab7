//! Doors beside the protocol's endpoint: tools over plain HTTP and in envelopes, and documents about them.
//!
//! A door makes a call of the protocol of its request and the answer of the call into its own form. So a request through
//! a door passes the same layers as any other, and is recorded like it.

mod documents;
mod envelopes;
mod inner;
mod rest;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Body;
use mgp_discovery::catalog::Catalog;
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, ResponseFuture, Routes};
use mgp_types::ext::StructuredError;
use mgp_types::mgp::TraceId;
use mgp_types::{Error, Object, RawJson};
use tower_layer::Layer;
use tower_service::Service;

use self::inner::InnerCalls;
use super::auth_member::MessageBody;
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
    fn refusal(&self, status: StatusCode, why: String, trace: TraceId) -> DoorAnswer {
        if *self == Self::Envelopes {
            return DoorAnswer::text(status, why);
        }
        DoorAnswer { status, ..rest::failed(&Error::invalid_request(why), trace) }
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
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let byte = match (byte, rest) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?
            }
            (b'%' | b'/', _) => return None,
            _ => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

impl<A: Accept> Service<Request<MessageBody>> for Doors<A> {
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = DoorFuture<A>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<MessageBody>) -> DoorFuture<A> {
        let Some(door) = Door::at(request.uri().path(), &self.doors.config) else {
            return DoorFuture::Passed { future: self.inner.call(request) };
        };
        let calls = InnerCalls::new(self.inner.server().clone(), request.headers());
        let max_bytes = self.doors.config.connection_limits().max_frame_bytes;
        DoorFuture::Door {
            future: Box::pin(open(calls, self.doors.catalog.clone(), door, request, max_bytes)),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Doors`].
    #[project = ProjectedFuture]
    pub(super) enum DoorFuture<A: Accept> {
        Passed { #[pin] future: ResponseFuture<A, MessageBody> },
        Door { future: Pin<Box<dyn Future<Output = Response<HttpBody>> + Send>> },
    }
}

impl<A: Accept> Future for DoorFuture<A> {
    type Output = Result<Response<HttpBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            ProjectedFuture::Passed { future } => future.poll(cx),
            ProjectedFuture::Door { future } => future.as_mut().poll(cx).map(Ok),
        }
    }
}

/// Answers a request at a door.
async fn open<A: Accept>(
    calls: InnerCalls<A>,
    catalog: Catalog,
    door: Door,
    request: Request<MessageBody>,
    max_bytes: usize,
) -> Response<HttpBody> {
    let (head, body) = request.into_parts();
    if head.method != door.method() {
        let why = format!("send {} here", door.method());
        let mut refusal = door.refusal(StatusCode::METHOD_NOT_ALLOWED, why, calls.trace());
        refusal.allow = Some(door.method());
        return refusal.into_response();
    }
    if door.method() == Method::POST {
        return match json_body(&head, body, max_bytes).await {
            Ok(body) => called(&calls, &catalog, &door, &head, body).await,
            Err((status, why)) => door.refusal(status, why, calls.trace()),
        }
        .into_response();
    }
    match door {
        Door::Catalog => documents::catalog(&calls, &head).await,
        Door::OpenApi => documents::openapi(&calls, &head).await,
        _ => documents::manifest(&calls, &head).await,
    }
    .into_response()
}

async fn called<A: Accept>(
    calls: &InnerCalls<A>,
    catalog: &Catalog,
    door: &Door,
    head: &Parts,
    body: Bytes,
) -> DoorAnswer {
    match door {
        Door::Tool(name) => rest::call(calls, head, name, body).await,
        Door::Permissions => rest::check_permission(calls, head, body).await,
        _ => envelopes::call(calls, catalog, head, body).await,
    }
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

/// The answer of a door.
#[derive(Debug)]
struct DoorAnswer {
    status: StatusCode,
    body: DoorBody,
    /// The seconds to wait before the next attempt.
    retry_after: Option<u64>,
    /// The challenge for a caller that lacks scopes.
    challenge: Option<String>,
    /// The revision of the document, for readers that have one already.
    revision: Option<String>,
    allow: Option<Method>,
}

#[derive(Debug)]
enum DoorBody {
    Json(RawJson),
    Text(String),
    Empty,
}

impl DoorAnswer {
    const fn of(status: StatusCode, body: DoorBody) -> Self {
        Self { status, body, retry_after: None, challenge: None, revision: None, allow: None }
    }

    const fn json(status: StatusCode, body: RawJson) -> Self {
        Self::of(status, DoorBody::Json(body))
    }

    fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self::of(status, DoorBody::Text(text.into()))
    }

    /// Notes when to come again and which scopes are missing, by a structured error.
    fn advised(mut self, error: &StructuredError) -> Self {
        self.retry_after = error.retry_after_seconds;
        if error.code == "SCOPE_INSUFFICIENT" {
            self.challenge = Some(insufficient_scope(error.details.as_ref()));
        }
        self
    }

    fn into_response(self) -> Response<HttpBody> {
        let (kind, bytes) = match self.body {
            DoorBody::Json(json) => ("application/json", json.to_bytes()),
            DoorBody::Text(text) => ("text/plain; charset=utf-8", Bytes::from(text + "\n")),
            DoorBody::Empty => ("application/json", Bytes::new()),
        };
        let mut response = Response::new(HttpBody::from(bytes));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = self.challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok()) {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(tag) = self.revision.and_then(|revision| HeaderValue::try_from(revision).ok()) {
            headers.insert(http::header::ETAG, tag);
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        }
        if let Some(method) = self.allow.and_then(|method| HeaderValue::try_from(method.as_str()).ok()) {
            headers.insert(http::header::ALLOW, method);
        }
        response
    }
}

/// Returns the challenge for missing scopes (RFC 6750). A scope that cannot be written in it is left out.
fn insufficient_scope(details: Option<&Object>) -> String {
    let missing = details.and_then(|details| details.get("missing_scopes")?.to::<Vec<String>>().ok());
    let mut missing = missing.unwrap_or_default();
    missing.retain(|scope| scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte)));
    format!("Bearer error=\"insufficient_scope\", scope=\"{}\"", missing.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: EXT-04-14
    #[test]
    fn the_challenge_names_missing_scopes_that_can_be_written_in_it() {
        let details = Object::parse(r#"{"missing_scopes":["a:b","c\"d","日本","e"]}"#).unwrap();
        assert_eq!(insufficient_scope(Some(&details)), r#"Bearer error="insufficient_scope", scope="a:b e""#);
    }

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
