//! The data that the kernel holds, each copy for one reader.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use mgp_types::ext::{DataReference, ImportData};
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

/// The references that the kernel took over, in the order in which they came. Of each agent the 256 latest are known.
#[derive(Default)]
pub(super) struct TakenReferences(Mutex<VecDeque<(Box<str>, TakenReference)>>);

/// A reference that a server gave to an agent.
#[derive(Debug, Clone)]
pub(super) struct TakenReference {
    pub(super) origin: ServerId,
    pub(super) agent: Principal,
    /// The reference as its server wrote it, with the address that nobody else sees.
    pub(super) reference: DataReference,
    pub(super) ends_at: Timestamp,
}

impl TakenReferences {
    pub(super) fn put(&self, ref_id: Box<str>, taken: TakenReference, now: Timestamp) {
        let mut all = self.0.lock();
        all.retain(|(_, known)| now < known.ends_at);
        let own = |known: &TakenReference| known.agent == taken.agent;
        if all.iter().filter(|(_, known)| own(known)).count() >= MAX_OF_AGENT {
            all.iter().position(|(_, known)| own(known)).and_then(|oldest| all.remove(oldest));
        }
        if all.len() >= MAX_REFERENCES {
            all.pop_front();
        }
        all.push_back((ref_id, taken));
    }

    /// Returns a reference, if it was given to this agent by the server that is named.
    pub(super) fn find(&self, named: &ImportData, by: &Principal, now: Timestamp) -> Option<TakenReference> {
        let all = self.0.lock();
        let (_, taken) = all.iter().find(|(ref_id, _)| *ref_id == named.ref_id)?;
        let is_it = taken.agent == *by && taken.origin.as_str() == &*named.origin_server;
        (is_it && now < taken.ends_at).then(|| taken.clone())
    }
}

/// The references of one agent that are known.
const MAX_OF_AGENT: usize = 256;
/// The references of all agents that are known.
const MAX_REFERENCES: usize = 4096;

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

    fn taken(agent: &str) -> TakenReference {
        TakenReference {
            origin: "shop".into(),
            agent: Principal::new(agent),
            reference: DataReference::new("theirs", "shop", "text/csv"),
            ends_at: Timestamp::EPOCH.saturating_add(Duration::from_mins(5)),
        }
    }

    fn finds(all: &TakenReferences, agent: &str, ref_id: &str, origin: &str, now: Timestamp) -> bool {
        all.find(&ImportData::new(ref_id, origin), &Principal::new(agent), now).is_some()
    }

    #[test]
    fn a_reference_is_for_its_agent_by_the_server_that_gave_it_and_for_its_time() {
        let (all, now) = (TakenReferences::default(), Timestamp::EPOCH);
        all.put("one".into(), taken("ada"), now);
        assert!(finds(&all, "ada", "one", "shop", now));
        assert!(!finds(&all, "bob", "one", "shop", now));
        assert!(!finds(&all, "ada", "one", "mail", now));
        assert!(!finds(&all, "ada", "theirs", "shop", now));
        assert!(!finds(&all, "ada", "one", "shop", now.saturating_add(Duration::from_mins(5))));
    }

    #[test]
    fn one_agent_loses_its_own_oldest_references_and_no_others() {
        let (all, now) = (TakenReferences::default(), Timestamp::EPOCH);
        all.put("his".into(), taken("bob"), now);
        for number in 0..=MAX_OF_AGENT {
            all.put(number.to_string().into(), taken("ada"), now);
        }
        let has = |ref_id: &str| finds(&all, "ada", ref_id, "shop", now);
        assert_eq!([has("0"), has("1"), has("256")], [false, true, true]);
        assert!(finds(&all, "bob", "his", "shop", now));
    }
}
