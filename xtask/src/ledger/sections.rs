//! Sections of the specification, and choices of them on the command line.

use anyhow::{Context, Result, ensure};

/// Returns the id without its number: `MGP-2.2-04` stands in `MGP-2.2`.
pub(super) fn section(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(section, _)| section)
}

/// A run of digits counts as a number, so that §2 comes before §14.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part<'a> {
    Number(u32),
    Word(&'a str),
}

/// Splits an id at its dots and hyphens.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    text.split(['-', '.']).map(|p| p.parse().map_or(Part::Word(p), Part::Number)).collect()
}

/// A choice of rows: everything below a heading, or a range of headings.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    pub(super) text: &'a str,
    first: Vec<Part<'a>>,
    last: Vec<Part<'a>>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        let trimmed = text.strip_suffix(['*']).unwrap_or(text).trim_end_matches(['.', '-']);
        let Some((first, last)) = trimmed.split_once("..") else {
            return Ok(Self { text, first: parts(trimmed), last: parts(trimmed) });
        };
        let (family, _) =
            first.split_once('-').with_context(|| format!("`{text}` is not a range of sections"))?;
        let first = parts(first);
        let last = [parts(family), parts(last.strip_prefix(family).unwrap_or(last).trim_start_matches('-'))]
            .concat();
        ensure!(first.len() == last.len() && first <= last, "`{text}` is not a range such as MGP-14.2..14.5");
        Ok(Self { text, first, last })
    }

    pub(super) fn holds(&self, id: &str) -> bool {
        let mut head = parts(id);
        head.truncate(self.first.len());
        self.first <= head && head <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(selection: &str, id: &str) -> bool {
        Selection::new(selection).unwrap().holds(id)
    }

    #[test]
    fn a_heading_selects_what_is_below_it() {
        for selection in ["MGP-2", "MGP-2.*", "MGP-2.2", "MGP-2.2-*", "MGP-*"] {
            assert!(selected(selection, "MGP-2.2-04"), "{selection}");
        }
        assert!(!selected("MGP-1.*", "MGP-14.2-01"));
        assert!(!selected("MGP-2.2", "MGP-2.3-01"));
        assert!(selected("BASE-*", "BASE-30"));
        assert!(selected("BASE", "BASE-30"));
    }

    #[test]
    fn a_range_of_headings_includes_both_ends() {
        assert!(selected("MGP-14.2..14.5", "MGP-14.2-01"));
        assert!(selected("MGP-14.2..14.5", "MGP-14.5-15"));
        assert!(!selected("MGP-14.2..14.5", "MGP-14.6-01"));
        assert!(!selected("MGP-14.2..14.5", "MGP-14.1-01"));
        assert!(selected("MGP-14.2..MGP-14.5", "MGP-14.3-19"));
        assert!(Selection::new("MGP-14.5..14.2").is_err());
    }

    #[test]
    fn sections_sort_by_number() {
        assert!(parts("MGP-2.4") < parts("MGP-14.1"));
    }
}
