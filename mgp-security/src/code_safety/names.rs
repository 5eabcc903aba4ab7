//! Lists of names in text files beside the rules that use them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::data_file::{Section, sections};

/// The lists of a text file: under each `[heading]` the names of one list, one a line.
pub(super) struct Lists(HashMap<&'static str, NameLists, RandomState>);

#[derive(Default)]
struct NameLists {
    ordered: Vec<&'static str>,
    all: HashSet<&'static str, RandomState>,
}

impl Lists {
    pub(super) fn read(file: &'static str) -> Self {
        let mut lists: HashMap<_, NameLists, RandomState> = HashMap::default();
        for Section { heading, entries } in sections(file) {
            let list = lists.entry(heading).or_default();
            list.ordered.extend(entries.iter().map(|entry| entry.line));
            list.all.extend(entries.iter().map(|entry| entry.line));
        }
        Self(lists)
    }

    pub(super) fn has(&self, list: &str, name: &str) -> bool {
        self.list(list).all.contains(name)
    }

    /// Returns the names of a list in the order in which they stand in the file.
    pub(super) fn names(&self, list: &str) -> &[&'static str] {
        &self.list(list).ordered
    }

    fn list(&self, name: &str) -> &NameLists {
        self.0.get(name).unwrap_or_else(|| panic!("there is no list [{name}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_names_of_its_section_in_their_order() {
        let lists = Lists::read("# About.\n[first]\nb\na b\n\n[second]\n# Why.\nc\n#d\n");
        assert_eq!(lists.names("second"), ["c", "#d"]);
        assert!(lists.has("second", "c") && !lists.has("second", "b") && !lists.has("second", "[first]"));
    }
}
