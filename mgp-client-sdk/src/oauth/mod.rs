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
mod error;
mod login;
mod registration;
mod store;
mod token_request;
mod web;

pub use mgp_security::jose::{Algorithm, SigningKey};
pub use mgp_security::network::{Fetcher, HostPattern, NetworkPolicy};
pub use mgp_types::BoxFuture;

pub use self::authorizer::OAuth;
pub use self::browser::{Browser, LoopbackBrowser, RedirectTarget};
pub use self::builder::OAuthBuilder;
pub use self::error::OAuthError;
pub use self::login::DeviceCode;
pub use self::registration::{ClientCredentials, ClientProof};
pub use self::store::{FileTokenStore, LoginKey, MemoryTokenStore, StoredLogin, TokenStore};
pub use self::token_request::{EnterpriseGrant, Grant, TokenSource};
pub use self::web::WebClient;
