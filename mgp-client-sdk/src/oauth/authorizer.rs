//! When a token is obtained, renewed and widened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mgp_security::jose::{Algorithm, SigningKey, dpop};
use mgp_security::network::Fetcher;
use mgp_transport::http::{AfterRefusal, AuthorizationAnswer, Authorize, OutgoingRequest};
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, Error};
use parking_lot::Mutex;
use tokio::sync;
use url::Url;

use super::OAuthError;
use super::builder::{OAuthBuilder, Settings};
use super::challenge::{Challenge, param};
use super::discovery::{Discovered, discover};
use super::login::{self, DeviceCode};
use super::store::{LoginKey, StoredLogin, TokenStore};
use super::token_request::{Form, Token};

/// The authorization of one client at one server. It is the [`Authorize`] of the client's HTTP transport.
pub struct OAuth(pub(super) Arc<Authorizer>);

pub(super) struct Authorizer {
    pub(super) server: Url,
    pub(super) key: LoginKey,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) fetcher: Fetcher,
    pub(super) settings: Settings,
    /// The token that requests carry.
    pub(super) current: ArcSwapOption<CurrentToken>,
    /// The revision of the store at which the login was read last; [`u64::MAX`] before that.
    pub(super) loaded: AtomicU64,
    /// The nonces that the server and the issuer gave last.
    pub(super) server_nonce: Mutex<Option<Box<str>>>,
    pub(super) issuer_nonce: Mutex<Option<Box<str>>>,
    /// The login. A task holds the lock while it renews the login, so that only one request asks for a token.
    pub(super) login: sync::Mutex<Option<StoredLogin>>,
}

type LoginGuard<'a> = sync::MutexGuard<'a, Option<StoredLogin>>;

/// A token as requests carry it.
pub(super) struct CurrentToken {
    token: Token,
    header: HeaderValue,
    /// The key to which the token is bound, if it is.
    key: Option<SigningKey>,
}

/// The reason for which another token is needed.
struct TokenNeed {
    /// The header that was refused, if there was one.
    refused: Option<HeaderValue>,
    challenges: Vec<Challenge>,
    /// True if the token was valid and its scopes were too few.
    lacks_scopes: bool,
    attempt: u32,
}

impl OAuth {
    /// Returns the builder of the authorization at the server with this URL.
    pub fn builder(server: &str) -> OAuthBuilder {
        OAuthBuilder::new(server)
    }

    /// Has a person sign in now, whatever login there was, and keeps the login.
    ///
    /// # Errors
    /// The server names no issuer, the issuer refuses, or nobody signs in.
    pub async fn login(&self) -> Result<(), OAuthError> {
        self.whole(|authorizer| async move {
            let (mut login, discovered, scopes) = authorizer.begin().await?;
            authorizer.obtain(&mut login, &discovered, scopes).await
        })
        .await
    }

    /// Has a person sign in on another device, and keeps the login. `show` tells the person where.
    ///
    /// # Errors
    /// As [`login`](Self::login).
    pub async fn login_by_device(
        &self,
        show: impl FnOnce(&DeviceCode) + Send + 'static,
    ) -> Result<(), OAuthError> {
        self.whole(|authorizer| async move {
            let (mut login, discovered, scopes) = authorizer.begin().await?;
            let mut fresh = authorizer.fresh(login.as_ref(), &discovered)?;
            let endpoint = authorizer.endpoint(&mut fresh, &discovered, NO_REDIRECT, &scopes).await?;
            fresh.token = Some(login::sign_in_elsewhere(&endpoint, &scopes, show).await?);
            authorizer.keep(&mut login, fresh).await
        })
        .await
    }

    /// Forgets the login, and tells the issuer that its tokens are no longer needed. Returns whether there was a login.
    ///
    /// # Errors
    /// The store cannot be written. An issuer that cannot be told changes nothing.
    pub async fn logout(&self) -> Result<bool, OAuthError> {
        self.whole(|authorizer| async move {
            let mut login = authorizer.login.lock().await;
            // A login that cannot be read is forgotten all the same.
            let had = login.take().or(authorizer.store.load(&authorizer.key).await.unwrap_or_default());
            authorizer.current.store(None);
            let removed = authorizer.store.remove(&authorizer.key).await?;
            if let Some(had) = had {
                authorizer.revoke(had).await;
            }
            Ok(removed)
        })
        .await
    }

