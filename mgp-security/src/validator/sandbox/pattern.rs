//! The compilation of regular expressions that are written in the source code.

use regex::{Regex, RegexSet};

/// Compiles a pattern that is part of the program.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant, and the tests compile all of them")
}

/// Compiles patterns that are part of the program.
pub(super) fn patterns<'a>(texts: impl IntoIterator<Item = &'a str>) -> RegexSet {
    RegexSet::new(texts).expect("the patterns are constants, and the tests compile all of them")
}
