use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerConfig;

/// When a server that ended is started again (MGP §11.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum RestartPolicy {
    /// Never.
    Never,
    /// If it ended in error.
    #[default]
    OnFailure,
    /// However it ended.
    Always,
}

/// What the file says of starting a server again, from both places where it may say so. What is `None` is as in the
/// specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restart {
    /// When it is started again.
    pub policy: RestartPolicy,
    /// How often within the window.
    pub max_restarts: Option<u32>,
    /// How far back restarts are counted.
    pub window_secs: Option<u64>,
    /// How long to wait before the first one.
    pub backoff_base_ms: Option<u64>,
    /// How long to wait at most.
    pub backoff_max_ms: Option<u64>,
}

impl ServerConfig {
    /// When the server is started again. The key of the server goes before that in `[servers.mgp]`; a file in which the
    /// two differ is refused.
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
