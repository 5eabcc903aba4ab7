//! The user's secrets, in the system's keyring and in a file, by one rule.

use std::collections::BTreeMap;

use super::keyring::{Keyring, KeyringError};
use super::{Secret, SecretFile, SecretName, SecretStoreError, Secrets};

/// The user's secrets, each in one of two places: the system's keyring, or the file.
///
/// - A secret that is set goes to the keyring and is removed from the file. Without a keyring, or with
///   [`in_file`](Self::in_file), the secret goes to the file and is removed from the keyring.
/// - A secret is read from its place. A secret in both places is an error, until it is set again.
/// - A keyring that is locked, does not answer or refuses is an error when a secret is set in it, and for a secret that
///   the file does not have. A secret in the file is read there.
///
/// A keyring is asked for a bounded time, during which the caller's thread waits.
#[derive(Debug)]
pub struct UserSecrets {
    file: SecretFile,
    keyring: Option<Box<dyn Keyring>>,
    /// True if secrets are set in the file, even where there is a keyring.
    sets_in_file: bool,
}

impl UserSecrets {
    pub(super) fn new(file: SecretFile, keyring: Option<Box<dyn Keyring>>) -> Self {
        Self { file, keyring, sets_in_file: false }
    }

    /// Sets secrets in the file, even where there is a keyring.
    pub fn in_file(mut self) -> Self {
        self.sets_in_file = true;
        self
    }

    /// Returns the keyring in which secrets are set; `None` stands for the file.
    fn to_set(&self) -> Result<Option<&dyn Keyring>, SecretStoreError> {
        let keyring = self.keyring.as_deref().filter(|_| !self.sets_in_file);
        let Some(keyring) = keyring else { return Ok(None) };
        Ok(present(keyring.check()).map_err(|error| unusable(None, error))?.map(|()| keyring))
    }

    /// Removes the secrets from the keyring that the file has now. A keyring that cannot be used keeps its secret; a
    /// later read of that secret reports both.
    fn remove_from_keyring(&self, names: &[SecretName]) {
        let Some(keyring) = &self.keyring else { return };
        for name in names {
            if let Err(error) = present(keyring.remove(name)) {
                tracing::warn!(secret = %name, %error, "the keyring may have a secret that is in the file now");
            }
        }
    }

    /// Returns the names of all secrets, each with its place, in words for people. A place that was never written to has
    /// none.
    ///
    /// # Errors
    /// The secrets cannot be read, or others could read them.
    pub fn names(&self) -> Result<BTreeMap<SecretName, String>, SecretStoreError> {
        let mut names = self.file.names()?;
        let Some(keyring) = &self.keyring else { return Ok(names) };
        let in_keyring = present(keyring.names()).map_err(|error| unusable(None, error))?;
        for name in in_keyring.into_iter().flatten() {
            let place = names.entry(name).or_default();
            let and = if place.is_empty() { "" } else { " and " };
            place.push_str(and);
            place.push_str(keyring.name());
        }
        Ok(names)
    }

    /// Returns the secret of this name, if there is one.
    ///
    /// # Errors
    /// The secrets cannot be read, or others could read them.
    pub fn secret(&self, name: &SecretName) -> Result<Option<Secret>, SecretStoreError> {
        let in_file = self.file.secret(name)?;
        let Some(keyring) = &self.keyring else { return Ok(in_file) };
        match (in_file, present(keyring.secret(name)).map(Option::flatten)) {
            (Some(_), Ok(Some(_))) => Err(SecretStoreError::Twice {
                name: name.clone(),
                keyring: keyring.name(),
                path: self.file.path().to_owned(),
            }),
            (Some(secret), Ok(None)) => Ok(Some(secret)),
            (Some(secret), Err(error)) => {
                tracing::warn!(secret = %name, %error, "a secret is read from the file, as the keyring cannot be used");
                Ok(Some(secret))
            }
            (None, Ok(in_keyring)) => Ok(in_keyring),
            (None, Err(error)) => Err(unusable(Some(name), error)),
        }
    }

