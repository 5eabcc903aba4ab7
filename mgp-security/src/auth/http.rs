//! The tower layer that demands an API key of HTTP requests, or a token, in front of the HTTP server.

use std::fmt::Display;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Buf};
use mgp_types::{BoxFuture, Extensions, PeerCertificate};
use tokio::time::sleep;
use tower_service::Service;

use super::{AuthError, Authenticated, KeyId, KeyRing};
use crate::limit::limiter::ASK_EVERY;
use crate::oauth::{PresentedToken, ResourceServer, TokenError, TokenScheme, VerifiedToken, authorization};

/// A layer that lets in only HTTP requests with a key. It makes [`HttpAuth`] services.
#[derive(Debug, Clone)]
pub struct HttpAuthLayer {
    ring: Option<KeyRing>,
    optional: bool,
    tokens: Option<ResourceServer>,
}

impl HttpAuthLayer {
    /// Returns a layer that knows the keys of `ring`.
    pub fn new(ring: KeyRing) -> Self {
        Self { ring: Some(ring), optional: false, tokens: None }
    }

    /// Returns a layer that lets in requests with a token that `tokens` verifies, and knows no keys.
    pub fn of_tokens(tokens: ResourceServer) -> Self {
        Self { ring: None, optional: false, tokens: Some(tokens) }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Lets in requests with a token that `tokens` verifies, as well.
        pub fn tokens(tokens: ResourceServer) => self.tokens = Some(tokens);

        /// Lets in requests without a key as well; a wrong key is still refused.
        pub fn optional() => self.optional = true;
    }
}

mgp_types::layer!(HttpAuthLayer, self, inner => HttpAuth { inner, layer: self.clone() });

/// The service of [`HttpAuthLayer`].
///
/// With [tokens](HttpAuthLayer::tokens), a token of OAuth takes the place of a key. The service then also serves its
/// metadata (RFC 9728), without a token. It stands in front of the
/// HTTP server, where it also sees HTTP requests that become no request of the protocol, such as the opening of a
/// stream or the end of a session. It puts three things into the extensions of the request for [`Auth`](super::Auth):
/// the [`Principal`](mgp_types::Principal), to which sessions are bound, the [`Validity`](mgp_types::Validity), with
/// which streams and sessions end, and the permissions of the key. It removes `Authorization` and `DPoP`. It refuses
/// with 401, or with 429 where a key is used too often, once it has read the body as far as that is short, and tells the rule
/// by [`RefusedBy`]. It allocates on refusal and for the extensions that it adds. It
/// waits only for the issuer of a token, and until other kernels know of the last uses of a key with a rate limit;
/// dropping its future drops that of the service further in, and the use of the key stays counted.
#[derive(Debug, Clone)]
pub struct HttpAuth<S> {
    inner: S,
    layer: HttpAuthLayer,
}

impl<S, B, R> Service<http::Request<B>> for HttpAuth<S>
where
    S: Service<http::Request<B>, Response = http::Response<R>, Future: Send, Error: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Send> + Send + 'static,
    R: From<String> + Send + 'static,
{
    type Response = http::Response<R>;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Self::Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        if let Some(metadata) = self.layer.metadata_for(&request) {
            return Either::Right(Box::pin(answered(metadata, request.into_body())));
        }
        if self.layer.optional && !request.headers().contains_key(AUTHORIZATION) {
            return Either::Left(self.inner.call(request));
        }
        match self.layer.judge(request) {
            Either::Left(Ok(request)) => Either::Left(self.inner.call(request)),
            Either::Left(Err((response, body))) => Either::Right(Box::pin(answered(response, body))),
            Either::Right(asking) => {
                // The service that was ready is the one that is called.
                let next = self.inner.clone();
                let mut inner = std::mem::replace(&mut self.inner, next);
                Either::Right(Box::pin(async move {
                    match asking.await {
                        Ok(request) => inner.call(request).await,
                        Err((response, body)) => answered(response, body).await,
                    }
                }))
            }
        }
    }
}

