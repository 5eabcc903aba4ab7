//! The Keychain of macOS and the Credential Manager of Windows, which have one interface.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;
use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Entry, Error};
#[cfg(windows)]
use windows_native_keyring_store::Store;

use super::{Keyring, KeyringError, KeyringSilence};
use crate::secrets::{Secret, SecretName, Secrets};

/// The keyring of the user who is logged in. A secret has the service `mgp`, and its name is that of the account.
#[derive(Debug)]
pub(super) struct NativeKeyring;

const SERVICE: &str = "mgp";

#[cfg(target_os = "macos")]
const NAME: &str = "the Keychain";
#[cfg(windows)]
const NAME: &str = "the Credential Manager";

impl Keyring for NativeKeyring {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), KeyringError> {
        within(|store| entries(store).map(|_| ()))
    }

    fn names(&self) -> Result<BTreeSet<SecretName>, KeyringError> {
        within(|store| {
            let specifiers = entries(store)?.into_iter().filter_map(|entry| entry.get_specifiers());
            let of_mgp = specifiers.filter(|(service, _)| service == SERVICE);
            Ok(of_mgp.filter_map(|(_, name)| name.parse().ok()).collect())
        })
    }

    fn secret(&self, name: &SecretName) -> Result<Option<Secret>, KeyringError> {
        let name = name.clone();
        within(move |store| match entry(store, &name)?.get_secret() {
            Ok(secret) => {
                let text = String::from_utf8(secret);
                let text = text.map_err(|_| KeyringError::Refused(format!("{name} is not a text")))?;
                Ok(Some(text.into()))
            }
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    fn set(&self, secrets: &Secrets) -> Result<(), KeyringError> {
        let secrets = secrets.clone();
        within(move |store| {
            for (name, secret) in &secrets {
                entry(store, name)?.set_secret(secret.expose().as_bytes())?;
            }
            Ok(())
        })
    }

    fn remove(&self, name: &SecretName) -> Result<bool, KeyringError> {
        let name = name.clone();
        within(move |store| match entry(store, &name)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(error.into()),
        })
    }
}

mgp_types::convert!(Error => KeyringError, error => match error {
    // The texts of these errors would show the stored value.
    Error::BadEncoding(_) | Error::BadDataFormat(..) => Self::Refused("a secret is not a text".into()),
    error => Self::Refused(error.to_string()),
});

fn entry(store: &Store, name: &SecretName) -> Result<Entry, KeyringError> {
    Ok(store.build(SERVICE, name.as_str(), None)?)
}

#[cfg(target_os = "macos")]
fn entries(store: &Store) -> Result<Vec<Entry>, KeyringError> {
    Ok(store.search(&HashMap::from([("service", SERVICE)]))?)
}

#[cfg(windows)]
fn entries(store: &Store) -> Result<Vec<Entry>, KeyringError> {
    // The pattern is the name of the account, a dot, and the service.
    Ok(store.search(&HashMap::from([("pattern", r"\.mgp$")]))?)
}

/// The time for a person to read and answer a question of the system.
const LIMIT: Duration = Duration::from_secs(30);

static SILENCE: KeyringSilence = KeyringSilence::new();

/// Asks the keyring in a thread of its own: the system may show a question and wait for its answer. A thread that still
/// waits at the limit ends with the question, or with the process.
fn within<T: Send + 'static>(
    ask: impl FnOnce(&Store) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    SILENCE.ask(LIMIT, || {
        let (answer, answered) = mpsc::sync_channel(1);
        let asking = thread::Builder::new().name("keyring".to_owned()).spawn(move || {
            let outcome = Store::new().map_err(KeyringError::from).and_then(|store| ask(&store));
            // After the limit the receiver is gone.
            let _ = answer.send(outcome);
        });
        asking.map_err(|error| KeyringError::Refused(error.to_string()))?;
        answered.recv_timeout(LIMIT).unwrap_or(Err(KeyringError::NoAnswer(LIMIT)))
    })
}
