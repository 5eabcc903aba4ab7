//! How the kernel authorizes itself at servers over HTTP.

use std::fs;
use std::sync::Arc;

use mgp_client_sdk::oauth::{
    Algorithm, ClientCredentials, Fetcher, Grant, LoginKey, MemoryTokenStore, NetworkPolicy, OAuth,
    OAuthBuilder, OAuthError, SigningKey, StoredLogin, TokenSource, TokenStore,
};
use mgp_discovery::Config;
use mgp_discovery::config::model::{ServerConfig, ServerGrant, ServerOauth};
use mgp_discovery::config::{Endpoint, ProcessEnvironment, Secret};
use mgp_discovery::secrets::{SecretName, SecretStoreError, user_store};
use mgp_types::{Error, Principal, code, hex};
use sha2::{Digest as _, Sha256};

use crate::policies::Policies;
use crate::replicas::{LoginFuture, SharedLogins};
use crate::settings;
use crate::settings::running::{AcceptedConfig, RunningConfig};

/// Returns the authorization of connections to a server for `owner`, an agent with a connection of its own, or for all. It is
/// `None` where the configuration says nothing of it and nobody signed in, nor can at another kernel: then requests carry what
/// `headers` says.
///
/// # Errors
/// The configuration leads nowhere, or the logins cannot be read.
pub(crate) async fn of_server(
    config: &RunningConfig,
    server: &ServerConfig,
    owner: Option<&Principal>,
    policies: &Policies,
    url: &Secret,
) -> Result<Option<Arc<OAuth>>, Error> {
    let has_header = server.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if server.oauth.is_none() && has_header {
        return Ok(None);
    }
    let name = owner.and_then(Principal::agent_name);
    let whose = name.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
    let advice = format!("run `mgp login {}{whose}`", server.id);
    let (config, accepted) = (config.load_full(), &config.accepted);
    let builder =
        builder(&config, accepted, server, name, url, policies.logins.as_ref())?.login_advice(advice);
    let grant = server.oauth.as_ref().map(|oauth| oauth.grant);
    let oauth = match (grant, owner) {
        (Some(ServerGrant::TokenExchange), Some(agent)) => {
            builder.grant(Grant::TokenExchange(policies.tokens.of(agent))).store(MemoryTokenStore::new())
        }
        (Some(ServerGrant::TokenExchange), None) => {
            let message = format!("only agents that come with a token reach the server `{}`", server.id);
            return Err(Error::new(code::AUTH_REQUIRED, message));
        }
        _ => builder,
    };
    let oauth = oauth.build()?;
    if grant.is_some() || policies.logins.is_some() {
        return Ok(Some(oauth));
    }
    // Most servers need no login, and are reached even if nobody can tell whether there is one.
    let login = oauth.stored_login().await.unwrap_or_else(|error| {
        tracing::debug!(server = server.id, %error, "it is not known whether there is a login");
        None
    });
    Ok(login.map(|_| oauth))
}

/// Returns how the kernel comes by a token for a server where no person signs in.
pub fn without_person(server: &ServerConfig) -> Option<&'static str> {
    match server.oauth.as_ref()?.grant {
        ServerGrant::ClientCredentials => Some("the kernel has credentials of its own for it"),
        ServerGrant::TokenExchange => Some("the kernel exchanges the tokens with which agents come"),
        ServerGrant::WorkloadIdentity => Some("the platform on which the kernel runs says who it is"),
        _ => None,
    }
}

/// Returns the settings of the authorization at a server of the configuration, for an agent with a login of its own, or for all.
/// Its login is kept in `shared`, if kernels share theirs.
///
/// # Errors
/// The server is not reached over HTTP, or its configuration leads nowhere.
pub fn at_server(
    config: &Config,
    accepted: &AcceptedConfig,
    server: &ServerConfig,
    owner: Option<&str>,
    shared: Option<&SharedLogins>,
) -> Result<OAuthBuilder, Error> {
    let expanded = server.expanded(accepted);
    let expanded = expanded.map_err(|fault| Error::invalid_params(fault.to_string()))?;
    let Endpoint::Http { url, .. } = expanded.endpoint else {
        return Err(Error::invalid_params("the server is not reached over HTTP"));
    };
    builder(config, accepted, server, owner, &url, shared)
}

