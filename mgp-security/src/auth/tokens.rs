//! The way in by a token, in front of the HTTP server.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use mgp_types::{BoxFuture, PeerCertificate};

use super::http::admit;
use super::key::KeyId;
use super::{AuthError, Authenticated};
use crate::oauth::{PresentedToken, ResourceServer, TokenError};

/// The verification of tokens, if tokens are accepted now.
#[derive(Clone, Default)]
pub(super) struct TokenDoor(Option<Arc<ArcSwapOption<ResourceServer>>>);

/// A request at the door.
pub(super) enum Met<B, R> {
    /// The request shows no token; it may show a key.
    Other(http::Request<B>),
    /// The request's token is right.
    Admitted(http::Request<B>),
    /// The request's token is wrong.
    Refused(http::Response<R>),
    /// The issuer of the token has to be asked.
    Asking(BoxFuture<'static, Result<http::Request<B>, http::Response<R>>>),
}

impl TokenDoor {
    pub(super) const fn new(tokens: Arc<ArcSwapOption<ResourceServer>>) -> Self {
        Self(Some(tokens))
    }

    fn server(&self) -> Option<Arc<ResourceServer>> {
        self.0.as_ref()?.load_full()
    }

    /// Looks for a token, and verifies it.
    pub(super) fn meet<B, R>(&self, mut request: http::Request<B>) -> Met<B, R>
    where
        B: Send + 'static,
        R: Default + Send + 'static,
    {
        let Some(server) = self.server() else { return Met::Other(request) };
        let certificate = request.extensions().get::<PeerCertificate>();
        let shown = PresentedToken::read(request.headers(), request.method(), request.uri(), certificate);
        let shown = match shown {
            Ok(shown) if shown.is_bearer() && KeyId::of_key(shown.text()).is_some() => {
                return Met::Other(request);
            }
            Ok(shown) => shown,
            Err(error) => return Met::Refused(refusal(&server, error)),
        };
        match server.verify_known(&shown) {
            Some(Ok(token)) => {
                admit(&mut request, Authenticated::of_token(token));
                Met::Admitted(request)
            }
            Some(Err(error)) => Met::Refused(refusal(&server, error)),
            None => Met::Asking(Box::pin(async move {
                match server.verify(&shown).await {
                    Ok(token) => {
                        admit(&mut request, Authenticated::of_token(token));
                        Ok(request)
                    }
                    Err(error) => Err(refusal(&server, error)),
                }
            })),
        }
    }

    /// Returns the refusal of a wrong key, which says how to get a token, if tokens are accepted.
    pub(super) fn challenge<R: Default>(&self, error: AuthError) -> Option<http::Response<R>> {
        let server = self.server()?;
        let error = match error {
            AuthError::Unknown | AuthError::ReservedOwner => TokenError::Invalid,
            AuthError::Expired => TokenError::Expired,
            _ => return None,
        };
        Some(refusal(&server, error))
    }
}

mgp_types::partial_debug!(TokenDoor);

fn refusal<R: Default>(server: &ResourceServer, error: TokenError) -> http::Response<R> {
    tracing::warn!(rule = error.rule(), "caller refused");
    let mut response = http::Response::new(R::default());
    *response.status_mut() = error.status();
    let challenge = server.challenge(error).and_then(|challenge| challenge.parse::<HeaderValue>().ok());
    if let Some(challenge) = challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    }
    response
}
