//! The result of a change of the configuration, and of several that follow one another.

use mgp_types::mgp::ServerId;
use serde::{Deserialize, Serialize};

/// The result of a change of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AppliedConfig {
    /// The servers that are new.
    pub added: Vec<ServerId>,
    /// The servers that restarted, because their configuration has changed.
    pub changed: Vec<ServerId>,
    /// The servers that are gone.
    pub removed: Vec<ServerId>,
    /// The sections, other than servers, of which a change took effect.
    pub settings: Vec<String>,
    /// The sections of which a change takes effect only when the kernel restarts.
    pub needs_restart: Vec<String>,
    /// The keys that an operator accepted for the next kernel; empty if a kernel runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

impl AppliedConfig {
    /// Returns this change and a `later` one together: servers that came and left again are not mentioned.
    pub(crate) fn followed_by(mut self, later: Self) -> Self {
        for gone in later.removed {
            let was_there = !self.added.contains(&gone);
            self.added.retain(|id| *id != gone);
            self.changed.retain(|id| *id != gone);
            self.removed.extend(was_there.then_some(gone));
        }
        for new in later.added {
            let was_there = self.removed.contains(&new);
            self.removed.retain(|id| *id != new);
            if was_there { self.changed.push(new) } else { self.added.push(new) }
        }
        for server in later.changed {
            if !self.added.contains(&server) && !self.changed.contains(&server) {
                self.changed.push(server);
            }
        }
        for section in later.settings {
            if !self.settings.contains(&section) {
                self.settings.push(section);
            }
        }
        Self { needs_restart: later.needs_restart, accepted: later.accepted, ..self }
    }
}