/// Returns an answer of the layer once what is left of the body of its request has been read, if that is short and comes soon. A
/// connection is closed after an answer to a request that was not read, and the next request of a client that does not
/// expect that is lost.
async fn answered<B: Body, R, E>(response: http::Response<R>, body: B) -> Result<http::Response<R>, E> {
    let reading = async {
        let (mut body, mut left) = (pin!(body), MAX_READ_OUT);
        while let Some(Ok(frame)) = body.frame().await {
            let len = frame.data_ref().map_or(0, Buf::remaining);
            let Some(rest) = left.checked_sub(len) else { return };
            left = rest;
        }
    };
    // A body that does not come is left unread.
    let _ = tokio::time::timeout(READ_OUT_WITHIN, reading).await;
    Ok(response)
}

/// The number of bytes from which on a refused body is left unread.
const MAX_READ_OUT: usize = 64 * 1024;
const READ_OUT_WITHIN: Duration = Duration::from_secs(1);

/// The rule by which the sender of a request was refused, which stands among the extensions of the answer for those in
/// front of [`HttpAuth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedBy(pub &'static str);

/// Returns the request with the note of who sent it, and without what proved that.
fn admit<B>(mut request: http::Request<B>, caller: Authenticated) -> http::Request<B> {
    request.headers_mut().remove(AUTHORIZATION);
    request.headers_mut().remove("dpop");
    request.extensions_mut().insert(caller.principal.clone());
    request.extensions_mut().insert(caller.validity.clone());
    request.extensions_mut().insert(caller);
    request
}

/// Returns the sender of a request with these headers.
pub(super) fn authenticate(ring: &KeyRing, headers: &HeaderMap) -> Result<Authenticated, AuthError> {
    match authorization(headers) {
        Ok(Some((scheme, key))) if scheme.eq_ignore_ascii_case("bearer") => ring.verify(key),
        _ => Err(AuthError::Unknown),
    }
}

/// Removes the key from the head of the HTTP request, so that no code further in can pass it on.
pub(super) fn strip(extensions: &mut Extensions) {
    if !extensions.get::<Parts>().is_some_and(|head| head.headers.contains_key(AUTHORIZATION)) {
        return;
    }
    if let Some(head) = extensions.remove::<Parts>() {
        let mut head = std::sync::Arc::unwrap_or_clone(head);
        head.headers.remove(AUTHORIZATION);
        extensions.insert(head);
    }
}

