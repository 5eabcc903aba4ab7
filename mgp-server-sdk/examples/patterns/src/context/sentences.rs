//! A text as sentences.

/// A sentence of a text, without the mark of a list in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence<'t>(pub(super) &'t str);

/// Returns the sentences of a text, the first ones of a longer text. A line ends a sentence, too: lists have no full
/// stops.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let of_lines = text.lines().flat_map(|line| split(without_mark(line.trim())));
    of_lines.filter(|sentence| sentence.0.chars().any(char::is_alphanumeric)).take(MAX_SENTENCES).collect()
}

fn split(line: &str) -> Vec<Sentence<'_>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, mark) in line.char_indices() {
        let end = at + mark.len_utf8();
        if ends_sentence(&line[start..at], mark, &line[end..]) {
            found.push(Sentence(line[start..end].trim()));
            start = end;
        }
    }
    found.push(Sentence(line[start..].trim()));
    found
}

fn ends_sentence(before: &str, mark: char, after: &str) -> bool {
    match mark {
        '。' | '！' | '？' => true,
        '!' | '?' => after.starts_with(char::is_whitespace),
        '.' => {
            let last_word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            let goes_on = after.trim_start().chars().next().is_some_and(char::is_lowercase);
            after.starts_with(char::is_whitespace) && !is_abbreviation(last_word) && !goes_on
        }
        _ => false,
    }
}

/// Returns whether a full stop behind the word belongs to it.
fn is_abbreviation(word: &str) -> bool {
    let word = word.trim_start_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let lines = include_str!("abbreviations.txt").lines().filter(|line| !line.starts_with('#'));
    is_letter || word.contains('.') || lines.flat_map(str::split_whitespace).any(|known| known == word)
}

/// Returns the line without the mark of a list or a heading.
fn without_mark(line: &str) -> &str {
    let rest = line.trim_start_matches(['-', '*', '•', '#', '>']);
    if rest.len() < line.len() && rest.starts_with(char::is_whitespace) {
        return rest.trim_start();
    }
    let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

const MAX_SENTENCES: usize = 4000;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        sentences(text).iter().map(|sentence| sentence.0).collect()
    }

    #[test]
    fn sentences_end_at_stops_and_lines_and_not_within() {
        assert_eq!(texts("We met. Did it work? Yes!"), ["We met.", "Did it work?", "Yes!"]);
        assert_eq!(
            texts("They ship version 2. Tell me. (No. 5 waits.)"),
            ["They ship version 2.", "Tell me.", "(No. 5 waits.)"]
        );
        assert_eq!(
            texts("Version 1.2.3 costs 4.50 euros, e.g. at Dr. Who's."),
            ["Version 1.2.3 costs 4.50 euros, e.g. at Dr. Who's."]
        );
        assert_eq!(texts("- one\n* two\n3. three\n## Four\n---\n\n"), ["one", "two", "three", "Four"]);
        assert_eq!(texts("一つ。二つ。"), ["一つ。", "二つ。"]);
        assert_eq!(texts("-5 degrees"), ["-5 degrees"]);
    }

    #[test]
    fn a_text_of_any_length_has_a_bounded_number_of_sentences() {
        assert_eq!(texts(&"so it was.\n".repeat(100_000)).len(), MAX_SENTENCES);
    }
}
