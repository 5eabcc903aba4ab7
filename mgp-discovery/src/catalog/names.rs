use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// Which of a list is meant by a name.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Arc<str>, Meant, RandomState>);

#[derive(Debug, Clone, Copy)]
enum Meant {
    Shown(u32),
    Only(u32),
    Several,
}

/// What has names.
pub(super) trait Named {
    /// The name that it is shown by.
    fn shown(&self) -> &Arc<str>;
    /// What it answers to beside, where nothing else does.
    fn other_forms(&self) -> &[Arc<str>];
}

impl Names {
    /// Of two that are shown by one name, the first has it.
    pub(super) fn of<N: Named>(listed: &[Arc<N>]) -> Self {
        let mut names = HashMap::with_capacity_and_hasher(listed.len() * 5, RandomState::default());
        for (place, entry) in (0..).zip(listed) {
            names.entry(entry.shown().clone()).or_insert(Meant::Shown(place));
        }
        for (place, entry) in (0..).zip(listed) {
            for form in entry.other_forms() {
                match names.entry(form.clone()) {
                    Entry::Vacant(vacant) => drop(vacant.insert(Meant::Only(place))),
                    Entry::Occupied(mut taken) => match *taken.get() {
                        Meant::Only(other) if other != place => drop(taken.insert(Meant::Several)),
                        Meant::Only(_) | Meant::Shown(_) | Meant::Several => {}
                    },
                }
            }
        }
        Self(names)
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        match self.0.get(name)? {
            Meant::Shown(place) | Meant::Only(place) => Some(*place as usize),
            Meant::Several => None,
        }
    }
}
