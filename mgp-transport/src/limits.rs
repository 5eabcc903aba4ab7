//! The limits of one connection, the memory budget that connections share, and errors about messages that were too long.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use mgp_types::json::ObjectWriter;
use mgp_types::{Error, Origin, code};

mgp_types::with_defaults! {
    /// The limits of one connection, which hold whatever its peer does.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ConnectionLimits {
        /// The greatest length of a frame in bytes. A longer frame is skipped to its end, and only its call gets an error.
        /// Default: 64 MiB.
        pub max_frame_bytes: usize = 64 << 20,
        /// The number of bytes of a frame that are skipped at most. A longer frame has no end, and ends the connection.
        /// Default: 1 GiB.
        pub max_skipped_bytes: usize = 1 << 30,
        /// The memory that long frames may take, of all connections that share it. A frame without memory is skipped like
        /// one that is too long. Default: the 512 MiB that all connections of the process share.
        pub memory: MemoryBudget = MemoryBudget::default(),
        /// The names by which errors call these two settings.
        pub setting_names: SettingNames = SettingNames::default(),
        /// The number of the peer's requests that may be in work at once; further ones are refused. Default: 1024.
        pub max_in_flight: usize = 1024,
        /// The number of messages that may wait to be written, at least one; senders wait for room. Default: 256.
        pub max_queued: usize = 256,
        /// The number of bytes that may wait to be written before reading stops, at least one. Default: 1 MiB.
        pub max_unwritten_bytes: usize = 1 << 20,
        /// The number of messages about a call of ours that may wait for the caller before reading stops. It exceeds the
        /// messages that a peer has on their way when it learns of the pace. Default: 16384.
        pub max_undelivered: usize = 16 << 10,
        /// The number of bytes that such messages may take while they wait. Default: 2 MiB.
        pub max_undelivered_bytes: usize = 2 << 20,
        /// The time for which one slow caller may keep the connection from reading because it does not take the peer's
        /// messages about its call; then the call fails with 3001. All callers together have twice as long. Spent time
        /// comes back: a tenth of the time in which the connection reads. Default: 5 s.
        pub delivery_timeout: Duration = Duration::from_secs(5),
        /// The time for which the peer may read none of the waiting bytes before the connection ends. Default: 60 s.
        pub write_timeout: Duration = Duration::from_mins(1),
        /// The time for which requests in work may go on when the peer sends no more. Default: 1 s.
        pub drain_timeout: Duration = Duration::from_secs(1),
    }
}

mgp_types::with_defaults! {
    /// The names of the settings for long messages, where the reader of an error can change them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(clippy::exhaustive_structs, reason = "the names of two settings")]
    pub struct SettingNames {
        /// The name of [`max_frame_bytes`](ConnectionLimits::max_frame_bytes).
        pub max_frame_bytes: &'static str = "ConnectionLimits::max_frame_bytes",
        /// The name of [`memory`](ConnectionLimits::memory).
        pub memory: &'static str = "ConnectionLimits::memory",
    }
}

impl ConnectionLimits {
    /// Takes the memory that a message of this length needs.
    pub(crate) fn admit(&self, share: &mut BudgetShare, length: usize) -> Result<(), TooLong> {
        if length > self.max_frame_bytes {
            return Err(TooLong::message(self));
        }
        let enough = share.grow_to(length).then_some(());
        enough.ok_or_else(|| TooLong::Memory { budget_bytes: self.memory.bytes() })
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

/// The memory that long messages may take, of all connections that share it. Clones are the same budget.
///
/// A message counts while it is read and as long as any reference to its bytes exists. No connection waits for memory,
/// so that half of many messages never waits for the other half: a message without memory is refused. Messages of up to
/// 64 KiB do not count.
#[derive(Clone)]
pub struct MemoryBudget(Arc<BudgetPool>);

struct BudgetPool {
    bytes: usize,
    taken: AtomicUsize,
}

impl MemoryBudget {
    /// Creates a budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(BudgetPool { bytes, taken: AtomicUsize::new(0) }))
    }

    /// Returns how many bytes all long messages may take together.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Returns how many bytes long messages take now.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Creates the share of a message of which no byte was read.
    pub(crate) fn share(&self) -> BudgetShare {
        BudgetShare { pool: Arc::clone(&self.0), bytes: 0 }
    }
}

impl Default for MemoryBudget {
    /// Returns the default budget of all connections of a process: 512 MiB.
    fn default() -> Self {
        static OF_PROCESS: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new(512 << 20));
        OF_PROCESS.clone()
    }
}

mgp_types::partial_debug!(MemoryBudget, self => bytes: self.bytes(), taken: self.taken());

/// The memory that one message takes of a budget. Dropping it gives the memory back.
pub(crate) struct BudgetShare {
    pool: Arc<BudgetPool>,
    bytes: usize,
}

/// The greatest length of a message that does not count, in bytes: about as much as one read returns.
const UNCOUNTED_BYTES: usize = 64 << 10;

impl BudgetShare {
    /// Takes the memory that a message of this length needs; returns whether there was enough.
    #[must_use]
    pub(crate) fn grow_to(&mut self, length: usize) -> bool {
        let wanted = if length > UNCOUNTED_BYTES { length } else { 0 };
        let Some(more) = wanted.checked_sub(self.bytes).filter(|more| *more > 0) else { return true };
        let enough = |taken: usize| taken.checked_add(more).filter(|taken| *taken <= self.pool.bytes);
        let grown = self.pool.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enough).is_ok();
        if grown {
            self.bytes = wanted;
        }
        grown
    }

    /// Returns the message, which gives its share back when the last reference to its bytes is dropped.
    pub(crate) fn hold(self, message: Bytes) -> Bytes {
        if self.bytes == 0 { message } else { Bytes::from_owner(BudgetedMessage { message, _share: self }) }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.pool.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

mgp_types::partial_debug!(BudgetShare, self => bytes: self.bytes);

struct BudgetedMessage {
    message: Bytes,
    _share: BudgetShare,
}

impl AsRef<[u8]> for BudgetedMessage {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_given_back_with_the_last_part_of_its_message() {
        let budget = MemoryBudget::new(300_000);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.grow_to(100_000) && first.grow_to(200_000));
        assert!(!second.grow_to(150_000), "there is no room for both");
        assert_eq!(budget.taken(), 200_000);
        let message = first.hold(vec![b'x'; 200_000].into());
        let part = message.slice(5..10);
        drop(message);
        assert_eq!(budget.taken(), 200_000);
        drop(part);
        assert_eq!(budget.taken(), 0);
        assert!(second.grow_to(150_000));
    }

    #[test]
    fn short_messages_do_not_count() {
        let budget = MemoryBudget::new(0);
        assert!(budget.share().grow_to(60_000));
        assert!(!budget.share().grow_to(70_000));
        assert_eq!(budget.taken(), 0);
    }
}
