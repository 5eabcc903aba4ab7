//! The data that the kernel holds, each copy for one reader.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_types::mgp::{ServerId, Timestamp};
use mgp_types::{Error, Principal, code};
use parking_lot::Mutex;

use super::broker::error;

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
        Err(error(code::RESOURCE_EXHAUSTED, message))
    }
}

/// The largest number of copies that are held.
const MAX_GRANTS: usize = 512;
/// The largest number of bytes that are held, on disk.
const MAX_HELD_BYTES: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const END: Duration = Duration::from_mins(5);

    fn grant(audience: &str, size: u64) -> DataGrant {
        DataGrant {
            ref_id: "ref-1".into(),
            origin: "shop".into(),
            agent: Principal::new("ada"),
            audience: audience.into(),
            size,
            ends_at: Timestamp::EPOCH.saturating_add(END),
            sent: 0,
        }
    }

    #[test]
    fn a_copy_is_found_by_its_reader_alone() {
        let all = DataGrants::default();
        all.put("held-1".into(), grant("sheets", 10));
        let of = |origin: &str, audience: &str| all.of("ref-1", origin, &audience.into());
        assert_eq!(of("shop", "sheets").as_deref(), Some("held-1"));
        assert_eq!((of("shop", "mail"), of("mail", "sheets")), (None, None));
        assert_eq!([4, 5, 1].map(|bytes| all.note_sent("held-1", bytes)), [false, false, true]);
        all.remove("held-1");
        assert_eq!(of("shop", "sheets"), None);
        assert!(!all.note_sent("held-1", 10));
    }

    #[test]
    fn what_is_held_is_bounded_in_bytes_and_number_until_it_ends() {
        let (all, now) = (DataGrants::default(), Timestamp::EPOCH);
        all.put("held-1".into(), grant("sheets", MAX_HELD_BYTES - 10));
        assert!(all.make_room(10, now).is_ok());
        assert_eq!(all.make_room(11, now).unwrap_err().code(), code::RESOURCE_EXHAUSTED);
        assert!(all.make_room(11, now.saturating_add(END)).is_ok(), "it has ended");
        for number in 0..MAX_GRANTS {
            all.put(number.to_string().into(), grant("sheets", 1));
        }
        assert_eq!(all.make_room(1, now).unwrap_err().code(), code::RESOURCE_EXHAUSTED);
    }
}
