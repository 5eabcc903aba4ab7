//! The heads of requests: the headers of each era, and those that repeat arguments.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use mgp_types::mcp::meta::key;
use mgp_types::{Error, Method, RawJson, Request, Revision};

use crate::http::header;

/// Arguments of a call that its headers repeat (`x-mcp-header`, from 2026-07-28).
///
/// The layer that knows the tool's schema attaches them to the [`extensions`](Request::extensions) of the request.
///
/// ```
/// use mgp_transport::http::MirroredHeaders;
/// use mgp_types::{Params, RawJson, Request};
///
/// let mut mirrored = MirroredHeaders::default();
/// mirrored.push("Region", RawJson::parse(r#""eu-north""#)?); // sent as `Mcp-Param-Region: eu-north`
/// let mut call = Request::call("tools/call", Params::new());
/// call.extensions.insert(mirrored);
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MirroredHeaders(Vec<(Box<str>, RawJson)>);

impl MirroredHeaders {
    /// Adds the header `Mcp-Param-{suffix}`. A value of `null` sends none.
    pub fn push(&mut self, suffix: impl Into<Box<str>>, value: RawJson) {
        self.0.push((suffix.into(), value));
    }

    fn write(&self, head: &mut HeaderMap) -> Result<(), Error> {
        for (suffix, value) in self.0.iter().filter(|(_, value)| !value.is_null()) {
            let name = format!("{}{suffix}", header::PARAM_PREFIX);
            let name = HeaderName::try_from(name).map_err(|error| {
                Error::invalid_params("a mirrored header has no valid name").with_source(error)
            })?;
            head.insert(name, spell(value)?);
        }
        Ok(())
    }
}

fn spell(value: &RawJson) -> Result<HeaderValue, Error> {
    match value.as_bytes().first() {
        Some(b'"') => value.to_text().map(|text| encode_value(&text)),
        Some(b'{' | b'[') | None => None,
        Some(_) => std::str::from_utf8(value.as_bytes()).ok().map(encode_value),
    }
    .ok_or_else(|| Error::invalid_params("a mirrored argument is neither text, number nor boolean"))
}

/// Returns the value of `Mcp-Name` or `Mcp-Param-*` that stands for the text.
fn encode_value(text: &str) -> HeaderValue {
    let value = match header::encode(text) {
        Cow::Borrowed(text) => HeaderValue::from_str(text),
        Cow::Owned(text) => HeaderValue::try_from(text),
    };
    // The value is never empty by failure: the encoding writes visible ASCII.
    value.unwrap_or(HeaderValue::from_static(""))
}

/// The headers that a message needs, which depend on the era.
#[derive(Debug, Clone)]
pub(super) enum HeaderEra {
    /// The message opens a session.
    Opening,
    /// No agreement exists, and the message names no version itself.
    Unknown,
    /// The message stands alone, under this version.
    Stateless(HeaderValue),
    /// The message belongs to a session.
    Session(Revision),
    /// The message belongs to the stream of HTTP+SSE.
    Sse,
}

