//! Where tokens are kept.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_types::BoxFuture;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::OAuthError;
use super::registration::RegisteredClient;
use super::token_request::Token;

/// Keeps the logins of clients, so that nobody signs in at each start.
///
/// A login holds tokens and keys: an implementation keeps it from everybody but its owner.
pub trait TokenStore: Send + Sync + 'static {
    /// Returns the login of this key, if there is one.
    ///
    /// # Errors
    /// The store cannot be read, or others could read it.
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<StoredLogin>, OAuthError>>;

    /// Keeps a login in place of the one before.
    ///
    /// # Errors
    /// The store cannot be written.
    fn save<'a>(&'a self, key: &'a LoginKey, login: &'a StoredLogin)
    -> BoxFuture<'a, Result<(), OAuthError>>;

    /// Forgets a login, and returns whether there was one.
    ///
    /// # Errors
    /// The store cannot be written.
    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<bool, OAuthError>>;

    /// Keeps the login that `renewal` gets from the issuer in place of the one `before`, and returns the login that holds then.
    ///
    /// An issuer may take a refresh token only once. A store that several programs share has one of them at a time renew a
    /// login: if another did meanwhile, `renewal` is dropped, and what the other did is returned.
    ///
    /// # Errors
    /// The errors of `renewal`, and those of the store.
    fn renew<'a>(
        &'a self,
        key: &'a LoginKey,
        _before: &'a StoredLogin,
        renewal: BoxFuture<'a, Result<StoredLogin, OAuthError>>,
    ) -> BoxFuture<'a, Result<Option<StoredLogin>, OAuthError>> {
        Box::pin(async move {
            let renewed = renewal.await?;
            self.save(key, &renewed).await?;
            Ok(Some(renewed))
        })
    }

    /// Returns a number that differs once a login may be another one than the one that was loaded, because somebody else changed
    /// the store. It is never [`u64::MAX`].
    fn revision(&self) -> u64 {
        0
    }
}

/// The key of a stored login: a server, and the owner of the login there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoginKey {
    /// The URL of the server.
    pub server: Box<str>,
    /// The owner; empty where all callers share the login.
    pub owner: Box<str>,
}

impl LoginKey {
    /// Creates the key of an owner's login at a server.
    pub fn new(server: impl Into<Box<str>>, owner: impl Into<Box<str>>) -> Self {
        Self { server: server.into(), owner: owner.into() }
    }
}

/// A login: the issuer, the client as the issuer knows it, and the token. All of it holds at this issuer alone.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLogin {
    /// The issuer of the token.
    pub(super) issuer: Box<str>,
    /// The client that the issuer registered, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<RegisteredClient>,
    /// The token; `None` after it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<Token>,
    /// The private key to which tokens are bound, in PKCS#8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<Vec<u8>>,
}

impl StoredLogin {
    /// Returns the issuer of the login's token.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the time from which a person has to sign in again; `None` if the login is renewed without one, or its issuer names no
    /// end.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let token = self.token.as_ref().filter(|token| token.refresh.is_none())?;
        Timestamp::from_millis(token.ends_at?)
    }

    /// Returns the login as text, for stores. It is secret.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a login that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// The text is none.
    pub fn from_json(text: &str) -> Result<Self, OAuthError> {
        serde_json::from_str(text).map_err(|_| {
            OAuthError::Store("a stored login is malformed: remove it, and sign in again".into())
        })
    }
}

mgp_types::partial_debug!(StoredLogin, self => issuer: self.issuer);

/// A store in memory, which ends with its process.
#[derive(Clone, Default)]
pub struct MemoryTokenStore(Arc<Mutex<BTreeMap<LoginKey, StoredLogin>>>);

impl MemoryTokenStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

mgp_types::partial_debug!(MemoryTokenStore, self => logins: self.0.lock().len());

impl TokenStore for MemoryTokenStore {
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<StoredLogin>, OAuthError>> {
        Box::pin(std::future::ready(Ok(self.0.lock().get(key).cloned())))
    }

    fn save<'a>(
        &'a self,
        key: &'a LoginKey,
        login: &'a StoredLogin,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        self.0.lock().insert(key.clone(), login.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<bool, OAuthError>> {
        Box::pin(std::future::ready(Ok(self.0.lock().remove(key).is_some())))
    }
}

/// A store in a file that its owner alone may read (mode 0600). Processes that share the file wait for each other.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    path: PathBuf,
}

/// A login in the file.
#[derive(Serialize, Deserialize)]
struct FiledLogin {
    #[serde(flatten)]
    key: LoginKey,
    login: StoredLogin,
}

impl FileTokenStore {
    /// Creates the store of a file that need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the logins in the file, unless others may read or change it.
    fn read(&self) -> io::Result<Vec<FiledLogin>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0 {
            let why = "others may open the file: run `chmod 600` on it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        serde_json::from_reader(io::BufReader::new(file)).map_err(io::Error::other)
    }

    /// Changes the file in one step.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<FiledLogin>) -> T) -> io::Result<T> {
        let lock = private(&self.path.with_added_extension("lock"))?;
        lock.lock()?;
        let mut logins = self.read()?;
        let changed = change(&mut logins);
        let draft = self.path.with_added_extension("new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(&draft)?;
        file.write_all(&serde_json::to_vec(&logins).map_err(io::Error::other)?)?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        Ok(changed)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, OAuthError> {
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|error| OAuthError::Store(format!("{}: {error}", self.path.display()).into()))
    }
}

/// Opens a file of its owner alone, which is created if it is not there.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl TokenStore for FileTokenStore {
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<StoredLogin>, OAuthError>> {
        let key = key.clone();
        Box::pin(self.blocking(move |store| {
            let found = store.read()?.into_iter().find(|login| login.key == key);
            Ok(found.map(|found| found.login))
        }))
    }

    fn save<'a>(
        &'a self,
        key: &'a LoginKey,
        login: &'a StoredLogin,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        let (key, login) = (key.clone(), login.clone());
        Box::pin(self.blocking(move |store| {
            store.change(|logins| {
                logins.retain(|login| login.key != key);
                logins.push(FiledLogin { key, login });
            })
        }))
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<bool, OAuthError>> {
        let key = key.clone();
        Box::pin(self.blocking(move |store| {
            store.change(|logins| logins.extract_if(.., |login| login.key == key).count() > 0)
        }))
    }
}
