//! The configuration as it is in effect, and the folder of the kernel's state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use mgp_discovery::Config;
use mgp_transport::{ConnectionLimits, MemoryBudget};
use mgp_types::Context;
use mgp_types::mgp::NameStyle;

use crate::settings;

/// The configuration in effect, with the folder and the memory that were taken at the start.
pub(crate) struct RunningConfig {
    /// The current configuration. Sections that a reload cannot change stay as they were at the start.
    current: ArcSwap<Config>,
    state: PathBuf,
    /// The memory for long messages of all connections.
    memory: MemoryBudget,
}

impl RunningConfig {
    pub(crate) fn new(config: Config, state: PathBuf) -> Self {
        let memory = settings::message_memory(&config);
        Self { current: ArcSwap::from_pointee(config), state, memory }
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
