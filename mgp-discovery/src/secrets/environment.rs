//! The variables and the user's secrets that a configuration refers to.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::{SecretName, SecretStoreError, user_store};

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
    /// Returns the directory of `mgp` among those of the user by the XDG specification, which ignores relative paths: in the one
    /// that the variable names, or else in the usual one, which lies at `in_home` in the home directory where systems have that.
    pub(crate) fn own_directory(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let set = |name: &str| self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = || match in_home {
            _ if !cfg!(windows) => Some(set("HOME")?.join(in_home).join("mgp")),
            ".config" => Some(set("APPDATA")?.join("mgp")),
            _ => Some(set("LOCALAPPDATA")?.join("mgp").join(Path::new(in_home).file_name()?)),
        };
        set(variable).map(|directory| directory.join("mgp")).or_else(usual)
    }
}

/// The environment of this process, and its secrets: the files of the folders that `MGP_SECRETS_DIR` and systemd's
/// `CREDENTIALS_DIRECTORY` name, where containers and services have them, and those of its user. A variable that is not UTF-8
/// counts as not set.
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
        for folder in MOUNTED_IN.iter().filter_map(env::var_os) {
            if let Some(secret) = mounted(Path::new(&folder), &name)? {
                return Ok(Some(secret));
            }
        }
        user_store(self)?.secret(&name)
    }
}

/// The variables that name folders with a file for each secret.
const MOUNTED_IN: [&str; 2] = ["MGP_SECRETS_DIR", "CREDENTIALS_DIRECTORY"];

/// Reads the secret from the file of its name in the folder, if there is one. The end of its line is no part of it.
fn mounted(folder: &Path, name: &SecretName) -> Result<Option<Secret>, SecretStoreError> {
    let path = folder.join(name.as_str());
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned().into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SecretStoreError::Io { path, error: error.to_string() }),
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

mgp_types::convert!(String => Secret, value => Self(value.into()));

impl Secret {
    /// Returns the value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

mgp_types::write_as!(Debug of Secret, self => "***");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_text_of_its_file_and_none_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("HUB_TOKEN"), "s3cret\n").unwrap();
        let secret = |name: &str| mounted(folder.path(), &name.parse().unwrap());
        assert_eq!(secret("HUB_TOKEN").unwrap().unwrap().expose(), "s3cret");
        assert_eq!(secret("OTHER"), Ok(None));
        fs::create_dir(folder.path().join("FOLDER")).unwrap();
        assert!(matches!(secret("FOLDER"), Err(SecretStoreError::Io { .. })));
    }
}
