use super::template::Secret;
use crate::secrets::{SecretStore as _, SecretStoreError, user_store};

/// Where the values of references come from: the process has variables and a user with secrets, and a test has its own.
pub trait Environment {
    /// Returns the value of a variable, if it is set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the secret of this name, if the user has one.
    ///
    /// # Errors
    /// The user's secrets cannot be read.
    fn secret(&self, _name: &str) -> Result<Option<Secret>, SecretStoreError> {
        Ok(None)
    }
}

/// The environment of this process, and the secrets of its user. A variable that is not UTF-8 counts as not set.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is one environment")]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn secret(&self, name: &str) -> Result<Option<Secret>, SecretStoreError> {
        // A text that is no name is the name of no secret.
        let Ok(name) = name.parse() else { return Ok(None) };
        user_store(self)?.secret(&name)
    }
}

impl<F: Fn(&str) -> Option<String>> Environment for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}
