//! The calls of the protocol that a door makes of its requests.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, HttpServer};
use mgp_types::ext::ExtensionId;
use mgp_types::json::write_string;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{CapabilityMessage, ExtensionSet, Offer, TraceId};
use mgp_types::{Error, Object, RawJson, Revision, code};

/// The protocol's own server, to which a door sends calls. Each call describes itself, so a door holds no session.
pub(super) struct InnerCalls<A: Accept> {
    pub(super) server: HttpServer<A>,
    /// The head of the request at the door, whose sender makes the calls.
    pub(super) head: Parts,
    /// The trace of the request at the door, by which the record knows all calls that are made of it: that of `traceparent`,
    /// or a new one.
    pub(super) trace: TraceId,
}

impl<A: Accept> InnerCalls<A> {
    /// Calls `method` with these parameters, for the sender of the request at the door.
    ///
    /// # Errors
    /// Fails with the error of the call, whose data have the members of a structured error and those of the tool
    /// registry.
    pub(super) async fn call(&self, method: &str, params: Object) -> Result<RawJson, Error> {
        let Ok(response) = self.server.handle(request(&self.head, self.trace, method, params)).await;
        let (answered, body) = response.into_parts();
        let Ok(body) = body.collect().await;
        read(answered.status, &body.to_bytes())
    }
}

/// Returns a request of the stateless revision, with the host, the origin and the caller of the request at the door.
fn request(head: &Parts, trace: TraceId, method: &str, mut params: Object) -> Request<HttpBody> {
    let mut meta = params.object("_meta").unwrap_or_default();
    meta.set(key::PROTOCOL_VERSION, RawJson::from_text(Revision::LATEST.as_str()));
    meta.set(key::CLIENT_INFO, RawJson::parse(CLIENT).unwrap_or(RawJson::empty_object()));
    meta.set(key::CLIENT_CAPABILITIES, capabilities());
    meta.set("trace_id", RawJson::from_text(&trace.to_string()));
    let name = params.text("name").map(std::borrow::Cow::into_owned);
    params.set("_meta", meta.to_raw());
    let mut body = br#"{"jsonrpc":"2.0","id":1,"method":"#.to_vec();
    write_string(&mut body, method);
    body.extend_from_slice(br#","params":"#);
    params.write(&mut body);
    body.push(b'}');
    let mut request = Request::new(HttpBody::from(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    // HTTP/2 names the host there and in no header, and it is checked like one.
    request.uri_mut().clone_from(&head.uri);
    *request.extensions_mut() = head.extensions.clone();
    let headers = request.headers_mut();
    headers.clone_from(&head.headers);
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    for (header, value) in [
        ("mcp-protocol-version", Some(Revision::LATEST.as_str())),
        ("mcp-method", Some(method)),
        ("mcp-name", name.as_deref()),
    ] {
        let header = HeaderName::from_static(header);
        headers.remove(&header);
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(header, value);
        }
    }
    request
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

/// Reads the answer to a call: a message, or a stream of events whose last one is the message.
fn read(status: StatusCode, body: &Bytes) -> Result<RawJson, Error> {
    let message = if body.first() == Some(&b'{') { body.clone() } else { last_event(body) };
    let Ok(message) = Object::parse(message) else {
        let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
        let code =
            if status == StatusCode::FORBIDDEN { code::PERMISSION_DENIED } else { code::INVALID_REQUEST };
        return Err(Error::new(code, text.trim().to_owned()));
    };
    if let Some(result) = message.get("result") {
        return Ok(result);
    }
    let error = message.object("error").unwrap_or_default();
    let number = error.get("code").and_then(|code| code.to().ok()).unwrap_or(code::INTERNAL_ERROR);
    let text = error.text("message").unwrap_or_default().into_owned();
    Err(error.get("data").into_iter().fold(Error::new(number, text), Error::with_data))
}

fn last_event(body: &Bytes) -> Bytes {
    let start = memchr::memmem::rfind(body, b"\ndata:").map_or_else(
        || body.starts_with(b"data:").then_some("data:".len()),
        |place| Some(place + "\ndata:".len()),
    );
    let Some(start) = start else { return Bytes::new() };
    let rest = body.slice(start..);
    let end = memchr::memchr(b'\n', &rest).unwrap_or(rest.len());
    rest.slice(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_message_or_the_last_event() {
        let one = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#);
        assert_eq!(read(StatusCode::OK, &one).unwrap().as_bytes(), br#"{"a":1}"#);
        let events = Bytes::from_static(
            b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"result\":{}}\n\n",
        );
        assert_eq!(read(StatusCode::OK, &events).unwrap().as_bytes(), b"{}");
        let error = Bytes::from_static(br#"{"error":{"code":4001,"message":"none","data":{"x":1}}}"#);
        let error = read(StatusCode::OK, &error).unwrap_err();
        assert_eq!((error.code(), error.message()), (4001, "none"));
        let refused =
            read(StatusCode::FORBIDDEN, &Bytes::from_static(b"this `Host` is not served")).unwrap_err();
        assert_eq!((refused.code(), refused.message()), (1000, "this `Host` is not served"));
    }
}
