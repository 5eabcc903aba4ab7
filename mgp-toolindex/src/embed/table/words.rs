//! The words of a text, for the table.

use crate::text::{self, Script, cut};

/// The kind of script of a run of letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Letters and digits for which the table has words: a to z, in either case, and 0 to 9.
    Latin,
    /// Letters of scripts that separate words by spaces.
    Alphabet,
    /// Letters that stand for syllables or words, without spaces between words.
    Dense,
}

/// The number of bytes of a text that are read.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Returns the beginning of a text in the spelling of the table.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::new();
    text::fold(cut(text, MAX_TEXT_BYTES), &mut folded);
    folded
}

/// Returns the runs of a folded text, in their order.
pub(super) fn runs(text: &str) -> impl Iterator<Item = (RunKind, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (from, kind) = rest.char_indices().find_map(|(at, letter)| Some((at, RunKind::of(letter)?)))?;
        let run = &rest[from..];
        let end = run.char_indices().find(|&(_, letter)| RunKind::of(letter) != Some(kind));
        let (run, after) = run.split_at(end.map_or(run.len(), |(at, _)| at));
        rest = after;
        Some((kind, run))
    })
}

/// Returns the parts of a run that is written in humps, such as `readFile` or `PDFReader`.
pub(in crate::embed) fn humps(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let end = (1..bytes.len()).find(|&at| starts_hump(bytes, at)).unwrap_or(bytes.len());
        let (hump, after) = rest.split_at(end);
        rest = after;
        Some(hump)
    })
}

/// Returns whether a new part starts at a capital: behind a small letter or digit, or before a small letter.
fn starts_hump(run: &[u8], at: usize) -> bool {
    run[at].is_ascii_uppercase()
        && (!run[at - 1].is_ascii_uppercase() || run.get(at + 1).is_some_and(u8::is_ascii_lowercase))
}

impl RunKind {
    fn of(letter: char) -> Option<Self> {
        match Script::of(letter) {
            Script::Gap | Script::Apostrophe => None,
            _ if letter.is_ascii() => Some(Self::Latin),
            script if script.is_dense() => Some(Self::Dense),
            _ => Some(Self::Alphabet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        runs(&fold(text)).map(|(kind, run)| format!("{kind:?}({run:?})")).collect()
    }

    #[test]
    fn letters_and_digits_are_words_and_nothing_else_is() {
        assert_eq!(split("read_file, v2!"), ["Latin(\"read\")", "Latin(\"file\")", "Latin(\"v2\")"]);
        assert_eq!(split(" \u{0}\u{fffd}\n--"), Vec::<String>::new());
    }

    #[test]
    fn accents_and_wide_letters_are_folded() {
        assert_eq!(split("Café ＡＢＣ"), ["Latin(\"Cafe\")", "Latin(\"ABC\")"]);
        assert_eq!(split("cafe\u{301} x\u{302}"), ["Latin(\"cafe\")", "Latin(\"x\")"]);
        assert_eq!(split("Straße"), ["Latin(\"Strasse\")"]);
    }

    #[test]
    fn scripts_do_not_run_into_each_other() {
        assert_eq!(split("GitHubの課題"), ["Latin(\"GitHub\")", "Dense(\"の課題\")"]);
        assert_eq!(split("файл"), ["Alphabet(\"фаил\")"]);
    }

    #[test]
    fn humps_start_at_capitals_but_not_within_acronyms() {
        let split = |run: &'static str| humps(run).collect::<Vec<_>>();
        assert_eq!(split("readFile"), ["read", "File"]);
        assert_eq!(split("PDFReader"), ["PDF", "Reader"]);
        assert_eq!(split("parseJSON"), ["parse", "JSON"]);
        assert_eq!(split("s3"), ["s3"]);
    }

    #[test]
    fn the_end_of_a_long_text_is_not_read() {
        let long = "é".repeat(MAX_TEXT_BYTES);
        assert!(fold(&long).len() <= MAX_TEXT_BYTES);
    }
}
