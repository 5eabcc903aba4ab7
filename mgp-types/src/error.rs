//! The one error of every service, with its code, its origin and its recovery advice, and the demand for authorization that it
//! carries to the HTTP server.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{JsonError, JsonFault, Object, RawJson};
use crate::mcp::UnsupportedProtocolVersion;
use crate::mgp::{MEMBER, Recovery, code};
use crate::{Method, Revision};

/// The reason why a request was not answered. Every service of MGP has this error, which is one word in size.
///
/// The error carries what goes on the wire (code, message, data, recovery) and what stays here (its origin and its
/// cause). A peer's error keeps its code and data untouched on the way through.
///
/// ```
/// use mgp_types::{Error, code};
///
/// let error = Error::invalid_params("`name` is missing");
/// assert_eq!(error.code(), code::INVALID_PARAMS);
/// assert_eq!(error.to_string(), "`name` is missing (-32602)");
/// ```
#[derive(Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    code: i64,
    message: Cow<'static, str>,
    data: Option<RawJson>,
    recovery: Option<Recovery>,
    origin: Origin,
    is_not_executed: bool,
    is_unavailable: bool,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The place where an error was decided or noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The error was decided by this process.
    Local,
    /// The peer answered with the error.
    Peer,
    /// The peer answered with something that is no valid answer.
    Misbehaved,
    /// The connection was lost or could not be made, so no answer will come.
    Connection,
    /// The caller took the request back.
    Cancelled,
    /// No answer came in time.
    Timeout,
    /// The request needs input from the caller before it can be answered; see [`Context::ask`](crate::Context::ask).
    InputRequired,
    /// The request was changed by a gate that waited, and enters its gates anew; see [`Error::changed`].
    Changed,
}

