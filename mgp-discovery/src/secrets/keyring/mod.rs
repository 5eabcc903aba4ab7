//! The system's keyring: the Secret Service of Linux, the Keychain of macOS, the Credential Manager of Windows.

#[cfg(all(feature = "keyring", any(target_os = "macos", windows)))]
mod native;
#[cfg(all(feature = "keyring", unix, not(target_vendor = "apple")))]
mod secret_service;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

#[cfg(feature = "keyring")]
use parking_lot::Mutex;
#[cfg(feature = "keyring")]
use tokio::time::Instant;

use super::{Secret, SecretName, Secrets};

/// A keyring of the system that holds the secrets of `mgp`. Every method returns within a bounded time, and none asks a
/// person to unlock the keyring: a kernel in the background has no terminal.
pub(super) trait Keyring: fmt::Debug + Send + Sync {
    /// Returns the name of the keyring, in words for people.
    fn name(&self) -> &'static str;

    /// Checks that secrets can be set.
    fn check(&self) -> Result<(), KeyringError>;

    /// Returns the names of the secrets. A locked keyring tells them, too, where the system allows it.
    fn names(&self) -> Result<BTreeSet<SecretName>, KeyringError>;

    /// Returns the secret of this name, if there is one.
    fn secret(&self, name: &SecretName) -> Result<Option<Secret>, KeyringError>;

    /// Adds secrets one by one, or replaces those that have their names.
    fn set(&self, secrets: &Secrets) -> Result<(), KeyringError>;

    /// Removes a secret, and returns whether there was one.
    fn remove(&self, name: &SecretName) -> Result<bool, KeyringError>;
}

/// The reason why the system's keyring cannot be used. No variant repeats a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// The system runs no keyring, or the keyring has no place for secrets.
    #[error("the system has no keyring")]
    Absent,
    /// The keyring has to be unlocked.
    #[error("the system's keyring is locked: unlock it")]
    Locked,
    /// The keyring took longer than this.
    #[error("the system's keyring did not answer within {} s: answer what it asks, or restart it", .0.as_secs())]
    NoAnswer(Duration),
    /// The keyring refuses.
    #[error("the system's keyring cannot be used ({0}): repair it")]
    Refused(String),
}

/// Returns the keyring of this system, which may turn out not to run; `None` for a build or a system without one.
#[cfg_attr(feature = "keyring", allow(clippy::unnecessary_wraps, reason = "other builds have none"))]
pub(super) fn system() -> Option<Box<dyn Keyring>> {
    #[cfg(all(feature = "keyring", unix, not(target_vendor = "apple")))]
    return Some(Box::new(secret_service::SecretService::of_session()));
    #[cfg(all(feature = "keyring", any(target_os = "macos", windows)))]
    return Some(Box::new(native::NativeKeyring));
    #[cfg(not(all(
        feature = "keyring",
        any(target_os = "macos", windows, all(unix, not(target_vendor = "apple")))
    )))]
    None
}

/// The memory of a keyring that did not answer. The keyring is not asked again for a moment, so that a kernel with many
/// servers waits for it once and not once for each server.
#[cfg(feature = "keyring")]
#[derive(Debug)]
struct KeyringSilence(Mutex<Option<Instant>>);

#[cfg(feature = "keyring")]
const NOT_ASKED_AGAIN: Duration = Duration::from_secs(10);

#[cfg(feature = "keyring")]
impl KeyringSilence {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn ask<T>(
        &self,
        limit: Duration,
        question: impl FnOnce() -> Result<T, KeyringError>,
    ) -> Result<T, KeyringError> {
        if self.0.lock().is_some_and(|since| since.elapsed() < NOT_ASKED_AGAIN) {
            return Err(KeyringError::NoAnswer(limit));
        }
        let answer = question();
        if let Err(KeyringError::NoAnswer(_)) = answer {
            *self.0.lock() = Some(Instant::now());
        }
        answer
    }
}