    /// Adds secrets, or replaces those that have their names, and returns their place, in words for people.
    ///
    /// # Errors
    /// The secrets cannot be read or written. A file stays as it was; a keyring may have taken some of the secrets.
    pub fn set(&self, secrets: Secrets) -> Result<String, SecretStoreError> {
        let names: Vec<SecretName> = secrets.keys().cloned().collect();
        let Some(keyring) = self.to_set()? else {
            let location = self.file.set(secrets)?;
            self.remove_from_keyring(&names);
            return Ok(location);
        };
        // A file that cannot be read would keep its secrets.
        self.file.location()?;
        keyring.set(&secrets).map_err(|error| unusable(names.first(), error))?;
        // The file is no place for what the keyring has now.
        names.iter().try_for_each(|name| self.file.remove(name).map(drop))?;
        Ok(keyring.name().to_owned())
    }

    /// Removes a secret, and returns whether there was one.
    ///
    /// # Errors
    /// The secrets stay as they were where they cannot be read or written.
    pub fn remove(&self, name: &SecretName) -> Result<bool, SecretStoreError> {
        // The file is checked before anything is removed.
        self.file.location()?;
        let from_keyring = self.keyring.as_ref().map(|keyring| present(keyring.remove(name)));
        let from_keyring = from_keyring.transpose().map_err(|error| unusable(Some(name), error))?.flatten();
        Ok(self.file.remove(name)? || from_keyring.unwrap_or(false))
    }

    /// Returns the place in which secrets are set, in words for people, so that no secret is typed that cannot be kept.
    ///
    /// # Errors
    /// The secrets cannot be read, others could read them, or the place has to be unlocked.
    pub fn location(&self) -> Result<String, SecretStoreError> {
        let file = self.file.location()?;
        Ok(self.to_set()?.map_or(file, |keyring| keyring.name().to_owned()))
    }
}

/// Returns the answer of the keyring, and `None` where there is no keyring.
fn present<T>(said: Result<T, KeyringError>) -> Result<Option<T>, KeyringError> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(KeyringError::Absent) => Ok(None),
        Err(error) => Err(error),
    }
}

