//! Another configuration for a kernel that runs.

use std::sync::{Arc, OnceLock};

use mgp_discovery::Config;

use crate::parts::Parts;
use crate::registration;
use crate::rules::Rules;
use crate::{Applied, StartError};

/// Where the configuration is read anew, if it came from somewhere, and whose turn it is to take it.
#[derive(Default)]
pub(crate) struct Reload {
    source: OnceLock<Source>,
    /// Held from reading to applying, so that of two who want it at once the later one has the later text.
    turn: tokio::sync::Mutex<()>,
}

type Source = Box<dyn Fn() -> Result<Config, String> + Send + Sync>;

/// Why the configuration stays as it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReloadError {
    /// The kernel was given its configuration by the program that it is part of.
    #[error("the kernel has no file that it could read anew")]
    NoSource,
    /// What is there now is none.
    #[error("{0}")]
    Broken(String),
    /// It asks for something that there is not.
    #[error(transparent)]
    Refused(#[from] StartError),
}

impl Reload {
    /// Says where the configuration is read anew. The first to say so is believed.
    pub(crate) fn read_from(&self, source: impl Fn() -> Result<Config, String> + Send + Sync + 'static) {
        let _ = self.source.set(Box::new(source));
    }
}

impl Parts {
    /// Reads the configuration anew, and takes it.
    pub(crate) async fn reread(self: &Arc<Self>) -> Result<Applied, ReloadError> {
        let _turn = self.reload.turn.lock().await;
        let source = self.reload.source.get().ok_or(ReloadError::NoSource)?;
        Ok(self.take(source().map_err(ReloadError::Broken)?).await?)
    }

    /// Takes a new configuration; if it asks for something that there is not, everything stays as it was.
    pub(crate) async fn reconfigure(self: &Arc<Self>, config: Config) -> Result<Applied, StartError> {
        let _turn = self.reload.turn.lock().await;
        self.take(config).await
    }

    async fn take(self: &Arc<Self>, config: Config) -> Result<Applied, StartError> {
        // Before there is a new server that somebody may not use.
        Rules::of(self, &config)?.hold(self).await?;
        let old = self.config.load_full();
        let all = old.permissions != config.permissions
            || old.confirmation != config.confirmation
            || old.validators != config.validators;
        self.config.store(Arc::new(config));
        let applied = self.fleet.apply(self, &self.config.load().servers, all);
        if let (Ok(_), Some(registry)) = (&applied, self.registry.get()) {
            registry.set_policy(registration::policy(&self.config.load()));
        }
        if applied.is_err() {
            self.config.store(Arc::clone(&old));
            Rules::of(self, &old)?.hold(self).await?;
        }
        applied
    }
}
