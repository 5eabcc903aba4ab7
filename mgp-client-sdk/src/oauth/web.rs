//! Logins of people at a page of this program, to which the issuer sends their browsers back.

use parking_lot::Mutex;

use super::discovery::{IssuerMetadata, issuer_metadata};
use super::login::CodeLogin;
use super::registration::{ProvenClient, random};
use super::token_request::TokenEndpoint;
use super::{ClientCredentials, Fetcher, OAuthError};

/// A client of one issuer, by which people sign in at a page of this program. Between the two steps of a login, all that
/// is kept is a verifier, and the browser keeps that: nobody fills a table here by beginning logins.
pub struct WebClient {
    /// The fetcher of metadata and tokens.
    pub fetcher: Fetcher,
    /// The issuer, exactly as its metadata name it.
    pub issuer: Box<str>,
    /// The client as the issuer knows it.
    pub credentials: ClientCredentials,
    /// The resource that tokens are for.
    pub resource: Box<str>,
    /// The scopes to ask for.
    pub scopes: Vec<Box<str>>,
}

impl WebClient {
    /// Returns the page of the issuer at which a person signs in, and the verifier of the login. The verifier is kept
    /// in the person's browser, where no other site sets or reads it. The answer comes to the address `uri`.
    ///
    /// # Errors
    /// The issuer cannot be reached, or has no page for this.
    pub async fn page(&self, uri: &str) -> Result<(String, String), OAuthError> {
        let (issuer, nonce) = (self.issuer().await?, Mutex::default());
        let login = CodeLogin { redirect_uri: uri.to_owned(), verifier: random(), scopes: &self.scopes };
        Ok((login.page(&self.endpoint(&issuer, &nonce))?, login.verifier))
    }

    /// Returns the access token of a person, by the verifier that came back from the browser together with the answer:
    /// the query with which the issuer sent it to the address `uri`.
    ///
    /// # Errors
    /// The answer is to another login or from another issuer, or the issuer refuses.
    pub async fn token(&self, uri: &str, verifier: &str, answer: &str) -> Result<Box<str>, OAuthError> {
        // Everybody knows the state that belongs to no verifier at all.
        if verifier.is_empty() {
            return Err(OAuthError::OtherLogin);
        }
        let (issuer, nonce) = (self.issuer().await?, Mutex::default());
        let (redirect_uri, verifier) = (uri.to_owned(), verifier.to_owned());
        let login = CodeLogin { redirect_uri, verifier, scopes: &self.scopes };
        Ok(login.token(&self.endpoint(&issuer, &nonce), answer).await?.access)
    }

    async fn issuer(&self) -> Result<IssuerMetadata, OAuthError> {
        let found = issuer_metadata(&self.fetcher, &self.issuer).await?;
        found.ok_or(OAuthError::Metadata("the issuer publishes no metadata"))
    }

    fn endpoint<'a>(
        &'a self,
        issuer: &'a IssuerMetadata,
        nonce: &'a Mutex<Option<Box<str>>>,
    ) -> TokenEndpoint<'a> {
        let (resource, key) = (Some(&*self.resource), None);
        let client = ProvenClient::configured(&self.credentials, issuer);
        TokenEndpoint { fetcher: &self.fetcher, issuer, resource, client, key, nonce }
    }
}

mgp_types::partial_debug!(WebClient, self => issuer: self.issuer, resource: self.resource);
