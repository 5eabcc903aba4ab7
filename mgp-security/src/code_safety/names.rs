//! The lists of names that code is judged by.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::data_file::{Section, sections};

/// The lists of `names.txt`, by their headings.
pub(super) static NAMES: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("names.txt")));

/// The lists of a text file: under each `[heading]` the names of one list, one a line.
pub(super) struct Lists(HashMap<&'static str, NameList, RandomState>);

#[derive(Default)]
struct NameList {
    ordered: Vec<&'static str>,
    all: HashSet<&'static str, RandomState>,
}

impl Lists {
    fn read(file: &'static str) -> Self {
        let mut lists: HashMap<_, NameList, RandomState> = HashMap::default();
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

    /// Returns the name of the list that stands for `name`, or for what it lies below; a plain name stands in a list with
    /// `(` behind it.
    pub(super) fn covering(&self, list: &str, name: &str) -> Option<&'static str> {
        let all = &self.list(list).all;
        let plain = || all.get(&*format!("{name}(")).copied();
        let ends = name.match_indices('.').skip(1).map(|(at, _)| at).chain([name.len()]);
        let mut dotted = ends.filter_map(|end| all.get(&name[..end]).copied());
        if name.contains('.') { dotted.next() } else { plain().or_else(|| all.get(name).copied()) }
    }

    /// Returns the names of a list in the order in which they stand in the file.
    pub(super) fn names(&self, list: &str) -> &[&'static str] {
        &self.list(list).ordered
    }

    fn list(&self, name: &str) -> &NameList {
        self.0.get(name).unwrap_or_else(|| panic!("there is no list [{name}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_covered_by_itself_and_by_what_it_lies_below() {
        let lists = Lists::read("[python standard]\neval(\nos.system\ntempfile\n");
        let covering = |name| lists.covering("python standard", name);
        assert_eq!(covering("eval"), Some("eval("));
        assert_eq!(covering("os.system"), Some("os.system"));
        assert_eq!(covering("os.system.x"), Some("os.system"));
        assert_eq!(covering("tempfile"), Some("tempfile"));
        for other in ["os", "system", "df.eval", "os.systems", ""] {
            assert_eq!(covering(other), None, "{other}");
        }
    }
}
