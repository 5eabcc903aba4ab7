//! The way in by a token, in front of the HTTP server.

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use mgp_types::{BoxFuture, PeerCertificate};

use super::http::{admit, answer};
use super::key::KeyId;
use super::{AuthError, Authenticated};
use crate::oauth::{PresentedToken, ResourceServer, TokenError, TokenScheme, VerifiedToken};

/// A request in front of the server.
pub(super) enum Met<B, R> {
    /// The request shows no token; it may show a key.
    Other(http::Request<B>),
    /// The request's token is right, or wrong.
    Judged(JudgedRequest<B, R>),
    /// The issuer of the token has to be asked.
    Asking(BoxFuture<'static, JudgedRequest<B, R>>),
}

/// A request whose token is right, or its refusal with the body that nobody has read.
type JudgedRequest<B, R> = Result<http::Request<B>, (http::Response<R>, B)>;

/// Looks for a token, and verifies it.
pub(super) fn meet<B, R>(server: &ResourceServer, request: http::Request<B>) -> Met<B, R>
where
    B: Send + 'static,
    R: From<String> + Send + 'static,
{
    let certificate = request.extensions().get::<PeerCertificate>();
    let shown = match PresentedToken::read(request.headers(), request.method(), request.uri(), certificate) {
        Ok(shown) if shown.scheme == TokenScheme::Bearer && KeyId::of_key(&shown.token).is_some() => {
            return Met::Other(request);
        }
        Ok(shown) => shown,
        Err(error) => return Met::Judged(Err((refusal(server, error, None), request.into_body()))),
    };
    let judged = move |server: &ResourceServer, verified: Result<VerifiedToken, TokenError>, scheme| {
        let mut request = request;
        match verified {
            Ok(token) => admit(&mut request, Authenticated::of_token(token)),
            Err(error) => return Err((refusal(server, error, Some(scheme)), request.into_body())),
        }
        Ok(request)
    };
    if let Some(verified) = server.verify_known(&shown) {
        return Met::Judged(judged(server, verified, shown.scheme));
    }
    let server = server.clone();
    Met::Asking(Box::pin(async move {
        let verified = server.verify(&shown).await;
        judged(&server, verified, shown.scheme)
    }))
}

/// Returns the refusal of a wrong key, which says how to get a token.
pub(super) fn challenge<R: From<String>>(
    server: &ResourceServer,
    error: AuthError,
) -> Option<http::Response<R>> {
    let error = match error {
        AuthError::Unknown | AuthError::ReservedOwner => TokenError::Invalid,
        AuthError::Expired => TokenError::Expired,
        _ => return None,
    };
    Some(refusal(server, error, None))
}

fn refusal<R: From<String>>(
    server: &ResourceServer,
    error: TokenError,
    scheme: Option<TokenScheme>,
) -> http::Response<R> {
    // Every login begins without a token.
    if error == TokenError::Missing {
        tracing::debug!(rule = error.rule(), "caller refused");
    } else {
        tracing::warn!(rule = error.rule(), "caller refused");
    }
    let mut response = answer(error, error.status());
    let challenge_headers =
        [(WWW_AUTHENTICATE, server.challenge(error, scheme)), (DPOP_NONCE, server.nonce(error))];
    for (name, text) in challenge_headers {
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    }
    response
}

/// The header with the nonce for the next proof.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
