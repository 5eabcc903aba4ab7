//! The references that servers gave, each for the agent whose call it came from.

use std::collections::VecDeque;

use mgp_types::Principal;
use mgp_types::ext::{DataReference, ImportData};
use mgp_types::mgp::{ServerId, Timestamp};
use parking_lot::Mutex;

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