impl Error {
    /// Creates an error of this process.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Local, code, message)
    }

    /// Creates an error that came from `origin`.
    pub fn from_origin(origin: Origin, code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        let (data, recovery, source) = (None, None, None);
        Self(Box::new(ErrorInner {
            code,
            message,
            data,
            recovery,
            origin,
            is_not_executed: false,
            is_unavailable: false,
            source,
        }))
    }

    /// Creates the error -32601: no service here has `method`.
    pub fn method_not_found(method: &Method) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method not found: {method}"))
    }

    /// Creates the error -32602: the parameters do not fit the method.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates the error -32600: the message is no request, or the request is not allowed now.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates the error -32603: this process broke. The message goes to the peer; the details belong into
    /// [`with_source`](Self::with_source).
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// Creates the error -32020: an HTTP header is missing, malformed or contradicts the body.
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// Creates the error -32021: the request needs a capability that the client did not declare.
    ///
    /// `required` is the object of the missing capabilities.
    pub fn missing_client_capability(required: &RawJson) -> Self {
        let data = Object::from([("requiredCapabilities", required.clone())]);
        Self::new(code::MISSING_CLIENT_CAPABILITY, "the client did not declare a capability this needs")
            .with_data(data.to_raw())
    }

    /// Creates the error that refuses the protocol version `requested`; `code` is the number of the era: -32022 in the
    /// stateless revisions, -32602 in the older ones.
    pub fn unsupported_version(code: i64, requested: &str, supported: &[Revision]) -> Self {
        let supported: Vec<_> = supported.iter().map(ToString::to_string).collect();
        let data = RawJson::from_value(&UnsupportedProtocolVersion::new(supported, requested));
        Self::new(code, "Unsupported protocol version").with_data(data.unwrap_or(RawJson::null()))
    }

    /// Creates the error of a connection that was lost or could not be made.
    pub fn disconnected(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Connection, code::UPSTREAM_UNAVAILABLE, message)
    }

    /// Creates the error of an answer that did not come in time.
    pub fn timeout(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Timeout, code::TIMEOUT, message)
    }

    /// Creates the error of a request that the caller took back.
    pub fn cancelled() -> Self {
        Self::from_origin(Origin::Cancelled, code::INTERNAL_ERROR, "the request was cancelled")
    }

    /// Creates the error of a peer that sent something the protocol does not allow.
    pub fn misbehaved(message: impl Into<Cow<'static, str>>) -> Self {
        Self::from_origin(Origin::Misbehaved, code::UPSTREAM_ERROR, message)
    }

    /// Creates the error of a handler that asked for input; the layer that carries questions turns the error into an
    /// answer.
    pub fn input_required() -> Self {
        Self::from_origin(
            Origin::InputRequired,
            code::INTERNAL_ERROR,
            "the request needs input, and no layer here can ask for it",
        )
    }

    /// Creates the error of a gate that changed a request while it [waited](crate::Flow::Wait): the request enters all gates
    /// of its set anew, as if it had just come. Where no set of gates takes it back, it is refused.
    pub fn changed() -> Self {
        let message = "the request was changed, and nobody judged it anew";
        Self::from_origin(Origin::Changed, code::INTERNAL_ERROR, message)
    }

    crate::setters! { self =>
        /// Sets the data that goes to the peer with the error.
        pub fn with_data(data: RawJson) => self.0.data = Some(data);

        /// Sets the recovery advice that goes to the peer with the error (MGP §14.5).
        pub fn with_recovery(recovery: Recovery) => self.0.recovery = Some(recovery);

        /// Marks the error of a call that had no effect, because no server began with it.
        ///
        /// A code alone cannot tell: 5002 may come from a server that was halfway through. Without this mark, the call may have
        /// been carried out.
        pub fn not_executed() => self.0.is_not_executed = true;

        /// Takes the mark of [`not_executed`](Self::not_executed) away, for a call that an earlier attempt may have carried out.
        pub fn maybe_executed() => self.0.is_not_executed = false;

        /// Marks the error of a request that this process cannot answer now, and another one may: over HTTP it has the status 503,
        /// so that a load balancer asks another one. It says that [nothing was executed](Self::not_executed), too.
        pub fn unavailable() => (self.0.is_unavailable, self.0.is_not_executed) = (true, true);

        /// Sets the cause of the error, for logs. The cause never goes to the peer.
        pub fn with_source(source: impl std::error::Error + Send + Sync + 'static) =>
            self.0.source = Some(Arc::new(source));

        /// Replaces the code.
        pub fn with_code(code: i64) => self.0.code = code;

        /// Replaces the message.
        pub fn with_message(message: impl Into<Cow<'static, str>>) => self.0.message = message.into();
    }

    /// Sets the recovery advice that every error of this code has, if MGP gives any.
    pub fn with_usual_recovery(self) -> Self {
        match Recovery::for_code(self.code()) {
            Some(recovery) => self.with_recovery(recovery),
            None => self,
        }
    }

    /// Removes the recovery advice, that in the peer's data included, for a peer that does not speak MGP.
    pub fn without_recovery(mut self) -> Self {
        self.0.recovery = None;
        let data = self.0.data.as_ref().and_then(|data| Object::from_raw(data).ok());
        if let Some(mut data) = data.filter(|data| data.contains(MEMBER)) {
            data.remove(MEMBER);
            self.0.data = (!data.is_empty()).then(|| data.to_raw());
        }
        self
    }

    /// Returns whether it is certain that the call had no effect.
    pub fn is_not_executed(&self) -> bool {
        self.0.is_not_executed
    }

    /// Returns whether this process as a whole cannot answer now.
    pub fn is_unavailable(&self) -> bool {
        self.0.is_unavailable
    }

    /// Returns the code.
    pub fn code(&self) -> i64 {
        self.0.code
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the data, as the peer sent them or as this process set them.
    pub fn data(&self) -> Option<&RawJson> {
        self.0.data.as_ref()
    }

    /// Returns the place where the error was decided or noticed.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// Returns the recovery advice that this process set, else the advice in the peer's `data._mgp` (MGP §14.4), else
    /// what the peer's structured error or that of a tool registry says.
    pub fn recovery(&self) -> Option<Recovery> {
        let of_peer = || {
            let data = self.0.data.as_ref()?;
            Recovery::from_error_data(data).or_else(|| crate::ext::recovery_of(data))
        };
        self.0.recovery.clone().or_else(of_peer)
    }

    /// Returns the `data` as they go on the wire, with recovery advice under `_mgp` if this process set any.
    pub fn wire_data(&self) -> Option<RawJson> {
        match &self.0.recovery {
            None => self.0.data.clone(),
            Some(recovery) => Some(recovery.into_error_data(self.0.data.as_ref())),
        }
    }
}

crate::partial_debug!(Error, self =>
    code: self.0.code,
    message: self.0.message,
    origin: self.0.origin,
    source: self.0.source,
);

crate::write_as!(Display of Error, self => "{} ({})", self.0.message, self.0.code);

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<JsonError> for Error {
    /// Makes broken JSON a parse error, and JSON that is refused for its content an invalid request.
    fn from(error: JsonError) -> Self {
        let code = match error.fault {
            JsonFault::TooDeep | JsonFault::DuplicateMember | JsonFault::TooLong => code::INVALID_REQUEST,
            _ => code::PARSE_ERROR,
        };
        Self::new(code, error.to_string())
    }
}

/// The source of an error: the request needs authorization that its sender has not shown.
///
/// The HTTP server answers such a request with the status and the challenge (`WWW-Authenticate`), in both eras; other
/// transports answer with the error alone.
///
/// ```
/// use mgp_types::{AuthorizationDemand, Error, code};
///
/// let demand = AuthorizationDemand::insufficient_scope(r#"Bearer error="insufficient_scope", scope="files:write""#);
/// let error = Error::new(code::PERMISSION_DENIED, "the token lacks the scope files:write").with_source(demand);
/// assert_eq!(AuthorizationDemand::of(&error).map(AuthorizationDemand::status), Some(403));
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the request needs authorization (HTTP status {status})")]
pub struct AuthorizationDemand {
    status: u16,
    challenge: Box<str>,
}

impl AuthorizationDemand {
    /// Returns the demand for a token, or for another one (401).
    pub fn unauthorized(challenge: impl Into<Box<str>>) -> Self {
        Self { status: 401, challenge: challenge.into() }
    }

    /// Returns the demand for a token with more scopes (403).
    pub fn insufficient_scope(challenge: impl Into<Box<str>>) -> Self {
        Self { status: 403, challenge: challenge.into() }
    }

    /// Returns the demand that `error` carries, if it does.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the status of the answer.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Returns the value of `WWW-Authenticate`.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}

crate::partial_debug!(AuthorizationDemand, self => status: self.status);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_removed_wherever_it_stands_and_other_data_stay() {
        let of_peer =
            |data: &str| Error::new(3000, "busy").with_data(RawJson::parse(data.to_owned()).unwrap());
        let ours = of_peer(r#"{"their":1.50}"#).with_recovery(Recovery::default());
        for (error, left) in [
            (of_peer(r#"{"_mgp":{"retryable":true}}"#), None),
            (of_peer(r#"{"_mgp":{}, "their":1.50}"#), Some(r#"{"their":1.50}"#)),
            (of_peer(r#"[{"_mgp":1}]"#), Some(r#"[{"_mgp":1}]"#)),
            (ours, Some(r#"{"their":1.50}"#)),
        ] {
            let plain = error.without_recovery();
            assert_eq!(plain.wire_data().as_ref().map(RawJson::as_bytes), left.map(str::as_bytes));
        }
    }

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
