//! The configuration as it is in effect.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use mgp_discovery::Config;
use mgp_discovery::config::ConfigFile;
use mgp_transport::{ConnectionLimits, MemoryBudget};
use mgp_types::Context;
use mgp_types::mgp::NameStyle;

use crate::accepted::AcceptedConfig;
use crate::settings;
use crate::terminal::Failure;

/// The configuration in effect, with the folder and the memory that were taken at the start.
pub(crate) struct RunningConfig {
    /// The current configuration. Sections that a reload cannot change stay as they were at the start.
    current: ArcSwap<Config>,
    /// The configuration as it was read last.
    wanted: ArcSwap<Config>,
    pub(crate) accepted: AcceptedConfig,
    state: PathBuf,
    /// The memory for long messages of all connections.
    memory: MemoryBudget,
    /// The files that the configuration comes from, if it comes from any.
    pub(crate) source: OnceLock<Box<dyn ConfigSource>>,
}

/// The files that the configuration of a kernel comes from.
pub(crate) trait ConfigSource: Send + Sync {
    /// Reads the configuration anew.
    fn read(&self) -> Result<Config, Failure>;

    /// Has `edit` change the file to which commands add servers, which stays trusted if it was.
    fn change(&self, edit: &mut ConfigEdit) -> Result<(), Failure>;
}

/// A change of the file of a configuration.
pub(crate) type ConfigEdit = dyn FnMut(&mut ConfigFile) -> Result<(), Failure> + Send;

impl RunningConfig {
    pub(crate) fn new(config: Config, state: PathBuf) -> Self {
        let accepted = AcceptedConfig::new(&state);
        let (held, _) = accepted.held(&config);
        let memory = settings::message_memory(&held);
        let wanted = ArcSwap::from_pointee(config);
        let (current, source) = (ArcSwap::from_pointee(held), OnceLock::new());
        Self { current, wanted, accepted, state, memory, source }
    }

    /// Sets the files that the configuration comes from. Only the first call counts.
    pub(crate) fn read_from(&self, source: impl ConfigSource + 'static) {
        let _ = self.source.set(Box::new(source));
    }

    /// Notes the configuration that was read, and returns the part of it that takes effect now.
    pub(crate) fn held(&self, wanted: Config) -> Config {
        let (held, waiting) = self.accepted.held(&wanted);
        if !waiting.is_empty() {
            let keys = waiting.join(", ");
            tracing::warn!(keys, "changes of the configuration wait for an operator: `mgp reload`");
        }
        self.wanted.store(Arc::new(wanted));
        held
    }

    /// Accepts the configuration that was read last in the name of an operator, and returns it.
    pub(crate) fn accept(&self) -> Config {
        let wanted = self.wanted();
        self.accepted.accept(&wanted);
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

    pub(crate) fn load(&self) -> Guard<Arc<Config>> {
        self.current.load()
    }

    pub(crate) fn load_full(&self) -> Arc<Config> {
        self.current.load_full()
    }

    /// Puts another configuration into effect.
    pub(crate) fn store(&self, config: Arc<Config>) {
        self.current.store(config);
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
