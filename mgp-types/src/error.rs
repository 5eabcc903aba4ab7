use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::json::{JsonError, JsonFault, RawJson};
use crate::mgp::{Recovery, code};
use crate::{Method, Revision};

/// Why a request was not answered: the one error of every service, one word in size.
///
/// It carries what goes on the wire (code, message, data, recovery) and what does not: who is at fault and
/// the cause. A peer's error keeps its code and data untouched on the way through.
///
/// ```
/// use mgp_types::{Error, code};
///
/// let error = Error::invalid_params("`name` is missing");
/// assert_eq!(error.code(), code::INVALID_PARAMS);
/// assert_eq!(error.to_string(), "`name` is missing (-32602)");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: i64,
    message: Cow<'static, str>,
    data: Option<RawJson>,
    recovery: Option<Recovery>,
    origin: Origin,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Where an error comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This process decided it.
    Local,
    /// The peer answered with it.
    Peer,
    /// The peer answered with something that is not an answer.
    Misbehaved,
    /// The connection was lost, or could not be made; no answer will come.
    Connection,
    /// Nobody waits for the answer any more.
    Cancelled,
    /// No answer came in time.
    Timeout,
    /// The request needs input from the caller before it can be answered; see [`Context::ask`](crate::Context::ask).
    InputRequired,
}

impl Error {
    /// An error of this process.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Local, code, message)
    }

    /// An error that came from `origin`.
    pub fn from_origin(origin: Origin, code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self(Box::new(Inner { code, message, data: None, recovery: None, origin, source: None }))
    }

    /// -32601: nobody here serves `method`.
    pub fn method_not_found(method: &Method) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method not found: {method}"))
    }

    /// -32602: the parameters are not those of the method.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// -32600: the message is not a request, or not one that is allowed now.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// -32603: something here broke. The message goes to the peer; the details belong into
    /// [`with_source`](Self::with_source).
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// -32020: a header is missing, malformed, or says something else than the body.
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// -32021: the request needs a capability that the client did not declare.
    ///
    /// `required` is the object of the missing capabilities.
    pub fn missing_client_capability(required: &RawJson) -> Self {
        let mut data = br#"{"requiredCapabilities":"#.to_vec();
        data.extend_from_slice(required.as_bytes());
        data.push(b'}');
        Self::new(code::MISSING_CLIENT_CAPABILITY, "the client did not declare a capability this needs")
            .with_data(RawJson::from_valid(data))
    }

    /// The version asked for is not served; `code` is that of the era (-32022, or -32602 before it).
    pub fn unsupported_version(code: i64, requested: &str, supported: &[Revision]) -> Self {
        let supported: Vec<_> = supported.iter().map(|revision| revision.as_str()).collect();
        let data = RawJson::from_value(&UnsupportedVersion { supported: &supported, requested }).ok();
        Self::new(code, "Unsupported protocol version").with_optional_data(data)
    }

    /// The connection was lost or could not be made.
    pub fn disconnected(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Connection, code::UPSTREAM_UNAVAILABLE, message)
    }

    /// No answer came in time.
    pub fn timeout(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Timeout, code::TIMEOUT, message)
    }

    /// The request was taken back.
    pub fn cancelled() -> Self {
        Self::from_origin(Origin::Cancelled, code::INTERNAL_ERROR, "the request was cancelled")
    }

    /// The peer sent something the protocol does not allow.
    pub fn misbehaved(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Misbehaved, code::UPSTREAM_ERROR, message)
    }

    /// The handler asked for input; the layer that carries the questions turns this into an answer.
    pub fn input_required() -> Self {
        Self::from_origin(
            Origin::InputRequired,
            code::INTERNAL_ERROR,
            "the request needs input, and no layer here can ask for it",
        )
    }

    /// The error with `data`.
    pub fn with_data(self, data: RawJson) -> Self {
        self.with_optional_data(Some(data))
    }

    /// The error with `recovery` advice (MGP §14.5).
    pub fn with_recovery(mut self, recovery: Recovery) -> Self {
        self.0.recovery = Some(recovery);
        self
    }

    /// The error without recovery advice, for a peer that does not speak MGP.
    pub fn without_recovery(mut self) -> Self {
        self.0.recovery = None;
        self
    }

    /// The error with the cause behind it, for logs; it never goes to the peer.
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The error under another code.
    pub fn with_code(mut self, code: i64) -> Self {
        self.0.code = code;
        self
    }

    /// The error with another message.
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// The code.
    pub fn code(&self) -> i64 {
        self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The data, as the peer sent it or as it was set here.
    pub fn data(&self) -> Option<&RawJson> {
        self.0.data.as_ref()
    }

    /// Where the error comes from.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// The recovery advice: what was set here, or what the peer's `data._mgp` says (MGP §14.4).
    pub fn recovery(&self) -> Option<Recovery> {
        self.0.recovery.clone().or_else(|| Recovery::from_error_data(self.0.data.as_ref()?))
    }

    /// What goes on the wire as `data`, with recovery advice under `_mgp` if any was set here.
    pub fn wire_data(&self) -> Option<RawJson> {
        match &self.0.recovery {
            None => self.0.data.clone(),
            Some(recovery) => Some(recovery.into_error_data(self.0.data.as_ref())),
        }
    }

    fn with_optional_data(mut self, data: Option<RawJson>) -> Self {
        self.0.data = data;
        self
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("origin", &self.0.origin)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.message, self.0.code)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<JsonError> for Error {
    /// The code says who can mend it: broken JSON is a parse error, JSON that is refused an invalid request.
    fn from(error: JsonError) -> Self {
        let code = match error.fault {
            JsonFault::TooDeep | JsonFault::DuplicateMember | JsonFault::TooLong => code::INVALID_REQUEST,
            _ => code::PARSE_ERROR,
        };
        Self::new(code, error.to_string())
    }
}

#[derive(serde::Serialize)]
struct UnsupportedVersion<'a> {
    supported: &'a [&'a str],
    requested: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    // covers: BASE-24
    #[test]
    fn a_version_mismatch_names_both_sides() {
        let error = Error::unsupported_version(code::INVALID_PARAMS, "1.0.0", &[Revision::V2024_11_05]);
        assert_eq!(error.message(), "Unsupported protocol version");
        assert_eq!(error.data().unwrap().as_bytes(), br#"{"supported":["2024-11-05"],"requested":"1.0.0"}"#);
    }

    #[test]
    fn a_missing_capability_is_named() {
        let error = Error::missing_client_capability(&RawJson::parse(r#"{"sampling":{}}"#).unwrap());
        assert_eq!(error.code(), -32021);
        assert_eq!(error.data().unwrap().as_bytes(), br#"{"requiredCapabilities":{"sampling":{}}}"#);
    }
}