fn refusal<R: From<String>>(error: AuthError) -> http::Response<R> {
    let challenge = |text| Some((WWW_AUTHENTICATE, HeaderValue::from_static(text)));
    let (status, header) = match error {
        AuthError::TooOften { wait } => {
            let seconds = u64::try_from(wait.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
            (StatusCode::TOO_MANY_REQUESTS, Some((RETRY_AFTER, HeaderValue::from(seconds))))
        }
        AuthError::NotPermitted { .. } => (StatusCode::FORBIDDEN, None),
        AuthError::Expired => {
            let why = r#"Bearer error="invalid_token", error_description="the key has expired""#;
            (StatusCode::UNAUTHORIZED, challenge(why))
        }
        AuthError::Unknown | AuthError::ReservedOwner => (StatusCode::UNAUTHORIZED, challenge("Bearer")),
    };
    let mut response = answer(error, status, error.rule());
    response.headers_mut().extend(header);
    response
}

/// Returns an answer in words, with its rule.
fn answer<R: From<String>>(words: impl Display, status: StatusCode, rule: &'static str) -> http::Response<R> {
    tracing::debug!(rule, "caller refused");
    let mut response = http::Response::new(format!("{words}\n").into());
    *response.status_mut() = status;
    response.extensions_mut().insert(RefusedBy(rule));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A request whose key or token is right, or its refusal with the body that nobody has read.
type JudgedRequest<B, R> = Result<http::Request<B>, (http::Response<R>, B)>;

/// The judgement of a request, or one that waits for the issuer of its token, or until other kernels know of the last uses of its
/// key.
type Judgement<B, R> = Either<JudgedRequest<B, R>, BoxFuture<'static, JudgedRequest<B, R>>>;

impl HttpAuthLayer {
    /// Returns the metadata by which a client learns where to get a token, if the request is for it.
    fn metadata_for<B, R: From<String>>(&self, request: &http::Request<B>) -> Option<http::Response<R>> {
        let tokens = self.tokens.as_ref().filter(|_| request.method() == Method::GET)?;
        let mut response = http::Response::new(tokens.metadata_at(request.uri().path())?.into());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Some(response)
    }

    /// Verifies the token or the key of a request.
    fn judge<B, R>(&self, request: http::Request<B>) -> Judgement<B, R>
    where
        B: Send + 'static,
        R: From<String> + Send + 'static,
    {
        let Some(server) = &self.tokens else { return self.judge_key(request) };
        let certificate = request.extensions().get::<PeerCertificate>();
        let shown = PresentedToken::read(request.headers(), request.method(), request.uri(), certificate);
        let shown = match shown {
            Ok(shown) if shown.scheme == TokenScheme::Bearer && KeyId::of_key(&shown.token).is_some() => {
                return self.judge_key(request);
            }
            Ok(shown) => shown,
            Err(error) => {
                return Either::Left(Err((token_refusal(server, error, None), request.into_body())));
            }
        };
        let judged = move |server: &ResourceServer, verified: Result<VerifiedToken, TokenError>, scheme| {
            match verified {
                Ok(token) => Ok(admit(request, Authenticated::of_token(token))),
                Err(error) => Err((token_refusal(server, error, Some(scheme)), request.into_body())),
            }
        };
        if let Some(verified) = server.verify_known(&shown) {
            return Either::Left(judged(server, verified, shown.scheme));
        }
        let server = server.clone();
        Either::Right(Box::pin(async move {
            let verified = server.verify(&shown).await;
            judged(&server, verified, shown.scheme)
        }))
    }

    /// Verifies the key of a request; where tokens are known, the refusal says how to get one.
    fn judge_key<B, R>(&self, request: http::Request<B>) -> Judgement<B, R>
    where
        B: Send + 'static,
        R: From<String> + Send + 'static,
    {
        let authenticated =
            self.ring.as_ref().map_or(Err(AuthError::Unknown), |ring| authenticate(ring, request.headers()));
        let error = match authenticated {
            Ok(caller) => return Either::Left(Ok(admit(request, caller))),
            Err(AuthError::TooOften { wait }) if wait.is_zero() => {
                let layer = self.clone();
                return Either::Right(Box::pin(async move {
                    sleep(ASK_EVERY).await;
                    match layer.judge_key(request) {
                        Either::Left(judged) => judged,
                        Either::Right(waiting) => waiting.await,
                    }
                }));
            }
            Err(error) => error,
        };
        let of_token = match error {
            AuthError::Unknown | AuthError::ReservedOwner => Some(TokenError::Invalid),
            AuthError::Expired => Some(TokenError::Expired),
            _ => None,
        };
        let challenged = self.tokens.as_ref().zip(of_token);
        let challenged = challenged.map(|(server, error)| token_refusal(server, error, None));
        Either::Left(Err((challenged.unwrap_or_else(|| refusal(error)), request.into_body())))
    }
}

fn token_refusal<R: From<String>>(
    server: &ResourceServer,
    error: TokenError,
    scheme: Option<TokenScheme>,
) -> http::Response<R> {
    let (status, rule, _) = error.facts();
    let mut response = answer(error, status, rule);
    let challenge_headers =
        [(WWW_AUTHENTICATE, server.challenge(error, scheme)), (DPOP_NONCE, server.nonce(error))];
    for (name, text) in challenge_headers {
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    }
    response
}

/// The header with the nonce for the next proof.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