impl HeaderEra {
    /// Returns the era of a request, from its session or else its own `_meta`.
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        if request.method == Method::INITIALIZE {
            return Ok(Self::Opening);
        }
        if let Some(session) = &request.context.session {
            let revision = session.revision;
            return Ok(if revision.is_stateless() {
                Self::Stateless(HeaderValue::from_static(revision.as_str()))
            } else {
                Self::Session(revision)
            });
        }
        match request.meta(key::PROTOCOL_VERSION).and_then(|version| version.to_text()) {
            Some(version) => HeaderValue::try_from(version).map(Self::Stateless).map_err(|error| {
                Error::invalid_params("the protocol version fits into no header").with_source(error)
            }),
            None => Ok(Self::Unknown),
        }
    }

    /// Returns whether closing the answer's stream takes the request back.
    pub(super) fn is_stateless(&self) -> bool {
        matches!(self, Self::Stateless(_))
    }

    /// Returns `base` with the headers of a message without a request of its own.
    pub(super) fn headers(&self, base: &HeaderMap, session_id: Option<&HeaderValue>) -> HeaderMap {
        let mut head = base.clone();
        self.write(&mut head, session_id);
        head
    }

    /// Writes the headers of a message without a request of its own.
    pub(super) fn write(&self, head: &mut HeaderMap, session_id: Option<&HeaderValue>) {
        let version = match self {
            Self::Stateless(version) => Some(version.clone()),
            Self::Session(revision) => Some(HeaderValue::from_static(revision.as_str())),
            Self::Opening | Self::Unknown | Self::Sse => None,
        };
        if let Some(version) = version {
            head.insert(header::PROTOCOL_VERSION, version);
        }
        if let (Self::Session(_) | Self::Unknown, Some(id)) = (self, session_id) {
            head.insert(header::SESSION_ID, id.clone());
        }
    }

    /// Writes the headers of `request`.
    pub(super) fn write_request(
        &self,
        head: &mut HeaderMap,
        session_id: Option<&HeaderValue>,
        request: &Request,
    ) -> Result<(), Error> {
        self.write(head, session_id);
        if !self.is_stateless() {
            return Ok(());
        }
        let method = request.method.as_str();
        let value = match request.method.known() {
            Some(method) => HeaderValue::from_static(method),
            None => HeaderValue::from_str(method).map_err(|error| {
                Error::invalid_request("the method fits into no header").with_source(error)
            })?,
        };
        head.insert(header::METHOD, value);
        if let Some(name) = header::name_source(method).and_then(|member| request.params.text(member)) {
            head.insert(header::NAME, encode_value(&name));
        }
        request.extensions.get::<MirroredHeaders>().map_or(Ok(()), |mirrored| mirrored.write(head))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_types::{Params, Session};

    use super::*;

    fn head(request: &Request) -> HeaderMap {
        let mut head = HeaderMap::new();
        let id = HeaderValue::from_static("s1");
        HeaderEra::of(request).unwrap().write_request(&mut head, Some(&id), request).unwrap();
        head
    }

    fn call(method: &str, params: &str) -> Request {
        Request::call(method, Params::parse(params.to_owned()).unwrap())
    }

    fn within(revision: Revision, mut request: Request) -> Request {
        request.context.session = Some(Arc::new(Session::new(revision)));
        request
    }

    #[test]
    fn methods_about_something_name_it_2026() {
        for (method, params, name) in [
            ("tools/call", r#"{"name":"my-tool"}"#, Some("my-tool")),
            ("prompts/get", r#"{"name":"größe"}"#, Some("=?base64?Z3LDtsOfZQ==?=")),
            ("resources/read", r#"{"uri":"file:///a%20b"}"#, Some("file:///a%20b")),
            ("tasks/get", r#"{"taskId":"t"}"#, Some("t")),
            ("tools/list", r#"{"name":"x"}"#, None),
            ("tools/call", r#"{"name":7}"#, None),
        ] {
            let head = head(&within(Revision::V2026_07_28, call(method, params)));
            assert_eq!(head["mcp-method"], method);
            assert_eq!(head.get("mcp-name").map(|name| name.to_str().unwrap()), name, "{method}");
        }
    }

    // As `http-custom-headers` of the conformance suite.
    #[test]
    fn arguments_are_mirrored_2026() {
        let mut mirrored = MirroredHeaders::default();
        for (suffix, value) in [
            ("Region", r#""us-west1""#),
            ("Priority", "42"),
            ("Debug", "false"),
            ("Verbose", "null"),
            ("EmptyVal", r#""""#),
            ("LeadingSpace", r#"" a""#),
            ("CrLf", r#""a\r\nb""#),
        ] {
            mirrored.push(suffix, RawJson::parse(value).unwrap());
        }
        let mut request = within(Revision::V2026_07_28, call("tools/call", r#"{"name":"a"}"#));
        request.extensions.insert(mirrored);
        let head = head(&request);
        assert_eq!(head["mcp-param-region"], "us-west1");
        assert_eq!(head["mcp-param-priority"], "42");
        assert_eq!(head["mcp-param-debug"], "false");
        assert_eq!(head["mcp-param-emptyval"], "");
        assert_eq!(head["mcp-param-leadingspace"], "=?base64?IGE=?=");
        assert_eq!(head["mcp-param-crlf"], "=?base64?YQ0KYg==?=");
        assert!(!head.contains_key("mcp-param-verbose"));
    }

    #[test]
    fn what_no_header_can_carry_is_refused() {
        for (suffix, value) in [("a b", "1"), ("a", "{}"), ("a", "[1]")] {
            let mut mirrored = MirroredHeaders::default();
            mirrored.push(suffix, RawJson::parse(value).unwrap());
            let error = mirrored.write(&mut HeaderMap::new()).unwrap_err();
            assert_eq!(error.code(), mgp_types::code::INVALID_PARAMS, "{suffix} {value}");
        }
    }
}
