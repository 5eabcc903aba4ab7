//! The kinds of data that tools take and return. The words for them are data, `kinds.txt`.

use std::sync::LazyLock;

use crate::text::lower_words;

/// A kind of data that a tool takes or returns: the number of its line in the data.
///
/// Only kinds that exclude one another are told apart: a word with two meanings has none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DataKind(usize);

/// The words for each kind, and the names of further kinds, each of which may be given for the other.
static KINDS: LazyLock<Vec<[Vec<&str>; 2]>> = LazyLock::new(|| {
    let lines = include_str!("kinds.txt").lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once(" | ").unwrap_or((line, "")));
    parts.map(|(words, alike)| [words, alike].map(|part| part.split(' ').collect())).collect()
});

impl DataKind {
    /// The kind of numbers.
    pub(super) const NUMBER: Self = Self(7);

    /// Returns the kind that a word names, in lower case.
    pub(super) fn named(word: &str) -> Option<Self> {
        let kind = |word| KINDS.iter().position(|[words, _]| words.contains(&word)).map(Self);
        kind(word).or_else(|| kind(word.strip_suffix('s')?))
    }

    /// Returns the kinds that a text names.
    pub(super) fn all_in(text: &str) -> Vec<Self> {
        let mut kinds: Vec<_> = lower_words(text).filter_map(|word| Self::named(&word)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns whether data of this kind may be given where `wanted` is wanted. Doubts count as yes.
    pub(super) fn may_stand_for(self, wanted: Self) -> bool {
        let stands = |one: Self, other: Self| KINDS[one.0][1].contains(&other.name());
        self == wanted || stands(self, wanted) || stands(wanted, self)
    }

    /// Returns the word for the kind in answers.
    pub(super) fn name(self) -> &'static str {
        KINDS[self.0][0][0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> DataKind {
        let kind = DataKind::named(name).unwrap();
        assert_eq!(kind.name(), name);
        kind
    }

    #[test]
    fn kinds_are_found_by_many_names() {
        assert_eq!(DataKind::all_in("tabular_data"), [kind("csv")]);
        assert_eq!(DataKind::all_in("A PNG or JPEGs; see imagePath"), [kind("image")]);
        assert_eq!(DataKind::all_in("csvFile of numbers"), [kind("csv"), kind("numeric")]);
        assert!(DataKind::all_in("file, graph, code 画像").is_empty());
        assert_eq!(DataKind::NUMBER, kind("numeric"));
    }

    #[test]
    fn what_holds_the_other_may_stand_for_it() {
        for (one, other, may) in [
            ("text", "csv", true),
            ("json", "numeric", true),
            ("pdf", "docx", true),
            ("image", "csv", false),
            ("text", "audio", false),
        ] {
            assert_eq!(kind(one).may_stand_for(kind(other)), may, "{one} {other}");
            assert_eq!(kind(other).may_stand_for(kind(one)), may, "{other} {one}");
        }
        // Each other kind that a line names is one.
        for alike in KINDS.iter().flat_map(|[_, alike]| alike).filter(|alike| !alike.is_empty()) {
            kind(alike);
        }
    }
}
