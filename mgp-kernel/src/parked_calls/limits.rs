use std::time::Duration;

/// How many calls may wait for their clients, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct ParkedCallLimits {
    /// The calls of all principals that have asked and are not over.
    pub(crate) max_parked: usize,
    /// Those of one principal.
    pub(crate) max_parked_per_principal: usize,
    /// The questions of one call that wait for their answers.
    pub(crate) max_questions: usize,
    /// How long a client may take for its answers.
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
