//! Words about the texts that a regular expression matches.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Returns what helps to match the pattern, as far as it can be said in a few words.
pub(super) fn suggestions(pattern: &str) -> Vec<String> {
    let Ok(hir) = ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern) else {
        return Vec::new();
    };
    let properties = hir.properties();
    let is_whole = properties.look_set_prefix().contains(Look::Start)
        && properties.look_set_suffix().contains(Look::End);
    let mut letters = Letters::default();
    if !is_whole || !letters.add(&hir) {
        return Vec::new();
    }
    // Each character is one byte, because `add` takes no others.
    let length = length(properties.minimum_len(), properties.maximum_len());
    let name = NAMES.get(letters.0).filter(|name| !name.is_empty());
    name.map(|name| format!("Use {name} only")).into_iter().chain(length).collect()
}

/// Returns a demand on the length of a text in words.
pub(super) fn length(least: Option<usize>, largest: Option<usize>) -> Option<String> {
    match (least.filter(|least| *least > 0), largest) {
        (Some(1), Some(1)) => Some("Length must be 1 character".into()),
        (Some(least), Some(largest)) if least == largest => {
            Some(format!("Length must be {least} characters"))
        }
        (Some(least), Some(largest)) => Some(format!("Length must be {least}-{largest} characters")),
        (Some(least), None) => Some(format!("Length must be at least {least} characters")),
        (None, Some(largest)) => Some(format!("Length must be at most {largest} characters")),
        (None, None) => None,
    }
}

/// The kinds of characters that a pattern is made of: capital letters (1), small letters (2), digits (4) and others (8).
#[derive(Default)]
struct Letters(usize);

/// The names of all sets of kinds without others.
const NAMES: [&str; 8] = [
    "", "uppercase letters", "lowercase letters", "letters", "digits", "uppercase letters and digits",
    "lowercase letters and digits", "letters and digits",
];

impl Letters {
    /// Adds the characters of a pattern; returns whether all of them are ASCII.
    fn add(&mut self, hir: &Hir) -> bool {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => true,
            HirKind::Literal(literal) => literal.0.iter().all(|byte| self.add_range(*byte, *byte)),
            HirKind::Class(Class::Unicode(class)) => class.ranges().iter().all(|range| {
                let ends = (u8::try_from(range.start()), u8::try_from(range.end()));
                matches!(ends, (Ok(first), Ok(last)) if self.add_range(first, last))
            }),
            HirKind::Class(Class::Bytes(class)) => {
                class.ranges().iter().all(|range| self.add_range(range.start(), range.end()))
            }
            HirKind::Repetition(repetition) => self.add(&repetition.sub),
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(|part| self.add(part)),
        }
    }

    fn add_range(&mut self, first: u8, last: u8) -> bool {
        for byte in first..=last {
            self.0 |= match byte {
                b'A'..=b'Z' => 1,
                b'a'..=b'z' => 2,
                b'0'..=b'9' => 4,
                _ => 8,
            };
        }
        last.is_ascii()
    }
}

/// The largest depth of groups within groups.
const MAX_NESTING: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::cases;

    #[test]
    fn what_a_pattern_says_is_put_into_words() {
        for (pattern, words) in cases(include_str!("patterns.txt")) {
            assert_eq!(suggestions(pattern).join("; "), words, "{pattern}");
        }
    }
}
