//! Requests and answers of HTTP.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// A request whose body has been read.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) query: Form,
    pub(super) body: Bytes,
}

impl Request {
    pub(super) fn form(&self) -> Form {
        Form::read(&self.body)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The parameters of a query or of a form.
#[derive(Debug, Clone, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn read(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns a parameter that is there once, and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(own, _)| own == name);
        let (_, value) = found.next()?;
        (found.next().is_none() && !value.is_empty()).then_some(value)
    }

    pub(super) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::request(&format!("`{name}` is missing, or repeated")))
    }

    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

pub(super) type Answer = Response<Full<Bytes>>;

/// A refusal as OAuth words it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) description: String,
    /// The nonce that the client is given for its next proof.
    pub(super) nonce: Option<&'static str>,
}

impl Refusal {
    pub(super) fn of(code: &'static str, description: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, description: description.into(), nonce: None }
    }

    pub(super) fn request(description: &str) -> Self {
        Self::of("invalid_request", description)
    }

    pub(super) fn grant(description: &str) -> Self {
        Self::of("invalid_grant", description)
    }

    pub(super) fn client(description: &str) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, ..Self::of("invalid_client", description) }
    }

    pub(super) fn answer(&self) -> Answer {
        let mut answer =
            json(self.status, &json!({ "error": self.code, "error_description": self.description }));
        if let Some(nonce) = self.nonce {
            answer.headers_mut().insert("dpop-nonce", nonce.parse().unwrap());
        }
        answer
    }
}

pub(super) fn json(status: StatusCode, body: &Value) -> Answer {
    with(status, "application/json", body.to_string())
}

pub(super) fn page(html: String) -> Answer {
    with(StatusCode::OK, "text/html; charset=utf-8", html)
}

pub(super) fn status(status: StatusCode) -> Answer {
    with(status, "text/plain", status.to_string())
}

pub(super) fn with(status: StatusCode, kind: &str, body: String) -> Answer {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    answer.header(CACHE_CONTROL, "no-store").body(Full::new(body.into())).unwrap()
}

pub(super) fn redirect(location: &str) -> Answer {
    let answer = Response::builder().status(StatusCode::FOUND).header(LOCATION, location);
    answer.body(Full::default()).unwrap()
}

/// Returns a text as HTML shows it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