    /// Keeps a login that another program made.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn keep_login(&self, login: &StoredLogin) -> Result<(), OAuthError> {
        self.0.store.save(&self.0.key, login).await
    }

    /// Returns the login in the store, if it has one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stored_login(&self) -> Result<Option<StoredLogin>, OAuthError> {
        let stored = self.0.store.load(&self.0.key).await?;
        Ok(stored.filter(|login| login.token.is_some()))
    }

    /// Runs work to its end, whatever becomes of who waits for it: an issuer that gave another refresh token must not have
    /// given it in vain.
    async fn whole<T, F>(&self, work: impl FnOnce(Arc<Authorizer>) -> F) -> Result<T, OAuthError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, OAuthError>> + Send + 'static,
    {
        let done = tokio::spawn(work(Arc::clone(&self.0))).await;
        done.unwrap_or_else(|_| Err(OAuthError::NoAnswer("the login was ended")))
    }
}

mgp_types::partial_debug!(OAuth, self => server: self.0.key.server, owner: self.0.key.owner);

impl Authorize for OAuth {
    fn authorize<'a>(&'a self, request: &'a OutgoingRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, Error>> {
        Box::pin(async move {
            let is_over = |current: &CurrentToken| current.token.is_over(Timestamp::now());
            if self.0.loaded.load(Ordering::Relaxed) != self.0.store.revision()
                || self.0.current.load().as_deref().is_some_and(is_over)
            {
                self.whole(|authorizer| async move { authorizer.renew().await }).await?;
            }
            match &*self.0.current.load() {
                Some(current) => Ok(self.0.headers(current, request)?),
                None => Ok(HeaderMap::new()),
            }
        })
    }

    fn refused<'a>(
        &'a self,
        request: &'a OutgoingRequest<'a>,
        answer: &'a AuthorizationAnswer<'a>,
    ) -> BoxFuture<'a, Result<AfterRefusal, Error>> {
        Box::pin(async move {
            let challenges = Challenge::read(answer.headers);
            let refused = request.authorized.and_then(|sent| sent.get(AUTHORIZATION)).cloned();
            let error = param(&challenges, "error");
            if request.attempt >= MAX_ATTEMPTS {
                return Ok(AfterRefusal::Keep);
            }
            // The nonce was noted when the answer came.
            if error == Some("use_dpop_nonce") && answer.headers.contains_key(DPOP_NONCE) && refused.is_some()
            {
                return Ok(AfterRefusal::Resend);
            }
            let lacks_scopes = answer.status == StatusCode::FORBIDDEN;
            if lacks_scopes && error != Some("insufficient_scope") {
                return Ok(AfterRefusal::Keep);
            }
            let need = TokenNeed { refused, challenges, lacks_scopes, attempt: request.attempt };
            let has_another = self.whole(|authorizer| async move { authorizer.meet(need).await }).await?;
            Ok(if has_another { AfterRefusal::Resend } else { AfterRefusal::Keep })
        })
    }

    fn answered(&self, _: &OutgoingRequest<'_>, answer: &AuthorizationAnswer<'_>) {
        if let Some(nonce) = answer.headers.get(DPOP_NONCE).and_then(|nonce| nonce.to_str().ok()) {
            *self.0.server_nonce.lock() = Some(nonce.into());
        }
    }
}

impl Authorizer {
    fn headers(
        &self,
        current: &CurrentToken,
        request: &OutgoingRequest<'_>,
    ) -> Result<HeaderMap, OAuthError> {
        let mut headers = HeaderMap::with_capacity(2);
        headers.insert(AUTHORIZATION, current.header.clone());
        if let Some(key) = &current.key {
            let nonce = self.server_nonce.lock().clone();
            let token = Some(&*current.token.access);
            let proof = dpop::proof(key, request.method, request.url, token, nonce.as_deref())?;
            let proof = proof.parse().map_err(|_| OAuthError::Metadata("the proof is none of HTTP"))?;
            headers.insert(DPOP, proof);
        }
        Ok(headers)
    }

