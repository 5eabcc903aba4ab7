//! Texts that a regular expression matches.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

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
}
