//! The logins at servers, among the user's secrets.

use mgp_client_sdk::oauth::{LoginKey, OAuthError, StoredLogin, TokenStore};
use mgp_discovery::config::{ProcessEnvironment, Secret};
use mgp_discovery::secrets::{SecretName, SecretStoreError, user_store};
use mgp_types::{BoxFuture, hex};
use sha2::{Digest as _, Sha256};

/// The store of the logins of one entry of the configuration: the system's keyring where secrets are kept there, else their
/// file, which only the user may read. Two entries with the same URL have logins of their own: who may use the one does not
/// come to the server as the owner of the other.
#[derive(Debug, Clone)]
pub(crate) struct UserLogins {
    entry: Box<str>,
}

impl UserLogins {
    /// Returns the store of the logins of the server that has this id in the configuration.
    pub(crate) fn of(server: &str) -> Self {
        Self { entry: server.into() }
    }

    /// Returns the name of a login among the secrets. It says nothing of the server or the owner.
    fn name_of(&self, key: &LoginKey) -> Result<SecretName, OAuthError> {
        let parts = [&*self.entry, &*key.server, &*key.owner];
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
pub(crate) fn is_login(name: &SecretName) -> bool {
    name.as_str().starts_with(PREFIX)
}

impl TokenStore for UserLogins {
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<StoredLogin>, OAuthError>> {
        Box::pin(async move {
            let name = self.name_of(key)?;
            let stored = Self::with_store(move |store| store.secret(&name)).await?;
            stored.map(|stored| StoredLogin::from_json(stored.expose())).transpose()
        })
    }

    fn save<'a>(
        &'a self,
        key: &'a LoginKey,
        login: &'a StoredLogin,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        Box::pin(async move {
            let (name, login) = (self.name_of(key)?, Secret::from(login.to_json()));
            Self::with_store(move |store| store.set([(name, login)].into())).await?;
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<bool, OAuthError>> {
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
