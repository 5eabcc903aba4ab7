use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::digest_in_name;

use super::name::Names;

/// Finds which of a list is meant by a name.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    names: HashMap<Arc<str>, Meant, RandomState>,
    /// For names that were made to fit: how long they are depends on the client, how they end does not.
    digests: HashMap<Box<str>, u32, RandomState>,
}

#[derive(Debug, Clone, Copy)]
enum Meant {
    Shown(u32),
    Only(u32),
    Several,
}

/// What has names.
pub(super) trait Named {
    fn names(&self) -> &Names;
}

impl Lookup {
    /// Of two that are shown by one name, the first has it.
    pub(super) fn of<N: Named>(listed: &[Arc<N>]) -> Self {
        let mut names = HashMap::with_capacity_and_hasher(listed.len() * 5, RandomState::default());
        let mut digests = HashMap::with_capacity_and_hasher(listed.len(), RandomState::default());
        for (place, entry) in (0..).zip(listed) {
            let entry = entry.names();
            for shown in [entry.dots(), entry.underscores()] {
                names.entry(Arc::clone(shown)).or_insert(Meant::Shown(place));
            }
            digests.entry(entry.digest().into()).or_insert(place);
        }
        for (place, entry) in (0..).zip(listed) {
            for form in entry.names().others() {
                match names.entry(Arc::clone(form)) {
                    Entry::Vacant(vacant) => drop(vacant.insert(Meant::Only(place))),
                    Entry::Occupied(mut taken) => match *taken.get() {
                        Meant::Only(other) if other != place => drop(taken.insert(Meant::Several)),
                        Meant::Only(_) | Meant::Shown(_) | Meant::Several => {}
                    },
                }
            }
        }
        Self { names, digests }
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        match self.names.get(name) {
            Some(Meant::Shown(place) | Meant::Only(place)) => Some(*place as usize),
            Some(Meant::Several) => None,
            None => self.digests.get(digest_in_name(name)?).map(|place| *place as usize),
        }
    }
}
