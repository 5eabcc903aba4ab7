//! The configuration as it is in effect, and the one that an operator has accepted, where a passphrase guards it.
//!
//! The changed configuration is compared as a whole and by its types, not by digests of files, so a file that only
//! tightens needs nobody. The keys that tighten are listed; every other key waits, a new one as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use mgp_discovery::Config;
use mgp_discovery::config::{ConfigFile, Environment, ProcessEnvironment, Secret};
use mgp_discovery::secrets::SecretStoreError;
use mgp_transport::{ConnectionLimits, MemoryBudget};
use mgp_types::Context;
use mgp_types::mgp::NameStyle;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::proof::is_guarded;
use crate::settings;
use crate::state::folder::{read_json, users_state, write_json};
use crate::terminal::Failure;

/// The configuration in effect, with the folder and the memory that were taken at the start.
pub struct RunningConfig {
    /// The current configuration. Sections that a reload cannot change stay as they were at the start.
    current: ArcSwap<Config>,
    /// Notified when another configuration was put into effect.
    pub(crate) changes: watch::Sender<()>,
    /// The configuration as it was read last.
    wanted: ArcSwap<Config>,
    /// The keys of the configuration as it was read last that wait until an operator accepts them.
    waiting: ArcSwap<Vec<String>>,
    pub(crate) accepted: AcceptedConfig,
    state: PathBuf,
    /// The memory for long messages of all connections.
    memory: MemoryBudget,
    /// The files that the configuration comes from, if it comes from any.
    pub source: OnceLock<Box<dyn ConfigSource>>,
}

mgp_types::partial_debug!(RunningConfig);

/// The files that the configuration of a kernel comes from.
pub trait ConfigSource: Send + Sync {
    /// Reads the configuration anew.
    fn read(&self) -> Result<Config, Failure>;

    /// Has `edit` change the file to which commands add servers, which stays trusted if it was.
    fn change(&self, edit: &mut ConfigEdit) -> Result<(), Failure>;
}

/// A change of the file of a configuration.
pub type ConfigEdit = dyn FnMut(&mut ConfigFile) -> Result<(), Failure> + Send;

impl RunningConfig {
    pub(crate) fn new(config: Config, state: PathBuf) -> Self {
        let accepted = AcceptedConfig::new(&state);
        let (held, waiting) = accepted.held(&config);
        let waiting = ArcSwap::from_pointee(waiting);
        let memory = settings::message_memory(&held);
        let wanted = ArcSwap::from_pointee(config);
        let (current, source) = (ArcSwap::from_pointee(held), OnceLock::new());
        Self { current, changes: watch::Sender::default(), wanted, waiting, accepted, state, memory, source }
    }

    /// Notes the configuration that was read, and returns the part of it that takes effect now.
    pub(crate) fn held(&self, wanted: Config) -> Config {
        let (held, waiting) = self.accepted.held(&wanted);
        if !waiting.is_empty() {
            let keys = waiting.join(", ");
            tracing::warn!(keys, "changes of the configuration wait for an operator: `mgp reload`");
        }
        self.waiting.store(Arc::new(waiting));
        self.wanted.store(Arc::new(wanted));
        held
    }

    /// Accepts the configuration that was read last in the name of an operator, and returns it.
    pub(crate) fn accept(&self) -> Config {
        let wanted = self.wanted();
        self.accepted.accept(&wanted);
        self.waiting.store(Arc::default());
        wanted
    }

    /// Returns the configuration as it was read last.
    pub(crate) fn wanted(&self) -> Config {
        Config::clone(&self.wanted.load())
    }

    /// Keeps the configuration that was read last as accepted, if nothing of it waits: from now on a passphrase guards it.
    pub(crate) fn accept_running(&self) {
        if self.waiting().is_empty() {
            self.accepted.accept(&self.wanted.load());
        }
    }

    /// Returns the keys of the configuration, and of the secrets in use, that wait until an operator accepts them.
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.accepted.held(&self.wanted.load()).1
    }

    /// Returns the keys that waited when the configuration was read last.
    pub(crate) fn waiting_when_read(&self) -> Arc<Vec<String>> {
        self.waiting.load_full()
    }

    /// Loads the current configuration; a reload replaces it.
    pub fn load(&self) -> Guard<Arc<Config>> {
        self.current.load()
    }

    pub(crate) fn load_full(&self) -> Arc<Config> {
        self.current.load_full()
    }

    /// Puts another configuration into effect.
    pub(crate) fn store(&self, config: Arc<Config>) {
        self.current.store(config);
        self.changes.send_replace(());
    }

    /// Returns the folder in which the kernel keeps its state.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the style in which the names of tools and prompts are written for the sender of a request.
    pub(crate) fn names(&self, context: &Context) -> NameStyle {
        self.load().names.of(context)
    }

    /// Returns the limits of a connection.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        settings::connection(&self.load(), &self.memory)
    }
}