fn unusable(name: Option<&SecretName>, error: KeyringError) -> SecretStoreError {
    SecretStoreError::Keyring { name: name.cloned(), error }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    use parking_lot::Mutex;

    use super::*;
    use crate::{AtomicFile, FileReaders};

    /// A keyring in memory, which may be out of order.
    #[derive(Debug, Clone, Default)]
    struct Fake(Arc<Mutex<(Secrets, Option<KeyringError>)>>);

    impl Fake {
        fn fail(&self, error: impl Into<Option<KeyringError>>) {
            self.0.lock().1 = error.into();
        }

        fn ask<T>(&self, ask: impl FnOnce(&mut Secrets) -> T) -> Result<T, KeyringError> {
            let (secrets, error) = &mut *self.0.lock();
            error.clone().map_or_else(|| Ok(ask(secrets)), Err)
        }
    }

    impl Keyring for Fake {
        fn name(&self) -> &'static str {
            "the keyring"
        }

        fn check(&self) -> Result<(), KeyringError> {
            self.ask(|_| ())
        }

        fn names(&self) -> Result<BTreeSet<SecretName>, KeyringError> {
            self.ask(|secrets| secrets.keys().cloned().collect())
        }

        fn secret(&self, name: &SecretName) -> Result<Option<Secret>, KeyringError> {
            self.ask(|secrets| secrets.get(name).cloned())
        }

        fn set(&self, secrets: &Secrets) -> Result<(), KeyringError> {
            self.ask(|all| all.extend(secrets.clone()))
        }

        fn remove(&self, name: &SecretName) -> Result<bool, KeyringError> {
            self.ask(|secrets| secrets.remove(name).is_some())
        }
    }

    fn stored() -> (tempfile::TempDir, Fake, SecretFile, UserSecrets) {
        let (folder, fake) = (tempfile::tempdir().unwrap(), Fake::default());
        let file = SecretFile::at(folder.path().join("mgp/secrets.toml"));
        let store = UserSecrets::new(file.clone(), Some(Box::new(fake.clone())));
        (folder, fake, file, store)
    }

    fn name() -> SecretName {
        "HUB".parse().unwrap()
    }

    fn hub(secret: &str) -> Secrets {
        [(name(), secret.to_owned().into())].into()
    }

    fn read(store: &UserSecrets) -> Option<String> {
        store.secret(&name()).unwrap().map(|secret| secret.expose().to_owned())
    }

    fn broken() -> [KeyringError; 3] {
        let silent = KeyringError::NoAnswer(Duration::from_secs(10));
        [KeyringError::Locked, silent, KeyringError::Refused("no space left".into())]
    }

    #[test]
    fn a_secret_is_set_in_the_keyring_and_leaves_the_file() {
        let (_folder, fake, file, store) = stored();
        file.set(hub("old")).unwrap();
        assert_eq!(store.location().unwrap(), "the keyring");
        assert_eq!(store.set(hub("new")).unwrap(), "the keyring");
        assert!(file.secrets().unwrap().is_empty());
        assert_eq!(read(&store).as_deref(), Some("new"));
        assert_eq!(store.names().unwrap()[&name()], "the keyring");
        assert!(store.remove(&name()).unwrap() && !store.remove(&name()).unwrap());
        assert!(fake.names().unwrap().is_empty());
    }

    #[test]
    fn without_a_keyring_everything_is_in_the_file() {
        let (_folder, fake, file, store) = stored();
        fake.fail(KeyringError::Absent);
        let path = file.path().display().to_string();
        assert_eq!(store.location().unwrap(), path);
        assert_eq!(store.set(hub("1")).unwrap(), path);
        assert_eq!((read(&store).as_deref(), &store.names().unwrap()[&name()]), (Some("1"), &path));
        assert!(store.remove(&name()).unwrap());
        assert_eq!(read(&store), None);
    }

    #[test]
    fn a_secret_in_both_places_is_read_from_neither_until_it_is_set_again() {
        let (_folder, fake, file, store) = stored();
        store.set(hub("s3cret-keyring")).unwrap();
        file.set(hub("s3cret-file")).unwrap();
        let error = store.secret(&name()).unwrap_err();
        assert!(matches!(error, SecretStoreError::Twice { .. }), "{error}");
        assert!(error.to_string().contains("`mgp secrets set HUB`"), "{error}");
        assert!(!format!("{error} {error:?} {store:?}").contains("s3cret"));
        assert!(store.names().unwrap()[&name()].ends_with("secrets.toml and the keyring"));
        store.set(hub("one")).unwrap();
        assert_eq!(read(&store).as_deref(), Some("one"));
        file.set(hub("two")).unwrap();
        assert!(store.remove(&name()).unwrap());
        assert!(fake.names().unwrap().is_empty() && file.secrets().unwrap().is_empty());
    }

    #[test]
    fn a_keyring_that_cannot_be_used_is_an_error_that_says_how_to_use_the_file() {
        for broken in broken() {
            let (_folder, fake, file, store) = stored();
            store.set(hub("old")).unwrap();
            fake.fail(broken.clone());
            let error = store.secret(&name()).unwrap_err();
            assert!(error.to_string().contains("`mgp secrets set HUB --file`"), "{error}");
            for error in [store.set(hub("x")).unwrap_err(), store.location().unwrap_err()] {
                assert!(
                    matches!(&error, SecretStoreError::Keyring { error, .. } if *error == broken),
                    "{error}"
                );
            }
            assert!(store.remove(&name()).is_err() && file.secrets().unwrap().is_empty());

            let store = store.in_file();
            assert!(store.set(hub("new")).unwrap().ends_with("secrets.toml"));
            assert_eq!(read(&store).as_deref(), Some("new"));
            fake.fail(None);
            assert!(matches!(store.secret(&name()), Err(SecretStoreError::Twice { .. })));
            store.set(hub("newer")).unwrap();
            assert_eq!((read(&store).as_deref(), fake.names().unwrap().len()), (Some("newer"), 0));
        }
    }

    #[test]
    fn a_file_that_is_refused_is_refused_before_the_keyring_is_changed() {
        let (_folder, fake, file, store) = stored();
        store.set(hub("kept")).unwrap();
        file.set([("OTHER".parse().unwrap(), "x".to_owned().into())].into()).unwrap();
        AtomicFile::put(file.path(), "OTHER = [", FileReaders::Owner).unwrap();
        assert!(
            store.set(hub("new")).is_err() && store.remove(&name()).is_err() && store.location().is_err()
        );
        assert_eq!(fake.secret(&name()).unwrap().unwrap().expose(), "kept");
    }
}
