//! The data that the kernel holds, each copy for one reader.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_types::mgp::{Recovery, ServerId, Timestamp};
use mgp_types::{Error, Principal, code};
use parking_lot::Mutex;

/// The copies that are held, by the ids under which they are served.
#[derive(Default)]
pub(super) struct DataGrants(Mutex<HashMap<Box<str>, DataGrant, RandomState>>);

/// A copy of data for one server.
#[derive(Debug, Clone)]
pub(super) struct DataGrant {
    /// The id of the reference, as the agent knows it.
    pub(super) ref_id: Box<str>,
    pub(super) origin: ServerId,
    /// The agent that handed the reference on.
    pub(super) agent: Principal,
    /// The only server that may read the copy.
    pub(super) audience: ServerId,
    pub(super) size: u64,
    pub(super) ends_at: Timestamp,
    /// The bytes that were sent so far, those that were sent twice included.
    pub(super) sent: u64,
}

impl DataGrants {
    pub(super) fn put(&self, held: Box<str>, grant: DataGrant) {
        self.0.lock().insert(held, grant);
    }

    pub(super) fn get(&self, held: &str) -> Option<DataGrant> {
        self.0.lock().get(held).cloned()
    }

    pub(super) fn remove(&self, held: &str) {
        self.0.lock().remove(held);
    }

    /// Returns the id of the copy that `audience` may read of a reference.
    pub(super) fn of(&self, ref_id: &str, origin: &str, audience: &ServerId) -> Option<Box<str>> {
        let all = self.0.lock();
        let is_it = |grant: &DataGrant| {
            *grant.ref_id == *ref_id && grant.origin.as_str() == origin && grant.audience == *audience
        };
        all.iter().find(|(_, grant)| is_it(grant)).map(|(held, _)| held.clone())
    }

    /// Sets the moment at which a copy ends.
    pub(super) fn prolong(&self, held: &str, ends_at: Timestamp) {
        if let Some(grant) = self.0.lock().get_mut(held) {
            grant.ends_at = ends_at;
        }
    }

    /// Adds to what was sent of a copy, and returns whether that is all of it.
    pub(super) fn note_sent(&self, held: &str, bytes: u64) -> bool {
        let mut all = self.0.lock();
        let Some(grant) = all.get_mut(held) else { return false };
        grant.sent = grant.sent.saturating_add(bytes);
        grant.sent >= grant.size
    }

    /// Forgets what has ended, and checks that there is room for so many bytes more.
    pub(super) fn make_room(&self, bytes: u64, now: Timestamp) -> Result<(), Error> {
        let mut all = self.0.lock();
        all.retain(|_, grant| now < grant.ends_at);
        let held = all.values().fold(bytes, |sum, grant| sum.saturating_add(grant.size));
        if all.len() < MAX_GRANTS && held <= MAX_HELD_BYTES {
            return Ok(());
        }
        let message = "too much data is on its way between servers; try again in some minutes";
        let recovery = Recovery::for_code(code::RESOURCE_EXHAUSTED).unwrap_or_default();
        Err(Error::new(code::RESOURCE_EXHAUSTED, message).with_recovery(recovery))
    }
}

/// The largest number of copies that are held.
const MAX_GRANTS: usize = 512;
/// The largest number of bytes that are held, on disk.
const MAX_HELD_BYTES: u64 = 4 << 30;
