//! Regular expressions, read for what they say: texts that match, and words about the texts that do.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Returns texts that the pattern may match, the shortest first; none for a pattern that cannot be read.
pub(super) fn samples(pattern: &str) -> Vec<String> {
    let Some(hir) = parse(pattern) else { return Vec::new() };
    let mut samples = Vec::new();
    for more in 0..MAX_MORE {
        for choice in 0..CHOICES {
            let mut text = String::new();
            append(&hir, more, choice, &mut text);
            if text.len() <= MAX_SAMPLE_BYTES && !samples.contains(&text) {
                samples.push(text);
            }
        }
    }
    samples
}

/// Returns what helps to match the pattern, as far as it can be said in a few words.
pub(super) fn suggestions(pattern: &str) -> Vec<String> {
    let Some(hir) = parse(pattern) else { return Vec::new() };
    let properties = hir.properties();
    let is_whole = properties.look_set_prefix().contains(Look::Start)
        && properties.look_set_suffix().contains(Look::End);
    let mut letters = Letters::default();
    if !is_whole || !letters.add(&hir) {
        return Vec::new();
    }
    // Each character is one byte, because `add` takes no others.
    let length = length(properties.minimum_len(), properties.maximum_len());
    letters.name().map(|name| format!("Use {name} only")).into_iter().chain(length).collect()
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

fn parse(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern).ok()
}

/// Appends a text that matches: with `more` repetitions than needed, and the alternative numbered `choice`.
fn append(hir: &Hir, more: u32, choice: usize, text: &mut String) {
    if text.len() > MAX_SAMPLE_BYTES {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(pick(class, choice)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.saturating_add(more).min(most) {
                append(&repetition.sub, more, choice, text);
                if text.len() > MAX_SAMPLE_BYTES {
                    return;
                }
            }
        }
        HirKind::Capture(capture) => append(&capture.sub, more, choice, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| append(part, more, choice, text)),
        HirKind::Alternation(parts) => append(&parts[choice % parts.len()], more, choice, text),
    }
}

/// Returns a character of the class: a letter or a digit where the class has one.
fn pick(class: &Class, choice: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let has = |character: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&character));
    let plain: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').filter(has).collect();
    match plain.len() {
        0 => ranges.first().map(|(first, _)| *first),
        number => plain.get(choice % number).copied(),
    }
}

/// The kinds of characters that a pattern is made of.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each kind is there or not")]
struct Letters {
    upper: bool,
    lower: bool,
    digits: bool,
    others: bool,
}

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
            match byte {
                b'A'..=b'Z' => self.upper = true,
                b'a'..=b'z' => self.lower = true,
                b'0'..=b'9' => self.digits = true,
                _ => self.others = true,
            }
        }
        last.is_ascii()
    }

    const fn name(&self) -> Option<&'static str> {
        match (self.others, self.upper, self.lower, self.digits) {
            (false, true, false, false) => Some("uppercase letters"),
            (false, false, true, false) => Some("lowercase letters"),
            (false, true, true, false) => Some("letters"),
            (false, false, false, true) => Some("digits"),
            (false, true, false, true) => Some("uppercase letters and digits"),
            (false, false, true, true) => Some("lowercase letters and digits"),
            (false, true, true, true) => Some("letters and digits"),
            _ => None,
        }
    }
}

/// The largest depth of groups within groups.
const MAX_NESTING: u32 = 64;

/// The largest length of a sample, in bytes.
const MAX_SAMPLE_BYTES: usize = 256;

/// The number of repetitions, beyond those that a pattern needs, that samples are made with.
const MAX_MORE: u32 = 16;

/// The number of alternatives that are tried.
const CHOICES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_in_several_lengths() {
        let tickers = samples("^[A-Z]{1,5}$");
        assert!(
            ["A", "B", "AAAAA"].iter().all(|sample| tickers.iter().any(|ticker| ticker == sample)),
            "{tickers:?}"
        );
        assert_eq!(samples("^(yes|no)$"), ["yes", "no"]);
        assert_eq!(samples("^a-[0-9]{2}$")[..2], ["a-00", "a-11"]);
        assert!(samples("^a{200}b{200}$").is_empty(), "too long");
        assert!(samples("(?=a)").is_empty() && samples("(").is_empty(), "unreadable");
    }

    #[test]
    fn what_a_pattern_says_is_put_into_words() {
        for (pattern, words) in [
            ("^[A-Z]{1,5}$", &["Use uppercase letters only", "Length must be 1-5 characters"][..]),
            ("^[0-9]{4}$", &["Use digits only", "Length must be 4 characters"]),
            (
                "^[a-z0-9]+$",
                &["Use lowercase letters and digits only", "Length must be at least 1 characters"],
            ),
            ("^[A-Z]{2}-[0-9]{4}$", &["Length must be 7 characters"]),
            ("^[a-zA-Z]{0,3}$", &["Use letters only", "Length must be at most 3 characters"]),
            ("[A-Z]", &[]),
            ("^[äöü]+$", &[]),
            ("^.*$", &[]),
        ] {
            assert_eq!(suggestions(pattern), words, "{pattern}");
        }
    }
}
