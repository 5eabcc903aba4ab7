//! Keys in messages: the member `auth` beside `params`, as clients of the tool registry send it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Limited};
use hyper::body::Incoming;
use mgp_transport::http::HttpBody;
use mgp_types::ext::{projection, registry_error_data};
use mgp_types::json::ObjectWriter;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Object, RawJson, Revision, code};

use super::paths::{request_trace, uncached};
use crate::settings::running::RunningConfig;

/// The body of a request: as it comes in, or as it was read.
pub(super) type MessageBody = Either<Incoming, HttpBody>;

/// Takes the key out of the member `auth` of a message and hands it on as the header `Authorization`, if the configuration
/// says so. Returns the request with the caller to whom refusals of the key are [explained](explained), if the message may
/// have had one. A request with the header is left as it is.
///
/// # Errors
/// The refusal of a caller whose message is too long, or has no key in the member, in the form of the tool registry's errors.
pub(super) async fn keyed(
    config: &RunningConfig,
    request: Request<Incoming>,
) -> Result<(Request<MessageBody>, Option<Caller>), Response<HttpBody>> {
    if !may_have_key(config, &request) {
        return Ok((request.map(Either::Left), None));
    }
    let (mut head, body) = request.into_parts();
    let read = tokio::time::timeout(LONGEST_READ, Limited::new(body, MAX_BYTES).collect()).await;
    let Ok(Ok(body)) = read else {
        let why = "a message with its key in `auth` has 1 MiB at most, and comes within 30 seconds; send the key of \
                   others in the header `Authorization`";
        let error = Error::invalid_request(why);
        let caller = Caller { headers: head.headers, id: None };
        return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, &error, &caller));
    };
    let body = body.to_bytes();
    // What is no message, the server of the protocol knows to refuse.
    let Ok(mut message) = Object::parse(body.clone()) else { return Ok((with_body(head, body), None)) };
    let caller = Caller { headers: head.headers.clone(), id: message.get("id") };
    let body = match message.remove("auth").map(|auth| bearer(&auth)) {
        None => body,
        Some(Ok(header)) => {
            head.headers.insert(AUTHORIZATION, header);
            message.to_raw().to_bytes()
        }
        Some(Err(error)) => return Err(refused(StatusCode::UNAUTHORIZED, &error, &caller)),
    };
    Ok((with_body(head, body), Some(caller)))
}

fn may_have_key(config: &RunningConfig, request: &Request<Incoming>) -> bool {
    let headers = request.headers();
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    request.uri().path() == ENDPOINT
        && request.method() == Method::POST
        && kind.get(..JSON.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(JSON))
        && !headers.contains_key(AUTHORIZATION)
        && config.load().listen.auth_member
}

fn with_body(mut head: Parts, body: Bytes) -> Request<MessageBody> {
    head.headers.remove(CONTENT_LENGTH);
    head.headers.remove(TRANSFER_ENCODING);
    Request::from_parts(head, Either::Right(HttpBody::from(body)))
}

/// Returns the header that says the same as the member `auth`.
fn bearer(auth: &RawJson) -> Result<HeaderValue, Error> {
    let lacking = |why: &'static str| Error::new(code::AUTH_REQUIRED, why);
    let auth = Object::from_raw(auth)
        .map_err(|_| lacking("`auth` must be an object with `type` \"bearer\" and a `token`"))?;
    if auth.text("type").as_deref() != Some("bearer") {
        return Err(lacking("`auth.type` is not supported: send \"bearer\""));
    }
    let is_key = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let token = auth.text("token").filter(|token| is_key(token));
    let header = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
    let mut header =
        header.ok_or_else(|| lacking("`auth.token` must be a key as `mgp keys new` shows it"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// The part of a request that its refusal repeats.
pub(super) struct Caller {
    headers: HeaderMap,
    id: Option<RawJson>,
}

impl Caller {
    /// Returns whether the request is of a revision in which the numbers of the registry mean something else.
    fn is_stateless(&self) -> bool {
        let version = self.headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
        version.and_then(|version| version.parse::<Revision>().ok()).is_some_and(Revision::is_stateless)
    }
}

/// Returns a refusal of the caller's key with the reason in its body; other responses stay as they are.
pub(super) fn explained(response: Response<HttpBody>, caller: &Caller) -> Response<HttpBody> {
    // A refusal in JSON is one of the protocol.
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON)) {
        return response;
    }
    let status = response.status();
    let error = match status {
        StatusCode::UNAUTHORIZED => Error::new(
            code::AUTH_REQUIRED,
            "the key is missing or does not hold: send `auth` with `type` \"bearer\" and a `token`",
        ),
        StatusCode::FORBIDDEN => Error::new(code::PERMISSION_DENIED, "the key does not permit this"),
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = response.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
            let wait_ms = wait.unwrap_or(1_u64).saturating_mul(1000);
            let recovery = Recovery::for_code(code::RATE_LIMITED).unwrap_or_default();
            Error::new(code::RATE_LIMITED, "the key is used too often")
                .with_recovery(recovery.with_retry_after_ms(wait_ms))
        }
        _ => return response,
    };
    let mut explained = refused(status, &error, caller);
    for (name, value) in response.headers() {
        explained.headers_mut().entry(name).or_insert_with(|| value.clone());
    }
    explained
}

/// Returns the error as an answer of JSON-RPC, in the form of the tool registry.
fn refused(status: StatusCode, error: &Error, caller: &Caller) -> Response<HttpBody> {
    let number = if caller.is_stateless() {
        code::to_mcp(error.code(), true)
    } else {
        projection(error.code()).registry
    };
    let mut error_object = ObjectWriter::new();
    error_object.value("code", &number);
    error_object.text("message", error.message());
    error_object.json("data", &registry_error_data(error, request_trace(&caller.headers)));
    let mut body = ObjectWriter::new();
    body.text("jsonrpc", "2.0");
    body.json("id", caller.id.as_ref().unwrap_or(&RawJson::null()));
    body.json("error", &error_object.finish().to_raw());
    uncached(status, "application/json", body.finish().to_raw().to_bytes())
}

/// The path of the protocol's endpoint.
const ENDPOINT: &str = "/mcp";
const JSON: &[u8] = b"application/json";
/// The longest message that is read from somebody who is not known yet.
const MAX_BYTES: usize = 1 << 20;
const LONGEST_READ: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn header(auth: &str) -> Result<HeaderValue, String> {
        bearer(&RawJson::parse(auth.to_owned()).unwrap()).map_err(|error| {
            assert_eq!(error.code(), code::AUTH_REQUIRED);
            error.message().to_owned()
        })
    }

    #[test]
    fn a_key_in_a_message_is_that_of_the_header() {
        let good = header(r#"{"type":"bearer","token":"mgp_1"}"#).unwrap();
        assert_eq!(good, "Bearer mgp_1");
        assert!(good.is_sensitive() && !format!("{good:?}").contains("mgp_1"));
        for (auth, what) in [
            (r#""mgp_1""#, "object"),
            (r#"{"token":"mgp_1"}"#, "type"),
            (r#"{"type":"basic","token":"mgp_1"}"#, "type"),
            (r#"{"type":"bearer"}"#, "token"),
            (r#"{"type":"bearer","token":""}"#, "token"),
            (r#"{"type":"bearer","token":7}"#, "token"),
            (r#"{"type":"bearer","token":"a\nb"}"#, "token"),
            (r#"{"type":"bearer","token":"mgp_1 "}"#, "token"),
        ] {
            let why = header(auth).unwrap_err();
            assert!(why.contains(what) && !why.contains("mgp_1"), "{auth}: {why}");
        }
    }
}
