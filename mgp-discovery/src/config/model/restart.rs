use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerConfig;

/// The cases in which a server that ended is started again (MGP §11.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum RestartPolicy {
    /// The server is not started again.
    Never,
    /// The server is started again if it ended with an error.
    #[default]
    OnFailure,
    /// The server is started again in any case.
    Always,
}

/// The restart settings of a server, from both places in the file where they may stand. A field that is `None` has
/// the default of the specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restart {
    /// The cases in which the server is started again.
    pub policy: RestartPolicy,
    /// The maximum number of restarts within the window.
    pub max_restarts: Option<u32>,
    /// The length of the window in which restarts are counted, in seconds.
    pub window_secs: Option<u64>,
    /// The wait before the first restart, in milliseconds.
    pub backoff_base_ms: Option<u64>,
    /// The longest wait before a restart, in milliseconds.
    pub backoff_max_ms: Option<u64>,
}

impl ServerConfig {
    /// Returns the restart settings. The key of the server takes precedence over the key in `[servers.mgp]`; a file
    /// in which the two differ is refused.
    pub fn restart(&self) -> Restart {
        let declared = self.mgp.as_ref().and_then(|mgp| mgp.restart_policy);
        Restart {
            policy: self.restart_policy.or(declared).unwrap_or_default(),
            max_restarts: self.max_restarts,
            window_secs: self.restart_window_secs,
            backoff_base_ms: self.backoff_base_ms,
            backoff_max_ms: self.backoff_max_ms,
        }
    }
}
