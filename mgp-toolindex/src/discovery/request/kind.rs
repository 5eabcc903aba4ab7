//! The kinds of data that tools take and return. The words for them are data, `kinds.txt`.

use std::fmt;
use std::sync::LazyLock;

use crate::text::lower_words;

/// A kind of data that a tool takes or returns.
///
/// Only kinds that exclude one another are told apart: a word with two meanings has none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum DataKind {
    Text,
    Json,
    Xml,
    Yaml,
    Html,
    Markdown,
    Table,
    Number,
    Pdf,
    Document,
    Image,
    Chart,
    Audio,
    Video,
    Archive,
}

/// The words for each kind, in the order of [`DataKind::ALL`]; the first is used in answers.
static NAMES: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("kinds.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect()).collect()
});

impl DataKind {
    const ALL: [Self; 15] = [
        Self::Text,
        Self::Json,
        Self::Xml,
        Self::Yaml,
        Self::Html,
        Self::Markdown,
        Self::Table,
        Self::Number,
        Self::Pdf,
        Self::Document,
        Self::Image,
        Self::Chart,
        Self::Audio,
        Self::Video,
        Self::Archive,
    ];

    /// Returns the kind that a word names, in lower case.
    pub(super) fn named(word: &str) -> Option<Self> {
        let kind = |word| NAMES.iter().position(|names| names.contains(&word)).map(|at| Self::ALL[at]);
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
        let both = |one, other| (self, wanted) == (one, other) || (self, wanted) == (other, one);
        self == wanted
            || (self == Self::Text && wanted.is_written())
            || (wanted == Self::Text && self.is_written())
            || both(Self::Json, Self::Table)
            || both(Self::Json, Self::Number)
            || both(Self::Table, Self::Number)
            || both(Self::Image, Self::Chart)
            || both(Self::Document, Self::Pdf)
            || both(Self::Document, Self::Html)
            || both(Self::Document, Self::Markdown)
    }

    const fn is_written(self) -> bool {
        !matches!(self, Self::Pdf | Self::Image | Self::Chart | Self::Audio | Self::Video | Self::Archive)
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[*self as usize][0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_many_names() {
        assert_eq!(DataKind::all_in("tabular_data"), [DataKind::Table]);
        assert_eq!(DataKind::all_in("A PNG or JPEGs; see imagePath"), [DataKind::Image]);
        assert_eq!(DataKind::all_in("csvFile of numbers"), [DataKind::Table, DataKind::Number]);
        assert!(DataKind::all_in("file, graph, code 画像").is_empty());
        assert_eq!(DataKind::Table.to_string(), "csv");
    }

    #[test]
    fn what_holds_the_other_may_stand_for_it() {
        assert!(
            DataKind::Text.may_stand_for(DataKind::Table) && DataKind::Json.may_stand_for(DataKind::Number)
        );
        assert!(
            !DataKind::Image.may_stand_for(DataKind::Table) && !DataKind::Text.may_stand_for(DataKind::Audio)
        );
    }
}
