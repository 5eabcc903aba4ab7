//! The variables and the user's secrets that a configuration refers to.

use std::fmt;
use std::path::PathBuf;

use super::{SecretStoreError, user_store};

/// The source of the values of references: the process with its variables and its user's secrets, or a fake in tests.
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

impl dyn Environment + '_ {
    /// Returns a directory of the user by the XDG specification, which ignores relative paths: the one that the variable
    /// names, or else the usual one in the home directory.
    pub(crate) fn user_directory(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let set = |name| self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(in_home));
        set(variable).or_else(home)
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
        // A text that is no valid name is the name of no secret.
        let Ok(name) = name.parse() else { return Ok(None) };
        user_store(self)?.secret(&name)
    }
}

impl<F: Fn(&str) -> Option<String>> Environment for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// A value in which references have been resolved. The value may be a secret, so that only [`expose`](Self::expose)
/// shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value.into())
    }
}

impl Secret {
    /// Returns the value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
