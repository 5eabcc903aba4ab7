//! The words of a text, for the table.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, char::decompose_canonical, char::is_combining_mark};

/// A run of letters and digits of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptRun<'a> {
    /// Letters and digits for which the table has words: a to z, in either case, and 0 to 9.
    Latin(&'a str),
    /// Letters of scripts that separate words by spaces.
    Alphabet(&'a str),
    /// Letters that stand for syllables or words, without spaces between words.
    Dense(&'a str),
}

/// The number of bytes of a text that are read.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Returns the text in the form of the table: compatible letters unified, without accents, and of bounded length.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    let text = bounded(text);
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len());
    // A letter can expand to many: the result is bounded like the text itself.
    for letter in text.nfkc().take(MAX_TEXT_BYTES) {
        match ligature(letter) {
            Some(letters) => folded.push_str(letters),
            None if is_latin(letter) => decompose_canonical(letter, |part| {
                if !is_combining_mark(part) {
                    folded.push(part);
                }
            }),
            None => folded.push(letter),
        }
    }
    Cow::Owned(folded)
}

/// Returns the runs of a folded text, in their order.
pub(super) fn runs(text: &str) -> impl Iterator<Item = ScriptRun<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (from, kind) =
            rest.char_indices().find_map(|(at, letter)| Some((at, ScriptKind::of(letter)?)))?;
        let run = &rest[from..];
        let end = run.char_indices().find(|&(_, letter)| ScriptKind::of(letter) != Some(kind));
        let (run, after) = run.split_at(end.map_or(run.len(), |(at, _)| at));
        rest = after;
        Some(match kind {
            ScriptKind::Latin => ScriptRun::Latin(run),
            ScriptKind::Alphabet => ScriptRun::Alphabet(run),
            ScriptKind::Dense => ScriptRun::Dense(run),
        })
    })
}

/// Returns the parts of a run that is written in humps, such as `readFile` or `PDFReader`.
pub(super) fn humps(run: &str) -> impl Iterator<Item = &str> {
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptKind {
    Latin,
    Alphabet,
    Dense,
}

impl ScriptKind {
    fn of(letter: char) -> Option<Self> {
        if letter.is_ascii() {
            return letter.is_ascii_alphanumeric().then_some(Self::Latin);
        }
        // Marks belong to their letters, in scripts that have no single letter for both.
        if !letter.is_alphanumeric() && !is_combining_mark(letter) {
            return None;
        }
        Some(if is_dense(letter) { Self::Dense } else { Self::Alphabet })
    }
}

/// Returns whether a letter is Latin beyond ASCII, or an accent of such a letter.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\u{80}'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}')
}

/// Returns the ASCII form of Latin letters that are not accented ones.
fn ligature(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' => "d",
        'ı' => "i",
        _ => return None,
    })
}

/// Returns whether a letter is of Thai to Burmese and Khmer, or is kana, Hangul or a Chinese character.
fn is_dense(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns the first part of the text, up to the length that is read.
fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        runs(&fold(text)).map(|run| format!("{run:?}")).collect()
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
        assert_eq!(split("файл"), ["Alphabet(\"файл\")"]);
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
