//! How a token is obtained: the client, the grant, and the end of a login.

use http::HeaderMap;
use mgp_security::jose::SigningKey;

use super::authorizer::Authorizer;
use super::discovery::Discovered;
use super::grant::{self, joined};
use super::login::sign_in;
use super::registration::{ProvenClient, register};
use super::store::StoredLogin;
use super::token_request::{Form, Token, TokenEndpoint};
use super::{Grant, OAuthError};

impl Authorizer {
    /// Obtains a token by the grant, and keeps the login.
    pub(super) async fn obtain(
        &self,
        login: &mut Option<StoredLogin>,
        discovered: &Discovered,
        scopes: Vec<Box<str>>,
    ) -> Result<(), OAuthError> {
        let mut fresh = self.fresh(login.as_ref(), discovered)?;
        fresh.token = Some(match &self.settings.grant {
            Grant::Login => self.by_login(&mut fresh, discovered, &scopes).await?,
            other => {
                let endpoint = self.endpoint(&mut fresh, discovered, "", &scopes).await?;
                self.by_grant(other, &endpoint, &scopes).await?
            }
        });
        self.keep(login, fresh).await
    }

    async fn by_login(
        &self,
        fresh: &mut StoredLogin,
        discovered: &Discovered,
        scopes: &[Box<str>],
    ) -> Result<Token, OAuthError> {
        let browser = self.settings.browser.as_ref();
        let browser = browser.ok_or_else(|| OAuthError::LoginNeeded(self.settings.login_advice.clone()))?;
        let before = fresh.client.as_ref().map(|client| client.redirect_uri.clone());
        let target = browser.redirect_target(before.as_deref()).await?;
        sign_in(&self.endpoint(fresh, discovered, target.uri(), scopes).await?, target, scopes).await
    }

    async fn by_grant(
        &self,
        grant: &Grant,
        endpoint: &TokenEndpoint<'_>,
        scopes: &[Box<str>],
    ) -> Result<Token, OAuthError> {
        let mut form = match grant {
            Grant::ClientCredentials | Grant::Login => Form::of(&[("grant_type", "client_credentials")]),
            Grant::Enterprise(grant) => {
                let of = endpoint.resource.unwrap_or(self.server.as_str());
                grant::jwt_bearer(&grant::enterprise_assertion(endpoint, grant, of, scopes).await?)
            }
            Grant::WorkloadIdentity(source) => grant::jwt_bearer(&source.token().await?),
            Grant::TokenExchange(source) => grant::exchanged(&source.token().await?),
        };
        form.set_if_some("scope", joined(scopes).as_deref());
        // A refusal is final: nothing else is tried.
        endpoint.ask(form, scopes).await
    }

    /// Returns a login at the issuer without a token, with what is known of the one before.
    pub(super) fn fresh(
        &self,
        before: Option<&StoredLogin>,
        discovered: &Discovered,
    ) -> Result<StoredLogin, OAuthError> {
        let key = match before.and_then(|login| login.key.clone()) {
            _ if !self.settings.binds_tokens => None,
            Some(key) => Some(key),
            None => Some(SigningKey::generate()?.to_der().to_vec()),
        };
        let client = before.and_then(|login| login.client.clone());
        Ok(StoredLogin { issuer: discovered.issuer.issuer.as_str().into(), client, token: None, key })
    }

    /// Returns who the client is at the issuer: the configured one, the one that a document describes, the one that was
    /// registered before, or one that is registered now.
    async fn client(
        &self,
        fresh: &mut StoredLogin,
        discovered: &Discovered,
        redirect_uri: &str,
        scopes: &[Box<str>],
    ) -> Result<ProvenClient, OAuthError> {
        let issuer = &discovered.issuer;
        let is_here = |of: Option<&str>| of.is_none_or(|of| of == issuer.issuer);
        if let Some(configured) = &self.settings.credentials
            && is_here(configured.issuer.as_deref())
        {
            return Ok(ProvenClient::configured(configured, issuer));
        }
        if let Some(url) = &self.settings.metadata_url
            && issuer.client_id_metadata_document_supported
        {
            return Ok(ProvenClient::public(url));
        }
        if let Some(registered) = &fresh.client
            && *registered.redirect_uri == *redirect_uri
        {
            return Ok(ProvenClient::registered(registered));
        }
        let name = &self.settings.client_name;
        let scope = joined(scopes);
        let registered = register(&self.fetcher, issuer, name, redirect_uri, scope.as_deref()).await?;
        let client = ProvenClient::registered(&registered);
        fresh.client = Some(registered);
        Ok(client)
    }

    pub(super) async fn endpoint<'a>(
        &'a self,
        fresh: &mut StoredLogin,
        discovered: &'a Discovered,
        redirect_uri: &str,
        scopes: &[Box<str>],
    ) -> Result<TokenEndpoint<'a>, OAuthError> {
        Ok(TokenEndpoint {
            fetcher: &self.fetcher,
            issuer: &discovered.issuer,
            resource: discovered.resource.as_deref(),
            client: self.client(fresh, discovered, redirect_uri, scopes).await?,
            key: fresh.signing_key()?,
            nonce: &self.issuer_nonce,
        })
    }

    /// Tells the issuer that the tokens of a login are no longer needed (RFC 7009), as far as it can be told.
    pub(super) async fn revoke(&self, login: StoredLogin) {
        let Some(token) = &login.token else { return };
        let issuer = super::discovery::issuer_metadata(&self.fetcher, &login.issuer).await;
        let Ok(Some(issuer)) = issuer else { return };
        let Some(endpoint) = issuer.revocation_endpoint.clone() else { return };
        let client = match (&self.settings.credentials, &login.client) {
            (Some(configured), _) if configured.issuer.as_deref().is_none_or(|of| of == issuer.issuer) => {
                ProvenClient::configured(configured, &issuer)
            }
            (_, Some(registered)) => ProvenClient::registered(registered),
            _ => return,
        };
        let tokens = [("refresh_token", token.refresh.as_deref()), ("access_token", Some(&*token.access))];
        for (hint, token) in tokens {
            let Some(token) = token else { continue };
            let (mut form, mut headers) =
                (Form::of(&[("token", token), ("token_type_hint", hint)]), HeaderMap::new());
            if client.prove(&issuer, &mut form, &mut headers).is_err() {
                return;
            }
            if let Err(error) = self.fetcher.post_form(&endpoint, &headers, form.to_text()).await {
                tracing::warn!(%error, "the issuer could not be told that a token is no longer needed");
            }
        }
    }
}