/// Returns the settings of the authorization at a server, as its configuration has them.
///
/// # Errors
/// The configuration leads nowhere.
fn builder(
    config: &Config,
    accepted: &AcceptedConfig,
    server: &ServerConfig,
    owner: Option<&str>,
    url: &Secret,
    shared: Option<&SharedLogins>,
) -> Result<OAuthBuilder, Error> {
    let wrong = |why: String| Error::invalid_params(format!("`oauth` of the server `{}`: {why}", server.id));
    let unset = ServerOauth::default();
    let oauth = server.oauth.as_ref().unwrap_or(&unset);
    // Metadata and tokens come from what calls of the server may reach, from its own host, and from that of the issuer.
    let policy = settings::network_policy(config, server).map_err(|error| wrong(error.to_string()))?;
    let named = [Some(url.expose()), oauth.issuer.as_deref()];
    let policy = named.into_iter().flatten().fold(policy, NetworkPolicy::allow_host_of);
    let mut fetcher = Fetcher::new(policy)?;
    if let Some(path) = &oauth.ca {
        let pem = fs::read(path).map_err(|error| wrong(format!("`ca`, {path}: {error}")))?;
        fetcher = fetcher.trust_pem(&pem)?;
    }
    let builder = OAuth::builder(url.expose());
    let owner = owner.unwrap_or_default();
    let builder = match shared {
        Some(shared) => builder.store(shared.clone()).owner(format!("{owner}\0{}", server.id)),
        None => builder.store(UserLogins::of(&server.id)).owner(owner),
    };
    let builder =
        builder.client_name(settings::NAME).fetcher(fetcher).scopes(oauth.scopes.iter().map(String::as_str));
    let builder = oauth.issuer.iter().fold(builder, |builder, issuer| builder.issuer(issuer.as_str()));
    let builder = if oauth.dpop { builder.bound_tokens() } else { builder };
    let builder = match oauth.grant {
        ServerGrant::ClientCredentials => builder.grant(Grant::ClientCredentials),
        ServerGrant::WorkloadIdentity => {
            let path = oauth.token_file.clone().unwrap_or_default();
            builder.grant(Grant::WorkloadIdentity(token_file(path))).store(MemoryTokenStore::new())
        }
        _ => builder,
    };
    let Some(id) = oauth.client_id.as_deref() else { return Ok(builder) };
    let (secret, key) = oauth.expanded_credentials(accepted).map_err(|fault| wrong(fault.to_string()))?;
    let client = match (secret, key) {
        (None, None) if id.starts_with("https://") => return Ok(builder.client_metadata_url(id)),
        (Some(secret), _) => ClientCredentials::with_secret(id, secret.expose()),
        (None, Some(pem)) => {
            let key = |algorithm: &Algorithm| SigningKey::from_pem(pem.expose(), *algorithm).ok();
            let key = KEY_ALGORITHMS.iter().find_map(key);
            let key = key.ok_or_else(|| wrong("`private_key` is no private key in PEM".to_owned()))?;
            ClientCredentials::with_key(id, key)
        }
        (None, None) => ClientCredentials::public(id),
    };
    let client = oauth.issuer.iter().fold(client, |client, issuer| client.at(issuer.as_str()));
    Ok(builder.credentials(client))
}

/// Returns the tokens in a file, which the platform replaces by new ones.
fn token_file(path: String) -> TokenSource {
    TokenSource::new(move || {
        let path = path.clone();
        async move {
            let read = tokio::fs::read_to_string(&path).await;
            let text = read.map_err(|error| Error::internal(format!("`token_file`, {path}: {error}")))?;
            match text.trim() {
                "" => Err(Error::internal(format!("`token_file`, {path}: the file is empty"))),
                token => Ok(token.into()),
            }
        }
    })
}

/// The algorithms by which a private key may sign, of which the first that fits the key is used.
const KEY_ALGORITHMS: [Algorithm; 4] =
    [Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA, Algorithm::RS256];

