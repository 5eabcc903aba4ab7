//! The form of answers and refusals in HTTP.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use mgp_types::{AuthorizationDemand, Error, Id, code, frame};

use super::body::HttpBody;
use crate::era::EnvelopeRefused;
use crate::http::sse;

/// The answer to one POST: a status, and JSON if there is a message.
#[derive(Debug)]
pub(super) struct PostAnswer {
    pub(super) status: StatusCode,
    pub(super) json: Bytes,
    /// The value of `WWW-Authenticate`, where the request needs authorization.
    challenge: Option<Box<HeaderValue>>,
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The header that tells nginx and similar proxies to pass events on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

impl PostAnswer {
    pub(super) const ACCEPTED: Self =
        Self { status: StatusCode::ACCEPTED, json: Bytes::new(), challenge: None };

    pub(super) fn ok(json: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, json: json.into(), challenge: None }
    }

    pub(super) fn reply(id: &Id, response: &mgp_types::Response) -> Self {
        let mut json = Vec::new();
        frame::write_reply(&mut json, id, response);
        Self::ok(json)
    }

    /// Returns the answer of a request that failed. A demand for authorization brings its own status and challenge, and an error
    /// of an unavailable process the status for load balancers.
    pub(super) fn error(status: StatusCode, id: Option<&Id>, error: &Error) -> Self {
        let mut json = Vec::new();
        frame::write_error(&mut json, id, error);
        let demand = AuthorizationDemand::of(error);
        let status = if error.is_unavailable() { StatusCode::SERVICE_UNAVAILABLE } else { status };
        Self {
            status: demand.and_then(|demand| StatusCode::from_u16(demand.status()).ok()).unwrap_or(status),
            json: json.into(),
            challenge: demand.and_then(challenge),
        }
    }

    pub(super) fn into_response(self) -> Response<HttpBody> {
        let is_empty = self.json.is_empty();
        let mut response = with_status(self.status, self.json.into());
        if !is_empty {
            response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        }
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, *challenge);
        }
        response
    }
}

fn challenge(demand: &AuthorizationDemand) -> Option<Box<HeaderValue>> {
    let value = HeaderValue::from_str(demand.challenge()).inspect_err(|error| {
        tracing::warn!(%error, "a challenge is left out: it is not the value of a header");
    });
    value.ok().map(Box::new)
}

/// Returns the status of an error that answers a request without a session.
//= 2026-07-28, "Sending Messages to the Server"
pub(super) fn stateless_status(error: &Error) -> StatusCode {
    match error.code() {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_PROTOCOL_VERSION => {
            StatusCode::BAD_REQUEST
        }
        _ if is_refused_envelope(error) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns whether a request is refused for the members of its `_meta`.
pub(super) fn is_refused_envelope(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<EnvelopeRefused>)
}

/// A request that goes no further than HTTP.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    status: StatusCode,
    pub(super) error: Error,
    id: Option<Id>,
}

impl HttpRefusal {
    pub(super) fn new(status: StatusCode, error: Error) -> Self {
        Self { status, error, id: None }
    }

    pub(super) fn because(status: StatusCode, why: &'static str) -> Self {
        Self::new(status, Error::invalid_request(why))
    }

    pub(super) fn bad_request(error: Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn invalid(why: &'static str) -> Self {
        Self::because(StatusCode::BAD_REQUEST, why)
    }

    /// Returns the refusal of a request for a stream of events that does not accept one.
    pub(super) fn no_events() -> Self {
        Self::because(StatusCode::NOT_ACCEPTABLE, "`Accept` must name text/event-stream")
    }

    pub(super) fn no_batch() -> Self {
        Self::invalid("a batch belongs to a session of 2025-03-26")
    }

    pub(super) fn no_session() -> Self {
        Self::because(StatusCode::NOT_FOUND, "there is no such session; start a new one with `initialize`")
    }

    /// Sets the id of the refused request, so that its sender finds it.
    pub(super) fn of(mut self, id: Option<Id>) -> Self {
        self.id = id;
        self
    }

    pub(super) fn into_response(self) -> Response<HttpBody> {
        let mut response = PostAnswer::error(self.status, self.id.as_ref(), &self.error).into_response();
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
        }
        response
    }
}

/// Returns a response with a stream of events.
pub(super) fn events(body: HttpBody) -> Response<HttpBody> {
    let mut response = with_status(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(sse::MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

pub(super) fn with_status(status: StatusCode, body: HttpBody) -> Response<HttpBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
