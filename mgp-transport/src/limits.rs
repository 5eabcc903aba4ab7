use std::time::Duration;

use mgp_types::json;
use tokio::sync::Semaphore;

use crate::memory_budget::Share;
use crate::{MemoryBudget, TooLong};

/// What one connection may cost, whatever its peer does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// The longest frame that is read. A longer one is skipped to its end, and only its call gets an error.
    /// Default: 64 MiB.
    pub max_frame_bytes: usize,
    /// How much of a frame is skipped: one that goes on for longer has no end, and ends the connection. Default: 1 GiB.
    pub max_skipped_bytes: usize,
    /// The memory that long frames may take, of all connections that share it. A frame for which there is none is skipped
    /// like one that is too long. Default: the 512 MiB that all connections of the process share.
    pub memory: MemoryBudget,
    /// How errors name these two settings.
    pub setting_names: SettingNames,
    /// Bounds on the JSON in a frame.
    pub json: json::Limits,
    /// How many of the peer's requests may be in work at once; further ones are refused. Default: 1024.
    pub max_in_flight: usize,
    /// How many messages may wait to be written, one at least; senders wait for room. Default: 256.
    pub max_queued: usize,
    /// How many bytes may wait to be written before reading stops, one at least. Default: 1 MiB.
    pub max_unwritten_bytes: usize,
    /// How many messages about a call of ours may wait for the caller before reading stops: more than a peer
    /// has on its way when it hears how fast they are taken. Default: 16384.
    pub max_undelivered: usize,
    /// How many bytes such messages may take while they wait. Default: 2 MiB.
    pub max_undelivered_bytes: usize,
    /// How long the caller of one call may keep the connection from reading, by being slow to take what the peer
    /// sends about the call; then the call fails with 3001. All callers together may do so for twice as long.
    /// What was spent comes back, a tenth of the time in which the connection reads. Default: 5 s.
    pub delivery_timeout: Duration,
    /// How long the peer may read nothing of what waits for it before the connection ends. Default: 60 s.
    pub write_timeout: Duration,
    /// How long requests in work may go on when the peer sends no more. Default: 1 s.
    pub drain_timeout: Duration,
}

/// How the settings for long messages are called where whoever reads an error can change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the names of two settings")]
pub struct SettingNames {
    /// The name of [`max_frame_bytes`](ConnectionLimits::max_frame_bytes).
    pub max_frame_bytes: &'static str,
    /// The name of [`memory`](ConnectionLimits::memory).
    pub memory: &'static str,
}

impl Default for SettingNames {
    fn default() -> Self {
        Self { max_frame_bytes: "ConnectionLimits::max_frame_bytes", memory: "ConnectionLimits::memory" }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_frame_bytes: 64 << 20,
            max_skipped_bytes: 1 << 30,
            memory: MemoryBudget::default(),
            setting_names: SettingNames::default(),
            json: json::Limits::default(),
            max_in_flight: 1024,
            max_queued: 256,
            max_unwritten_bytes: 1 << 20,
            max_undelivered: 16 << 10,
            max_undelivered_bytes: 2 << 20,
            delivery_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(1),
        }
    }
}

impl ConnectionLimits {
    /// Takes the memory that a message of this length needs.
    pub(crate) fn admit(&self, share: &mut Share, length: usize) -> Result<(), TooLong> {
        if length > self.max_frame_bytes {
            return Err(TooLong::message(self));
        }
        if share.grow_to(length) {
            Ok(())
        } else {
            Err(TooLong::Memory { budget_bytes: self.memory.bytes() })
        }
    }

    /// These, but for those with which nothing would move at all, or that no queue can have.
    pub(crate) fn workable(mut self) -> Self {
        self.max_queued = self.max_queued.clamp(1, Semaphore::MAX_PERMITS);
        self.max_unwritten_bytes = self.max_unwritten_bytes.max(1);
        self
    }
}
