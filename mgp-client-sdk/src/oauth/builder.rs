//! The settings of a client's authorization at one server.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwapOption;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_types::Error;
use parking_lot::Mutex;
use tokio::sync;
use url::Url;

use super::authorizer::{Authorizer, OAuth};
use super::browser::Browser;
use super::registration::ClientCredentials;
use super::store::{LoginKey, MemoryTokenStore, TokenStore};
use super::token_request::Grant;

/// Collects the settings of an [`OAuth`].
#[must_use]
pub struct OAuthBuilder {
    server: Box<str>,
    owner: Box<str>,
    fetcher: Option<Fetcher>,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) settings: Settings,
}

/// The settings that stay as they are.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) client_name: Box<str>,
    pub(super) credentials: Option<ClientCredentials>,
    pub(super) metadata_url: Option<Box<str>>,
    pub(super) issuer: Option<Box<str>>,
    pub(super) scopes: Vec<Box<str>>,
    pub(super) grant: Grant,
    pub(super) browser: Option<Arc<dyn Browser>>,
    pub(super) binds_tokens: bool,
    pub(super) login_advice: Box<str>,
}

impl OAuthBuilder {
    pub(super) fn new(server: &str) -> Self {
        Self {
            server: server.into(),
            owner: Box::default(),
            fetcher: None,
            store: Arc::new(MemoryTokenStore::new()),
            settings: Settings {
                client_name: "MGP client".into(),
                login_advice: "sign in, and try again".into(),
                ..Settings::default()
            },
        }
    }

    mgp_types::setters! { self =>
        /// Sets the owner of the login, where several have logins of their own at the server. Default: one for all.
        pub fn owner(owner: impl Into<Box<str>>) => self.owner = owner.into();

        /// Sets the store of the login. Default: memory.
        pub fn store(store: impl TokenStore) => self.store = Arc::new(store);

        /// Sets what fetches metadata and tokens. Default: reaches the public network, and the host of the server
        /// itself.
        pub fn fetcher(fetcher: Fetcher) => self.fetcher = Some(fetcher);

        /// Sets the name under which the client registers itself, which people see when they sign in.
        pub fn client_name(name: impl Into<Box<str>>) => self.settings.client_name = name.into();

        /// Sets who the client is at the issuer. Default: it registers itself.
        pub fn credentials(credentials: ClientCredentials) => self.settings.credentials = Some(credentials);

        /// Sets the URL of the document that describes the client (client id metadata document), for issuers that
        /// accept such.
        pub fn client_metadata_url(url: impl Into<Box<str>>) => self.settings.metadata_url = Some(url.into());

        /// Accepts tokens of this issuer alone. Default: the first one that the server names.
        pub fn issuer(issuer: impl Into<Box<str>>) => self.settings.issuer = Some(issuer.into());

        /// Sets the scopes to ask for. Default: those that the server asks for, or else knows.
        pub fn scopes(scopes: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.settings.scopes = scopes.into_iter().map(Into::into).collect();

        /// Sets the way to a token. Default: a person signs in.
        pub fn grant(grant: Grant) => self.settings.grant = grant;

        /// Has a person sign in with `browser` whenever a login is needed. Default: a request that needs a login fails.
        pub fn browser(browser: impl Browser) => self.settings.browser = Some(Arc::new(browser));

        /// Binds tokens to a key of the client (DPoP), so that nobody else can use them.
        pub fn bound_tokens() => self.settings.binds_tokens = true;

        /// Sets what errors say that a person has to do for a login, such as which command to run.
        pub fn login_advice(advice: impl Into<Box<str>>) => self.settings.login_advice = advice.into();
    }

    /// Creates the authorization.
    ///
    /// # Errors
    /// The URL of the server is none of HTTP, or TLS is not available.
    pub fn build(self) -> Result<Arc<OAuth>, Error> {
        let wrong = || Error::invalid_params("the server's URL is not one of HTTP");
        let mut server = Url::parse(&self.server).map_err(|_| wrong())?;
        server.set_fragment(None);
        if !matches!(server.scheme(), "http" | "https") || !server.has_host() {
            return Err(wrong());
        }
        let fetcher = match self.fetcher {
            Some(fetcher) => fetcher,
            None => Fetcher::new(NetworkPolicy::default().allow_host_of(server.as_str()))?,
        };
        let mut named = server.clone();
        named.set_query(None);
        let key = LoginKey::new(named.as_str(), self.owner);
        Ok(Arc::new(OAuth(Arc::new(Authorizer {
            server,
            key,
            store: self.store,
            fetcher,
            settings: self.settings,
            current: ArcSwapOption::empty(),
            loaded: AtomicU64::new(u64::MAX),
            server_nonce: Mutex::default(),
            issuer_nonce: Mutex::default(),
            login: sync::Mutex::default(),
        }))))
    }
}

mgp_types::partial_debug!(OAuthBuilder, self => server: self.server.split('?').next(), grant: self.settings.grant);
