//! The port by which the requests of a client are authorized.

use http::{HeaderMap, Method, StatusCode, Uri};
use mgp_types::{BoxFuture, Error};

/// Authorizes the HTTP requests of a client: messages, streams, and the ends of sessions alike.
///
/// All requests of a client pass through one place, which asks for the headers of each request before it is sent, and
/// again for each redirect. An answer that demands authorization (401, 403) is shown to the port before anybody else sees
/// it, so that tokens are obtained, renewed and widened here alone.
pub trait Authorize: Send + Sync + 'static {
    /// Returns the headers that authorize a request, such as `Authorization`. They replace those of the same name.
    ///
    /// # Errors
    /// The request cannot be authorized, and is not sent.
    fn authorize<'a>(&'a self, request: &'a OutgoingRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, Error>>;

    /// Hears that the server refused a request with 401 or 403, and returns whether to send it once more. The implementation
    /// bounds the number of times; [`OutgoingRequest::attempt`] tells how often the request was sent before. After 16 times the
    /// answer stands in any case.
    ///
    /// # Errors
    /// The request cannot be authorized; the error takes the place of the answer.
    fn refused<'a>(
        &'a self,
        request: &'a OutgoingRequest<'a>,
        answer: &'a AuthorizationAnswer<'a>,
    ) -> BoxFuture<'a, Result<AfterRefusal, Error>>;

    /// Hears of each answer, which may carry a nonce for the next request. Default: nothing happens.
    fn answered(&self, request: &OutgoingRequest<'_>, answer: &AuthorizationAnswer<'_>) {
        let _ = (request, answer);
    }
}

/// A request that is about to be sent, or was.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OutgoingRequest<'a> {
    /// The method of HTTP.
    pub method: &'a Method,
    /// The URL.
    pub url: &'a Uri,
    /// The number of times that it was sent before.
    pub attempt: u32,
    /// The headers that the implementation gave the request that was answered; `None` while it is asked for them.
    pub authorized: Option<&'a HeaderMap>,
}

/// The head of an answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuthorizationAnswer<'a> {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: &'a HeaderMap,
}

/// The next step after an answer that demands authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterRefusal {
    /// The request is sent once more, with headers that are asked for anew.
    Resend,
    /// The answer stands.
    Keep,
}
