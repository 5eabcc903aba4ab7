//! The memory budget for long messages, which connections share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;

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
