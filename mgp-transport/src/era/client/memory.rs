//! The memory of the eras in which servers live.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Remembers the era of each server, so that each is asked only once. Clones share the memory.
///
/// The memory is bounded: with too many servers, the one that was learned first is forgotten.
#[derive(Debug, Clone, Default)]
pub struct EraMemory(Arc<Mutex<Servers>>);

/// The servers by name, the one learned first in front.
type Servers = VecDeque<(Box<str>, Era)>;

/// The eras of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Era {
    /// Sessions, until 2025-11-25.
    Session,
    /// Requests that stand alone, from 2026-07-28.
    Stateless,
}

const MAX_SERVERS: usize = 256;

impl EraMemory {
    /// Creates a memory without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the era of the server called `key`.
    pub fn recall(&self, key: &str) -> Option<Era> {
        self.0.lock().iter().find(|(known, _)| &**known == key).map(|(_, era)| *era)
    }

    /// Remembers the era of the server called `key`.
    pub fn remember(&self, key: &str, era: Era) {
        let mut known = self.0.lock();
        if let Some(entry) = known.iter_mut().find(|(name, _)| &**name == key) {
            entry.1 = era;
            return;
        }
        if known.len() == MAX_SERVERS {
            known.pop_front();
        }
        known.push_back((key.into(), era));
    }

    /// Forgets the server called `key`.
    pub fn forget(&self, key: &str) {
        self.0.lock().retain(|(known, _)| &**known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_bounded() {
        let memory = EraMemory::new();
        for server in 0..=MAX_SERVERS {
            memory.remember(&server.to_string(), Era::Session);
        }
        assert_eq!(memory.recall("0"), None);
        assert_eq!(memory.recall("1"), Some(Era::Session));
        memory.remember("1", Era::Stateless);
        assert_eq!(memory.recall("1"), Some(Era::Stateless));
        memory.forget("1");
        assert_eq!(memory.recall("1"), None);
    }
}
