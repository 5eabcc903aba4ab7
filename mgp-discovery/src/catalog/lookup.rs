//! Look-ups of tools and prompts by name.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::digest_in_name;

use super::name::CatalogNames;
use crate::nearest::{distance, letters};

/// Finds the item of a list that a name stands for.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    /// The items by their names; `None` by a name that several have, and that none is shown by.
    names: HashMap<Arc<str>, Option<u32>, RandomState>,
    /// The items by their digest, for names that were shortened: their length depends on the client, their end does
    /// not.
    digests: HashMap<Box<str>, u32, RandomState>,
}

impl Lookup {
    /// Creates the look-up. Of two items that are shown by one name, the first has that name.
    pub(super) fn of<N>(listed: &[Arc<N>], of: impl Fn(&N) -> &CatalogNames) -> Self {
        let map = |names| HashMap::with_capacity_and_hasher(listed.len() * names, RandomState::default());
        let (mut names, mut shown) = (map(5), map(2));
        let mut digests = HashMap::with_capacity_and_hasher(listed.len(), RandomState::default());
        for (place, entry) in (0..).zip(listed) {
            let entry = of(entry);
            for name in [&entry.dots, &entry.underscores] {
                shown.entry(Arc::clone(name)).or_insert(Some(place));
            }
            for form in &entry.others {
                let only = names.entry(Arc::clone(form)).or_insert(Some(place));
                *only = only.filter(|other| *other == place);
            }
            digests.entry(entry.digest.clone()).or_insert(place);
        }
        names.extend(shown);
        Self { names, digests }
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let place = match self.names.get(name) {
            Some(place) => *place,
            None => self.digests.get(digest_in_name(name)?).copied(),
        };
        place.map(|place| place as usize)
    }
}

/// The number of names that are suggested.
const MAX_NEAREST: usize = 3;

/// Returns the names that are spelled nearly like `name`, the nearest first; no more than [`MAX_NEAREST`].
pub(super) fn near<'a, T>(
    name: &str,
    known: impl Iterator<Item = (&'a str, &'a str, T)>,
    may_see: impl Fn(T) -> bool,
) -> Vec<&'a str> {
    let wanted = letters(name);
    let most = (wanted.len() / 3).clamp(1, 8);
    let near = |(shown, bare, entry): (&'a str, &'a str, T)| {
        let distance = distance(&wanted, &letters(shown), most).min(distance(&wanted, &letters(bare), most));
        (distance <= most && may_see(entry)).then_some((distance, shown))
    };
    let mut nearest: Vec<(usize, &str)> = known.filter_map(near).collect();
    nearest.sort_unstable();
    nearest.into_iter().take(MAX_NEAREST).map(|(_, shown)| shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Vec<&'static str> {
        let known = [("files.read_file", "read_file"), ("files.read_dir", "read_dir"), ("clock.now", "now")];
        near(name, known.into_iter().map(|(shown, bare)| (shown, bare, shown)), |shown| shown != "clock.now")
    }

    #[test]
    fn slips_are_found_and_the_nearest_comes_first() {
        assert_eq!(found("file.read_file")[0], "files.read_file");
        assert_eq!(found("Read-File")[0], "files.read_file");
        assert_eq!(found("read_di")[0], "files.read_dir");
        assert!(found("send_mail").is_empty() && found("").is_empty());
    }

    #[test]
    fn what_may_not_be_seen_is_not_told() {
        assert!(found("clock.no").is_empty());
    }

    #[test]
    fn names_of_any_length_are_compared() {
        assert!(found(&"x".repeat(100_000)).is_empty());
    }
}
