//! The limits on calls that wait for their clients.

use std::time::Duration;

/// The number of calls that may wait for their clients, and the time for which they may.
#[derive(Debug, Clone)]
pub(crate) struct ParkedCallLimits {
    /// The largest number of calls of all principals that have asked and are not over.
    pub(crate) max_parked: usize,
    /// The largest number of such calls of one principal.
    pub(crate) max_parked_per_principal: usize,
    /// The largest number of one call's questions that wait for their answers.
    pub(crate) max_questions: usize,
    /// The time that a client may take for its answers.
    pub(crate) ttl: Duration,
}

impl Default for ParkedCallLimits {
    fn default() -> Self {
        Self {
            max_parked: 256,
            max_parked_per_principal: 16,
            max_questions: 16,
            ttl: Duration::from_mins(10),
        }
    }
}