/// The store of the logins of one entry of the configuration: the system's keyring where secrets are kept there, else their
/// file, which only the user may read. Two entries with the same URL have logins of their own: who may use the one does not
/// come to the server as the owner of the other.
#[derive(Debug, Clone)]
pub(crate) struct UserLogins(Box<str>);

impl UserLogins {
    /// Returns the store of the logins of the server that has this id in the configuration.
    pub(crate) fn of(server: &str) -> Self {
        Self(server.into())
    }

    /// Returns the name of a login among the secrets. It says nothing of the server or the owner.
    fn name_of(&self, key: &LoginKey) -> Result<SecretName, OAuthError> {
        let parts = [&*self.0, &*key.server, &*key.owner];
        let digest =
            parts.iter().fold(Sha256::new(), |digest, part| digest.chain_update(part).chain_update([0]));
        let digits: [u8; 64] = hex(&digest.finalize());
        let name = format!("{PREFIX}{}", String::from_utf8_lossy(&digits[..32]));
        name.parse().map_err(|_| OAuthError::Store("there is no name for the login".into()))
    }

    async fn with_store<T: Send + 'static>(
        work: impl FnOnce(&mgp_discovery::secrets::UserSecrets) -> Result<T, SecretStoreError> + Send + 'static,
    ) -> Result<T, OAuthError> {
        // A keyring may answer late.
        let done = tokio::task::spawn_blocking(move || work(&user_store(&ProcessEnvironment)?)).await;
        let done = done.map_err(|_| OAuthError::Store("the store was left".into()))?;
        done.map_err(|error| OAuthError::Store(error.to_string().into()))
    }
}

/// Returns whether a secret is a login, which only `mgp login` and `mgp logout` change.
pub fn is_login(name: &SecretName) -> bool {
    name.as_str().starts_with(PREFIX)
}

impl TokenStore for UserLogins {
    fn load<'a>(&'a self, key: &'a LoginKey) -> LoginFuture<'a, Option<StoredLogin>> {
        Box::pin(async move {
            let name = self.name_of(key)?;
            let stored = Self::with_store(move |store| store.secret(&name)).await?;
            stored.map(|stored| StoredLogin::from_json(stored.expose())).transpose()
        })
    }

    fn save<'a>(&'a self, key: &'a LoginKey, login: &'a StoredLogin) -> LoginFuture<'a, ()> {
        Box::pin(async move {
            let (name, login) = (self.name_of(key)?, Secret::from(login.to_json()));
            Self::with_store(move |store| store.set([(name, login)].into())).await.map(drop)
        })
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> LoginFuture<'a, bool> {
        Box::pin(async move {
            let name = self.name_of(key)?;
            Self::with_store(move |store| store.remove(&name)).await
        })
    }
}

/// The beginning of the names of logins.
const PREFIX: &str = "mgp-login.";

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "cluster")]
    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_without_a_login_may_get_one_later_where_kernels_share_logins() {
        // The database is not reached, which nobody waits for here.
        let store = r#"{"store":{"url":"postgres://127.0.0.1:1/none","key":"a secret"}}"#;
        let kernel = crate::test_kernel::TestKernel::with(store).await;
        let mut server = ServerConfig::default();
        server.id = "tickets".into();
        let url = Secret::from("https://a.example/mcp".to_owned());
        let oauth = of_server(&kernel.config, &server, None, &kernel.policies, &url).await.unwrap();
        assert!(oauth.is_some());
    }

    #[test]
    fn a_login_belongs_to_its_entry_its_url_and_its_owner() {
        let name = |entry: &str, server: &str, owner: &str| {
            UserLogins::of(entry).name_of(&LoginKey::new(server, owner)).unwrap()
        };
        let one = name("tickets", "https://a.example", "ada");
        assert_eq!(one, name("tickets", "https://a.example", "ada"));
        for other in [
            name("machine", "https://a.example", "ada"),
            name("tickets", "https://b.example", "ada"),
            name("tickets", "https://a.example", ""),
        ] {
            assert_ne!(one, other);
        }
        assert!(is_login(&one));
    }
}
