use std::time::Duration;

/// How long the steps of a server's life may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeLimits {
    /// Connecting, the handshake included.
    pub connect: Duration,
    /// Each step that restores what the server has to know before it takes calls.
    pub restore: Duration,
    /// Finishing calls before a restart.
    pub drain: Duration,
    /// Taking note of the request to stop. It is part of the time for finishing calls, not added to it.
    pub ask_to_stop: Duration,
    /// Closing. What takes longer is ended at once.
    pub close: Duration,
    /// Closing a server that ended in error or does not answer.
    pub close_broken: Duration,
}

impl Default for TimeLimits {
    /// A minute to connect: servers that are installed when they first run need half of it.
    fn default() -> Self {
        Self {
            connect: Duration::from_mins(1),
            restore: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            ask_to_stop: Duration::from_secs(5),
            close: Duration::from_secs(5),
            close_broken: Duration::from_secs(1),
        }
    }
}