    /// Reads the store if that was not done since somebody else changed it, and renews a token that is over.
    async fn renew(self: Arc<Self>) -> Result<(), OAuthError> {
        let mut login = self.login.lock().await;
        let revision = self.store.revision();
        if self.loaded.load(Ordering::Relaxed) != revision {
            let stored = self.store.load(&self.key).await?;
            self.adopt(&mut login, stored)?;
            self.loaded.store(revision, Ordering::Relaxed);
        }
        let is_over = |token: &Token| token.is_over(Timestamp::now());
        let token = login.as_ref().and_then(|login| login.token.as_ref());
        if !token.is_some_and(|token| is_over(token) && token.refresh.is_some()) {
            return Ok(());
        }
        // Another process may have renewed it.
        let stored = self.store.load(&self.key).await?;
        if stored.as_ref().and_then(|login| login.token.as_ref()).is_some_and(|token| !is_over(token)) {
            return self.adopt(&mut login, stored);
        }
        // Without the issuer's answer the server decides what the token is worth.
        let Some(discovered) = self.discovered(&[]).await.ok() else { return Ok(()) };
        if let Err(error) = self.refresh(&mut login, &discovered).await {
            tracing::debug!(%error, "a token could not be renewed ahead of time");
        }
        Ok(())
    }

    /// Gets a token that meets the need, and returns whether there is another one than before.
    async fn meet(self: Arc<Self>, need: TokenNeed) -> Result<bool, OAuthError> {
        let mut login = self.login.lock().await;
        let refused_now = |current: &CurrentToken| need.refused.as_ref() == Some(&current.header);
        if self.current.load().as_deref().is_some_and(|current| !refused_now(current)) {
            return Ok(true);
        }
        // Another process may have signed in, or renewed the token.
        if let Some(stored) = self.store.load(&self.key).await? {
            let differs = |token: &Token| {
                need.refused.as_ref().is_none_or(|refused| header(token).ok().as_ref() != Some(refused))
            };
            if stored.token.as_ref().is_some_and(|token| differs(token) && !token.is_over(Timestamp::now())) {
                self.adopt(&mut login, Some(stored))?;
                return Ok(true);
            }
        }
        let discovered = self.discovered(&need.challenges).await?;
        let had = login.take();
        let token = had.as_ref().and_then(|login| login.token.as_ref());
        let asked = token.map_or_else(Vec::new, |token| token.scopes.clone());
        *login = self.at_issuer(had, &discovered)?;
        let scopes = if need.lacks_scopes {
            let scopes = self.scopes(&discovered, &need.challenges, &asked);
            // What was asked for already would not be more the next time.
            if scopes.iter().all(|scope| asked.contains(scope)) {
                return Ok(false);
            }
            scopes
        } else {
            if need.refused.is_some() && self.refresh(&mut login, &discovered).await? {
                return Ok(true);
            }
            // A token that was just given is refused: the next one would be, too.
            if need.refused.is_some() && need.attempt >= 2 {
                return Ok(false);
            }
            self.scopes(&discovered, &need.challenges, &[])
        };
        self.obtain(&mut login, &discovered, scopes).await?;
        Ok(true)
    }

