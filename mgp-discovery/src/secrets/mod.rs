//! The user's secrets, which the configuration refers to by name: `${secret:NAME}`.
//!
//! They are kept outside of `mgp.toml`, so that the configuration can be shown, copied and committed. [`SecretFile`] keeps
//! them in a file that only its owner may read. [`UserSecrets`] are those of the user: in the system's keyring where there
//! is one and the feature `keyring` is on, else in a file.
//!
//! ```
//! use mgp_discovery::secrets::{SecretFile, SecretName};
//!
//! let folder = tempfile::tempdir()?;
//! let store = SecretFile::at(folder.path().join("secrets.toml"));
//! let name: SecretName = "GITHUB_TOKEN".parse()?;
//! store.set([(name.clone(), "s3cret".to_owned().into())].into())?;
//! assert_eq!(store.secret(&name)?.expect("it was set").expose(), "s3cret");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod environment;
mod file;
mod keyring;
mod user;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

pub(crate) use self::environment::{Environment, Secret};
pub use self::file::SecretFile;
pub use self::keyring::KeyringError;
pub use self::user::UserSecrets;

/// The name of a secret: up to 128 letters, digits, `_`, `-` and `.`, of which the first is a letter, a digit or `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(Box<str>);

/// A text that cannot be the name of a secret. The text is not repeated: it may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a secret consists of up to 128 letters, digits, `_`, `-` and `.`, such as GITHUB_TOKEN")]
#[non_exhaustive]
pub struct InvalidSecretName;

/// Secrets by name.
pub type Secrets = BTreeMap<SecretName, Secret>;

/// The reason why secrets cannot be read or written. No variant repeats a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretStoreError {
    /// The home directory is not set.
    #[error("there is no home directory for the secrets: set HOME")]
    NoHome,
    /// The file is a symbolic link, so that any user could own it.
    #[error("the secrets are not read, because {} is a symbolic link: put the file itself there", .0.display())]
    Link(PathBuf),
    /// The path is not a regular file.
    #[error("the secrets are not read, because {} is not a file: remove it", .0.display())]
    NoFile(PathBuf),
    /// Another user owns the file.
    #[error(
        "the secrets are not read, because {} belongs to the user {owner}: remove it, or make it yours",
        path.display()
    )]
    Owner {
        /// The path of the file.
        path: PathBuf,
        /// The number of the user.
        owner: u32,
    },
    /// Other users could read or change the file.
    #[error(
        "the secrets are not read, because others may open {} (mode {mode:03o}): run `chmod 600 {}`",
        path.display(), path.display()
    )]
    Mode {
        /// The path of the file.
        path: PathBuf,
        /// The permissions of the file.
        mode: u32,
    },
    /// The file does not have the form that `mgp secrets` writes.
    #[error("{}: line {line} is not `NAME = \"value\"`", path.display())]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The secret is another one than an operator has accepted.
    #[error("the secret {0} was changed without the operator passphrase; `mgp reload` takes the change")]
    Unaccepted(String),
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: String,
    },
    /// The system's keyring has to be asked and cannot be used.
    #[error(
        "{error}, or keep the secret in the file: `mgp secrets set {} --file`",
        name.as_ref().map_or("NAME", SecretName::as_str)
    )]
    Keyring {
        /// The secret that was looked for.
        name: Option<SecretName>,
        /// The error of the keyring.
        error: KeyringError,
    },
    /// Both the keyring and the file have a secret of this name, so that the value is ambiguous.
    #[error(
        "the secret {name} is both in {keyring} and in {}: run `mgp secrets set {name}`, which leaves one",
        path.display()
    )]
    Twice {
        /// The name of the secret.
        name: SecretName,
        /// The name of the keyring, in words for people.
        keyring: &'static str,
        /// The path of the file.
        path: PathBuf,
    },
}

/// Returns the secrets of the user of this environment: in the system's keyring, if the feature `keyring` is on and
/// there is one, and in `mgp/secrets.toml` in `$XDG_CONFIG_HOME` or in `~/.config`.
///
/// # Errors
/// There is no home directory.
pub fn user_store(environment: &dyn Environment) -> Result<UserSecrets, SecretStoreError> {
    let path = SecretFile::user_path(environment).ok_or(SecretStoreError::NoHome)?;
    Ok(UserSecrets::new(SecretFile::at(path), keyring::system()))
}

const LONGEST: usize = 128;

impl SecretName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a text can be a name.
    pub(crate) fn is_name(text: &str) -> bool {
        text.len() <= LONGEST
            && text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    }
}

impl FromStr for SecretName {
    type Err = InvalidSecretName;

    fn from_str(text: &str) -> Result<Self, InvalidSecretName> {
        if Self::is_name(text) { Ok(Self(text.into())) } else { Err(InvalidSecretName) }
    }
}

impl std::borrow::Borrow<str> for SecretName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

mgp_types::write_as!(Display of SecretName, self => "{}", self.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_and_a_text_that_is_none_is_not_repeated() {
        for name in ["GITHUB_TOKEN", "a.b-c", "_x", "7z"] {
            assert_eq!(name.parse::<SecretName>().unwrap().as_str(), name);
        }
        for text in ["", "a b", "NAME=ghp_1", "-x", ".x", "a}", "ä", &"x".repeat(129)] {
            assert!(text.parse::<SecretName>().is_err(), "{text}");
        }
        assert!(!InvalidSecretName.to_string().contains("ghp_"));
    }
}
