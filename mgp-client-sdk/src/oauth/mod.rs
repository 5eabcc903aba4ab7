//! Authorization at servers over HTTP: OAuth 2.1, as MCP uses it.
//!
//! [`OAuth`] authorizes the requests of one client at one server. It finds out from the server's challenges who issues its
//! tokens, registers where it has to, obtains a token by one of the [`Grant`]s, renews it, and asks for more scopes when the
//! server says that they are missing. Tokens are kept in a [`TokenStore`], so that a person signs in once.
//!
//! ```no_run
//! use mgp_client_sdk::Client;
//! use mgp_client_sdk::oauth::{FileTokenStore, LoopbackBrowser, OAuth};
//!
//! # async fn connect() -> Result<(), mgp_client_sdk::Error> {
//! let url = "https://mcp.example/mcp";
//! let browser = LoopbackBrowser::new(|page| println!("sign in at {page}"));
//! let oauth = OAuth::builder(url)
//!     .store(FileTokenStore::at("tokens.json"))
//!     .browser(browser)
//!     .build()?;
//! let client = Client::builder("example", "1.0").connect_http_with(url, |http| http.authorize_with(oauth.clone())).await?;
//! # drop(client);
//! # Ok(())
//! # }
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `authorizer` | when a token is obtained, renewed and widened |
//! | `challenge`, `discovery` | who issues the tokens of a server |
//! | `registration` | who the client is at the issuer, and how it proves that |
//! | `login`, `browser`, `web` | how a token is obtained, and how a person signs in |
//! | `token_request` | how a token is asked for |
//! | `store` | where tokens are kept |

mod authorizer;
mod browser;
mod builder;
mod challenge;
mod discovery;
mod login;
mod registration;
mod store;
mod token_request;
mod web;

use mgp_security::jose::JoseError;
pub use mgp_security::jose::{Algorithm, SigningKey};
use mgp_security::network::FetchError;
pub use mgp_security::network::{Fetcher, HostPattern, NetworkPolicy};
pub use mgp_types::BoxFuture;
use mgp_types::{Error, code};

pub use self::authorizer::OAuth;
pub use self::browser::{Browser, LoopbackBrowser, RedirectTarget};
pub use self::builder::OAuthBuilder;
pub use self::login::DeviceCode;
pub use self::registration::{ClientCredentials, ClientProof};
pub use self::store::{FileTokenStore, LoginKey, MemoryTokenStore, StoredLogin, TokenStore};
pub use self::token_request::{EnterpriseGrant, Grant, TokenSource};
pub use self::web::WebClient;

/// The reason why a client cannot be authorized at a server. It is the source of the error of a request, and repeats neither
/// tokens nor secrets nor codes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// A person has to sign in.
    #[error("the server needs a login: {0}")]
    LoginNeeded(Box<str>),
    /// The server says that its tokens are for another one.
    #[error("the server's metadata is about another resource, so no token is asked for")]
    OtherResource,
    /// A document of the server or the issuer cannot be fetched.
    #[error("{what} cannot be fetched: {why}")]
    Unfetched {
        /// The document or request, in words.
        what: &'static str,
        /// The reason.
        #[source]
        why: FetchError,
    },
    /// A document of the server or the issuer is not there, or not what it should be.
    #[error("{0}")]
    Metadata(&'static str),
    /// The answer to a login does not come from the issuer that was asked.
    #[error("the answer to the login does not come from the issuer that was asked; nothing of it was used")]
    OtherIssuer,
    /// The answer to a login belongs to another login, or to none.
    #[error("the answer belongs to another login; sign in again")]
    OtherLogin,
    /// The issuer refuses, with this error code: a word of visible ASCII characters.
    #[error("the issuer refuses: {0}")]
    Refused(Box<str>),
    /// The client is not known to the issuer, and there is no way to register it.
    #[error("the issuer registers no clients by itself: register one there, and configure its `client_id`")]
    Unregistered,
    /// The person did not answer in time, or went away.
    #[error("nobody signed in: {0}")]
    NoAnswer(&'static str),
    /// A key or a token cannot be used.
    #[error("{0}")]
    Key(#[from] JoseError),
    /// The store of tokens cannot be read or written.
    #[error("the stored login cannot be read or written: {0}")]
    Store(Box<str>),
}

impl OAuthError {
    /// Returns the reason behind `error`, if authorization is the reason for it.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns whether a person who signs in again would help.
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::LoginNeeded(_))
    }

    /// Returns the refusal of an issuer with this code. A text that is none, which could be anything, is not kept.
    fn refused(code: &str) -> Self {
        let is_code = !code.is_empty()
            && code.len() <= MAX_CODE_BYTES
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        Self::Refused(if is_code { code.into() } else { "it gives no reason that can be shown".into() })
    }

    fn unfetched(what: &'static str) -> impl Fn(FetchError) -> Self {
        move |why| Self::Unfetched { what, why }
    }
}

mgp_types::convert!(OAuthError => Error, error => {
    let code = if error.needs_login() { code::AUTH_REQUIRED } else { code::UPSTREAM_ERROR };
    Self::new(code, error.to_string()).with_source(error)
});

/// The longest error code of an issuer that is repeated.
const MAX_CODE_BYTES: usize = 64;
