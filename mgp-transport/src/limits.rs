//! The limits of one connection, and the cause of errors about messages that were too long to be read.

use std::time::Duration;

use mgp_types::json::{self, ObjectWriter};
use mgp_types::{Error, Origin, code};
use tokio::sync::Semaphore;

use crate::MemoryBudget;
use crate::memory_budget::BudgetShare;

/// The limits of one connection, which hold whatever its peer does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// The greatest length of a frame in bytes. A longer frame is skipped to its end, and only its call gets an error.
    /// Default: 64 MiB.
    pub max_frame_bytes: usize,
    /// The number of bytes of a frame that are skipped at most. A longer frame has no end, and ends the connection.
    /// Default: 1 GiB.
    pub max_skipped_bytes: usize,
    /// The memory that long frames may take, of all connections that share it. A frame without memory is skipped like
    /// one that is too long. Default: the 512 MiB that all connections of the process share.
    pub memory: MemoryBudget,
    /// The names by which errors call these two settings.
    pub setting_names: SettingNames,
    /// The bounds on the JSON in a frame.
    pub json: json::Limits,
    /// The number of the peer's requests that may be in work at once; further ones are refused. Default: 1024.
    pub max_in_flight: usize,
    /// The number of messages that may wait to be written, at least one; senders wait for room. Default: 256.
    pub max_queued: usize,
    /// The number of bytes that may wait to be written before reading stops, at least one. Default: 1 MiB.
    pub max_unwritten_bytes: usize,
    /// The number of messages about a call of ours that may wait for the caller before reading stops. It exceeds the
    /// messages that a peer has on their way when it learns of the pace. Default: 16384.
    pub max_undelivered: usize,
    /// The number of bytes that such messages may take while they wait. Default: 2 MiB.
    pub max_undelivered_bytes: usize,
    /// The time for which one slow caller may keep the connection from reading because it does not take the peer's
    /// messages about its call; then the call fails with 3001. All callers together have twice as long. Spent time
    /// comes back: a tenth of the time in which the connection reads. Default: 5 s.
    pub delivery_timeout: Duration,
    /// The time for which the peer may read none of the waiting bytes before the connection ends. Default: 60 s.
    pub write_timeout: Duration,
    /// The time for which requests in work may go on when the peer sends no more. Default: 1 s.
    pub drain_timeout: Duration,
}

/// The names of the settings for long messages, where the reader of an error can change them.
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
    pub(crate) fn admit(&self, share: &mut BudgetShare, length: usize) -> Result<(), TooLong> {
        if length > self.max_frame_bytes {
            return Err(TooLong::message(self));
        }
        if share.grow_to(length) {
            Ok(())
        } else {
            Err(TooLong::Memory { budget_bytes: self.memory.bytes() })
        }
    }

    /// Returns these limits, with values raised that would stop the connection, and lowered that no queue can have.
    pub(crate) fn workable(mut self) -> Self {
        self.max_queued = self.max_queued.clamp(1, Semaphore::MAX_PERMITS);
        self.max_unwritten_bytes = self.max_unwritten_bytes.max(1);
        self
    }
}

/// The reason why a message was refused unread: the cause of the error that its call ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLong {
    /// The message is longer than its connection allows.
    #[error("the message is longer than {most_bytes} bytes")]
    Message {
        /// The greatest length of a message in bytes.
        most_bytes: usize,
    },
    /// Other long messages take the memory that there is for all of them.
    #[error("the {budget_bytes} bytes for long messages are in use")]
    Memory {
        /// The number of bytes that all long messages may take.
        budget_bytes: usize,
    },
}

impl TooLong {
    /// Returns the reason behind `error`, if a message was too long.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the reason for a message that is longer than `limits` allow.
    pub(crate) fn message(limits: &ConnectionLimits) -> Self {
        Self::Message { most_bytes: limits.max_frame_bytes }
    }

    /// Returns the error 3001: the peer has answered, and the answer was refused unread.
    pub(crate) fn answer(self, names: SettingNames) -> Error {
        let message = format!("the answer was refused unread: {self}; {}", self.advice(names));
        Error::from_origin(Origin::Peer, code::RESOURCE_EXHAUSTED, message).with_source(self)
    }

    /// Returns the error -32600: the peer has sent a message that was refused unread. The data of the error name the
    /// setting.
    pub(crate) fn refusal(self, names: SettingNames) -> Error {
        let message = format!("the message was refused unread: {self}; {}", self.advice(names));
        let (bytes, setting, retryable) = match self {
            Self::Message { most_bytes } => (most_bytes, names.max_frame_bytes, false),
            Self::Memory { budget_bytes } => (budget_bytes, names.memory, true),
        };
        let mut data = ObjectWriter::new();
        data.value("max_bytes", &bytes);
        data.text("setting", setting);
        data.value("retryable", &retryable);
        Error::invalid_request(message).with_data(data.finish().to_raw())
    }

    fn advice(self, names: SettingNames) -> String {
        match self {
            Self::Message { .. } => {
                format!("send or ask for less at once, or have {} raised", names.max_frame_bytes)
            }
            Self::Memory { .. } => format!("try again in a moment, or have {} raised", names.memory),
        }
    }
}