    /// Renews the token; `false` if there is nothing to renew it with, or the issuer refuses to.
    async fn refresh(
        &self,
        login: &mut Option<StoredLogin>,
        discovered: &Discovered,
    ) -> Result<bool, OAuthError> {
        let Some(before) = login.clone().filter(|login| *login.issuer == *discovered.issuer.issuer) else {
            return Ok(false);
        };
        let Some(token) = before.token.clone() else { return Ok(false) };
        let Some(refresh_token) = &token.refresh else { return Ok(false) };
        let redirect = before.client.as_ref().map(|client| client.redirect_uri.clone()).unwrap_or_default();
        let renewal = async {
            let mut fresh = before.clone();
            let endpoint = self.endpoint(&mut fresh, discovered, &redirect, &token.scopes).await?;
            let form = Form::of(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]);
            fresh.token = match endpoint.ask(form, &token.scopes).await {
                Ok(mut renewed) => {
                    renewed.refresh = renewed.refresh.or_else(|| token.refresh.clone());
                    Some(renewed)
                }
                Err(OAuthError::Refused(code)) => {
                    tracing::debug!(%code, "the issuer does not renew the token");
                    None
                }
                Err(error) => return Err(error),
            };
            Ok(fresh)
        };
        let stored = self.store.renew(&self.key, &before, Box::pin(renewal)).await?;
        self.adopt(login, stored)?;
        Ok(self.current.load().is_some())
    }

    /// Returns the login as far as it is one at the issuer that was discovered.
    fn at_issuer(
        &self,
        login: Option<StoredLogin>,
        discovered: &Discovered,
    ) -> Result<Option<StoredLogin>, OAuthError> {
        let Some(login) = login else { return Ok(None) };
        if *login.issuer == *discovered.issuer.issuer {
            return Ok(Some(login));
        }
        let credentials = self.settings.credentials.as_ref();
        let is_pinned = credentials.is_none_or(|credentials| credentials.issuer.is_some());
        if !is_pinned && self.settings.issuer.is_none() {
            let what = "the server names another issuer than before: say which issuer the configured client belongs to";
            return Err(OAuthError::Metadata(what));
        }
        tracing::info!(server = %self.key.server, "the server names another issuer; the login at the one before is not used");
        Ok(None)
    }

    /// Keeps a login, and has requests carry its token.
    pub(super) async fn keep(
        &self,
        login: &mut Option<StoredLogin>,
        fresh: StoredLogin,
    ) -> Result<(), OAuthError> {
        self.store.save(&self.key, &fresh).await?;
        self.adopt(login, Some(fresh))
    }

    fn adopt(&self, login: &mut Option<StoredLogin>, stored: Option<StoredLogin>) -> Result<(), OAuthError> {
        let current = match &stored {
            Some(known @ StoredLogin { token: Some(token), .. }) => {
                let key = known.signing_key()?.filter(|_| token.is_bound);
                Some(CurrentToken { header: header(token)?, token: token.clone(), key })
            }
            _ => None,
        };
        self.current.store(current.map(Arc::new));
        *login = stored;
        Ok(())
    }

    /// Begins a login: returns the one so far, where to sign in, and for which scopes.
    async fn begin(&self) -> Result<(LoginGuard<'_>, Discovered, Vec<Box<str>>), OAuthError> {
        let asked = self.fetcher.get(self.server.as_str(), &HeaderMap::new()).await;
        // A server that does not answer may still have metadata at the usual place.
        let challenges = asked.map(|answer| Challenge::read(&answer.headers)).unwrap_or_default();
        let mut login = self.login.lock().await;
        let discovered = self.discovered(&challenges).await?;
        let scopes = self.scopes(&discovered, &challenges, &[]);
        let had = login.take().or(self.store.load(&self.key).await?);
        *login = self.at_issuer(had, &discovered)?;
        Ok((login, discovered, scopes))
    }

    async fn discovered(&self, challenges: &[Challenge]) -> Result<Discovered, OAuthError> {
        let of_client = self.settings.credentials.as_ref().and_then(|client| client.issuer.as_deref());
        let pinned = self.settings.issuer.as_deref().or(of_client);
        discover(&self.fetcher, &self.server, challenges, pinned).await
    }

    /// Returns the scopes to ask for, with those that were asked for before.
    fn scopes(
        &self,
        discovered: &Discovered,
        challenges: &[Challenge],
        before: &[Box<str>],
    ) -> Vec<Box<str>> {
        let demanded = param(challenges, "scope").map(split).filter(|scopes| !scopes.is_empty());
        let known =
            || discovered.scopes_supported.iter().flatten().map(|scope| scope.as_str().into()).collect();
        let names_none = self.settings.scopes.is_empty();
        let mut scopes: Vec<_> = demanded.or_else(|| names_none.then(known)).unwrap_or_default();
        scopes.extend(self.settings.scopes.iter().cloned());
        scopes.extend(before.iter().cloned());
        let is_login = matches!(self.settings.grant, super::Grant::Login);
        if is_login && discovered.issuer.scopes_supported.iter().any(|known| known == OFFLINE_ACCESS) {
            scopes.push(OFFLINE_ACCESS.into());
        }
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|scope| !scope.is_empty() && seen.insert(scope.clone()));
        scopes.truncate(MAX_SCOPES);
        scopes
    }
}

impl StoredLogin {
    /// Returns the key to which tokens are bound, if they are.
    pub(super) fn signing_key(&self) -> Result<Option<SigningKey>, OAuthError> {
        Ok(self.key.as_ref().map(|der| SigningKey::from_pkcs8(der.clone(), Algorithm::ES256)).transpose()?)
    }
}

/// Returns the header in which requests carry a token.
fn header(token: &Token) -> Result<HeaderValue, OAuthError> {
    let scheme = if token.is_bound { "DPoP" } else { "Bearer" };
    let header = format!("{scheme} {}", token.access).parse::<HeaderValue>();
    let mut header = header.map_err(|_| OAuthError::Metadata("the token is none that a header can carry"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn split(scope: &str) -> Vec<Box<str>> {
    scope.split(' ').filter(|scope| !scope.is_empty()).map(Into::into).collect()
}

const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const OFFLINE_ACCESS: &str = "offline_access";
/// The address of answers for logins that have none.
const NO_REDIRECT: &str = "http://127.0.0.1/callback";
/// The number of times that one request is sent again.
const MAX_ATTEMPTS: u32 = 4;
const MAX_SCOPES: usize = 256;
