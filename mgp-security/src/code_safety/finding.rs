//! The violations that a check of code finds, with their places.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mgp_types::mgp::{CodeLocation, SafetyLevel};

use super::scan::Import;

/// The violations in one piece of code, each once and with its first place.
///
/// Rules say from which level on they apply, so that no rule has to ask for the level itself.
pub(super) struct Findings {
    pub(super) level: SafetyLevel,
    /// Each violation as it is reported, with its place unless it concerns the code as a whole.
    found: Vec<(Box<str>, Option<usize>)>,
    /// The imports, whether they are allowed or not.
    pub(super) imported: BTreeSet<Import>,
}

impl Findings {
    pub(super) fn new(level: SafetyLevel) -> Self {
        Self { level, found: Vec::new(), imported: BTreeSet::new() }
    }

    //= mgp §7.4
    //# "Blocked import: 'subprocess'", "Blocked pattern: 'eval('"
    /// Records a violation by an import at the byte `at`.
    pub(super) fn import(&mut self, module: &str, at: usize) {
        self.add(format!("Blocked import: '{}'", shorten(module)), Some(at));
    }

    /// Records a violation by a pattern at the byte `at`, if the level is at least `from`.
    pub(super) fn pattern(&mut self, from: SafetyLevel, pattern: &str, at: usize) {
        if self.level >= from {
            self.add(format!("Blocked pattern: '{}'", shorten(pattern)), Some(at));
        }
    }

    /// Records a violation that concerns the code as a whole.
    pub(super) fn whole(&mut self, sentence: impl Into<Box<str>>) {
        self.add(sentence, None);
    }

    pub(super) fn violations(&self) -> Vec<Box<str>> {
        self.found.iter().map(|(violation, _)| violation.clone()).collect()
    }

    /// Returns the places of the violations in `code`, in the order of the code.
    pub(super) fn locations(&self, code: &str) -> Vec<CodeLocation> {
        let mut places: Vec<_> =
            self.found.iter().filter_map(|(what, at)| Some((at.as_ref()?, what))).collect();
        places.sort_by_key(|(at, _)| **at);
        places
            .into_iter()
            .map(|(at, what)| {
                let before = &code[..code.floor_char_boundary(*at)];
                let line_start = before.rfind('\n').map_or(0, |end| end + 1);
                CodeLocation {
                    line: before.matches('\n').count() + 1,
                    column: before[line_start..].chars().count() + 1,
                    violation: what.clone(),
                }
            })
            .collect()
    }

    fn add(&mut self, violation: impl Into<Box<str>>, at: Option<usize>) {
        let violation = violation.into();
        if self.found.len() < MAX_VIOLATIONS && self.found.iter().all(|(known, _)| *known != violation) {
            self.found.push((violation, at));
        }
    }
}

/// Shortens a piece of code, which may be of any length, for the text of a rejection.
fn shorten(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}...", &text[..end]).into(),
    }
}

/// The largest number of violations that are recorded. An agent that has to correct so many sends the code again
/// anyway.
const MAX_VIOLATIONS: usize = 50;
/// The largest number of characters of a piece of code that a rejection repeats.
const MAX_CHARS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_reported_once_with_its_first_place() {
        let mut findings = Findings::new(SafetyLevel::Strict);
        findings.import("os", 4);
        findings.import("os", 0);
        findings.pattern(SafetyLevel::Readonly, "open(", 0);
        assert_eq!(findings.violations(), ["Blocked import: 'os'".into()]);
        assert_eq!(
            findings.locations("é\nimport os"),
            [CodeLocation { line: 2, column: 2, violation: "Blocked import: 'os'".into() }]
        );
    }

    #[test]
    fn a_long_piece_of_code_is_shortened() {
        let mut findings = Findings::new(SafetyLevel::Standard);
        findings.pattern(SafetyLevel::Standard, &"é".repeat(500), 0);
        assert!(findings.violations()[0].len() < 250);
    }
}