/// The file in the kernel's state with the configuration that was accepted last.
///
/// While an operator passphrase is set, what loosens in a changed file waits until somebody who knows it reloads the
/// configuration. Whoever may write the user's files could write this one, too: it stands where no server and no validated
/// call comes.
#[derive(Debug)]
pub struct AcceptedConfig {
    path: PathBuf,
    /// The state with the operators' secrets.
    secrets: PathBuf,
}

/// The accepted configuration as it is stored, with the digests of its secrets.
#[derive(Debug, Serialize, Deserialize)]
struct Accepted {
    config: Config,
    /// The digests of the secrets that the configuration refers to, by their names.
    secrets: SecretDigests,
}

type SecretDigests = BTreeMap<String, String>;

impl AcceptedConfig {
    /// Creates the accepted configuration of the kernel with this state directory.
    pub fn new(state: &Path) -> Self {
        Self { path: state.join(FILE), secrets: users_state(state).to_owned() }
    }

    /// Returns the part of `wanted` that takes effect, and the keys that wait. Without an accepted configuration, or a
    /// passphrase, all of it does.
    pub fn held(&self, wanted: &Config) -> (Config, Vec<String>) {
        if !is_guarded(&self.secrets) {
            return (wanted.clone(), Vec::new());
        }
        match read_json::<Accepted>(&self.path) {
            Ok(Some(accepted)) => {
                let (held, mut waiting) = wanted.held_to(&accepted.config);
                waiting.extend(accepted.changed(&held).into_iter().map(|name| format!("secrets.{name}")));
                (held, waiting)
            }
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

    /// Returns the part of `wanted` that takes effect, as [`held`](Self::held) does, and accepts nothing.
    pub fn in_effect(&self, wanted: &Config) -> Config {
        if !is_guarded(&self.secrets) {
            return wanted.clone();
        }
        match read_json::<Accepted>(&self.path) {
            Ok(Some(accepted)) => wanted.held_to(&accepted.config).0,
            // The first kernel accepts all of it.
            Ok(None) => wanted.clone(),
            Err(_) => wanted.held_to(&Config::default()).0,
        }
    }

    /// Keeps the configuration as the accepted one.
    pub(crate) fn accept(&self, config: &Config) {
        let secrets = digests(config).unwrap_or_else(|error| {
            tracing::warn!(%error, "no secret is accepted");
            SecretDigests::new()
        });
        let mut config = config.clone();
        // The command line accepts its address for itself alone.
        config.listen.http.take_if(|_| config.listen.is_on_command_line);
        let accepted = Accepted { config, secrets };
        if let Err(error) = write_json(&self.path, &accepted) {
            tracing::error!(path = %self.path.display(), %error, "the accepted configuration cannot be kept");
        }
    }
}

/// The environment of the process, which has a secret only as it was accepted.
impl Environment for AcceptedConfig {
    fn variable(&self, name: &str) -> Option<String> {
        ProcessEnvironment.variable(name)
    }

    fn secret(&self, name: &str) -> Result<Option<Secret>, SecretStoreError> {
        let Some(secret) = ProcessEnvironment.secret(name)? else { return Ok(None) };
        let unaccepted = || SecretStoreError::Unaccepted(name.to_owned());
        if is_guarded(&self.secrets)
            && let Some(accepted) = read_json::<Accepted>(&self.path).map_err(|_| unaccepted())?
            && accepted.secrets.get(name) != Some(&digest(name, &secret))
        {
            return Err(unaccepted());
        }
        Ok(Some(secret))
    }
}

impl Accepted {
    /// Returns the names of the secrets of a configuration that are not as they were accepted. One that is lacking is no
    /// danger, and one that cannot be read is not used either.
    fn changed(&self, config: &Config) -> Vec<String> {
        let now = digests(config).unwrap_or_default();
        let is_other = |(name, digest): &(String, String)| self.secrets.get(name) != Some(digest);
        now.into_iter().filter(is_other).map(|(name, _)| name).collect()
    }
}

/// Returns the digests of the secrets that a configuration refers to and that are set.
fn digests(config: &Config) -> Result<SecretDigests, SecretStoreError> {
    let mut digests = SecretDigests::new();
    for name in config.secret_names() {
        if let Some(secret) = ProcessEnvironment.secret(&name)? {
            let digest = digest(&name, &secret);
            digests.insert(name, digest);
        }
    }
    Ok(digests)
}

fn digest(name: &str, secret: &Secret) -> String {
    let digest = Sha256::new().chain_update(name).chain_update([0]).chain_update(secret.expose());
    let text: [u8; 64] = mgp_types::hex(&digest.finalize());
    String::from_utf8_lossy(&text).into_owned()
}

/// The name of the file with the accepted configuration.
const FILE: &str = "accepted.json";
