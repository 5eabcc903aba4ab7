//! The configuration that an operator has accepted, where a passphrase guards it.

use std::io;
use std::path::{Path, PathBuf};

use mgp_discovery::{AtomicFile, Config, FileReaders};

use crate::operator::proof::is_guarded;
use crate::running::users_state;

/// The file in the kernel's state with the configuration that was accepted last.
///
/// While an operators' passphrase is set, what loosens in a changed file waits until somebody who knows it reloads the
/// configuration. Whoever may write the user's files could write this one, too: it stands where no server and no validated
/// call comes.
#[derive(Debug)]
pub(crate) struct AcceptedConfig {
    path: PathBuf,
    /// The state with the operators' secrets.
    secrets: PathBuf,
}

impl AcceptedConfig {
    pub(crate) fn new(state: &Path) -> Self {
        Self { path: state.join(FILE), secrets: users_state(state).to_owned() }
    }

    /// Returns the part of `wanted` that takes effect, and the keys that wait. Without an accepted configuration, or a
    /// passphrase, all of it does.
    pub(crate) fn held(&self, wanted: &Config) -> (Config, Vec<String>) {
        if !is_guarded(&self.secrets) {
            return (wanted.clone(), Vec::new());
        }
        match self.read() {
            Ok(Some(accepted)) => wanted.held_to(&accepted),
            Ok(None) => {
                self.accept(wanted);
                (wanted.clone(), Vec::new())
            }
            Err(error) => {
                tracing::error!(path = %self.path.display(), %error, "nothing is known to be accepted: no server is started until `mgp reload`");
                wanted.held_to(&Config::default())
            }
        }
    }

    /// Keeps the configuration as the accepted one.
    pub(crate) fn accept(&self, config: &Config) {
        let kept = serde_json::to_string(config)
            .map_err(io::Error::from)
            .and_then(|text| AtomicFile::put(&self.path, &text, FileReaders::Owner));
        if let Err(error) = kept {
            tracing::error!(path = %self.path.display(), %error, "the accepted configuration cannot be kept");
        }
    }

    fn read(&self) -> io::Result<Option<Config>> {
        match std::fs::read(&self.path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

const FILE: &str = "accepted.json";
