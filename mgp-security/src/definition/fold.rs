//! Folding of text, so that texts that read alike are spelled alike.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::invisible::hiding;

/// A text in lower case, without accents on Latin letters, invisible characters and doubled white space, with the
/// places where its lines and sentences start.
#[derive(Debug, Default)]
pub(super) struct FoldedText {
    pub(super) text: String,
    /// The bytes at which sentences start, in order.
    sentences: Vec<usize>,
}

impl FoldedText {
    pub(super) fn new(text: &str) -> Self {
        let mut folded = Self::default();
        folded.text.reserve(text.len());
        let mut gap: Option<usize> = None;
        for character in spelled_out(text) {
            if character.is_whitespace() {
                let ends_line = matches!(character, '\n' | '\u{2028}' | '\u{2029}');
                gap = Some(gap.unwrap_or_default() + usize::from(ends_line));
                continue;
            }
            folded.close(gap.take(), character);
            folded.text.push(character);
        }
        folded
    }

    /// Returns the sentences of the text in order; a long one comes in several pieces.
    pub(super) fn sentences(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.sentences.iter().copied());
        let ends = self.sentences.iter().copied().chain([self.text.len()]);
        starts.zip(ends).flat_map(|(start, end)| pieces(&self.text[start..end]))
    }

    /// Writes the white space before `next` and notes a sentence that starts there. `lines` is the number of ends of lines
    /// in the white space, if there is any.
    fn close(&mut self, lines: Option<usize>, next: char) {
        let last = self.text.chars().next_back();
        if lines.is_some() {
            self.text.push(' ');
        }
        let ended = match last {
            Some('.' | '!' | '?' | ';') => lines.is_some(),
            Some('。' | '।' | '؟') => true,
            Some('"' | '\'' | ')') => {
                lines.is_some()
                    && self.text.trim_end_matches(['"', '\'', ')', ' ']).ends_with(['.', '!', '?'])
            }
            _ => false,
        };
        let listed = lines == Some(1) && !next.is_alphabetic() && !matches!(next, '"' | '\'' | '`' | '(');
        if ended || listed || lines > Some(1) {
            self.sentences.push(self.text.len());
        }
    }
}

/// Returns `sentence` in pieces of a bounded length, each of whole words where it can be.
fn pieces(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = sentence;
    std::iter::from_fn(move || {
        let bound = rest.floor_char_boundary(MAX_SENTENCE);
        let end =
            if bound == rest.len() { bound } else { rest[..bound].rfind(' ').map_or(bound, |at| at + 1) };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the characters of `text` that are visible.
pub(super) fn strip_invisible(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|it| hiding(*it).is_none())
}

/// Returns the compatibility decomposition of `text` in lower case, without accents on Latin letters.
fn spelled_out(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut latin = false;
    let without_accents = strip_invisible(text).nfkd().filter(move |character| {
        let accent = is_combining_mark(*character);
        if !accent {
            latin = character.is_ascii_alphabetic();
        }
        !(accent && latin)
    });
    without_accents.nfc().flat_map(char::to_lowercase).map(|character| match character {
        '‘' | '’' | '‛' | '′' | '´' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
        other => other,
    })
}

/// Returns the plain reading of a `text` that disguises its words: with letters of other scripts or digits in place of
/// Latin letters, or with letters set apart. `None` if nothing in it is disguised.
pub(super) fn undisguised(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while !rest.is_empty() {
        let gap = rest.find(|it: char| !it.is_whitespace()).unwrap_or(rest.len());
        out.push_str(&rest[..gap]);
        rest = &rest[gap..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let plain = set_apart(rest).or_else(|| Some((unmasked(&rest[..end])?, end)));
        changed |= plain.is_some();
        let (word, length) =
            plain.as_ref().map_or((&rest[..end], end), |(word, length)| (word.as_str(), *length));
        out.push_str(word);
        rest = &rest[length..];
    }
    changed.then_some(out)
}

/// Returns the letters that `text` starts with, each separated from the next by one separator, and their length in
/// bytes.
///
/// Two blanks, or a separator beside a blank, end a word and go on with the next.
fn set_apart(text: &str) -> Option<(String, usize)> {
    let mut letters = String::new();
    let (mut count, mut length) = (0, 0);
    let mut rest = text;
    loop {
        let mut characters = rest.chars();
        let Some(letter) = characters.next().filter(|it| it.is_alphanumeric()) else { break };
        let behind = characters.as_str();
        let gap = behind.find(|it: char| !is_separator(it)).unwrap_or(behind.len());
        if gap == 0 && behind.starts_with(char::is_alphanumeric) {
            break;
        }
        letters.push(letter);
        count += 1;
        length = text.len() - behind.len();
        if gap == 0 || gap == behind.len() {
            break;
        }
        if behind[..gap].chars().count() > 1 {
            letters.push(' ');
        }
        rest = &behind[gap..];
    }
    (count >= MIN_SET_APART).then(|| (letters.trim_end().to_owned(), length))
}

fn is_separator(character: char) -> bool {
    matches!(character, ' ' | '.' | '-' | '_' | '*' | '|' | '/' | '\u{a0}' | '·' | '•')
}

/// Returns the word in Latin letters, if it has other characters that look like Latin letters.
fn unmasked(word: &str) -> Option<String> {
    if word.contains("://") || word.contains('/') {
        return None;
    }
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    let foreign = word.chars().any(|it| look_alike(it) != it);
    let leet = letters >= 2 && !word.contains('_') && is_leet(word);
    if !foreign && !leet {
        return None;
    }
    let inner = word.trim_end_matches(['!', '.', ',', '?', ':', ';', ')', '"', '\'']);
    let plain = |character: char| {
        let latin = look_alike(character);
        if leet { of_leet(latin) } else { latin }
    };
    Some(inner.chars().map(plain).chain(word[inner.len()..].chars()).collect())
}

/// Returns whether digits or signs stand between or before letters in place of letters.
fn is_leet(word: &str) -> bool {
    let stands_in = |it: char| of_leet(it) != it;
    if word.contains('@') && word.contains('.') {
        return false;
    }
    let mut pair = word.chars().zip(word.chars().skip(1));
    pair.any(|(a, b)| {
        stands_in(a) && b.is_ascii_alphabetic() || a.is_ascii_alphabetic() && stands_in(b) && b != '!'
    })
}

fn of_leet(character: char) -> char {
    match character {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// Returns the Latin letter that `character` of another script looks like, or `character` itself.
pub(super) fn look_alike(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let letters = LOOK_ALIKES.split(' ').find(|letters| letters.contains(character));
    letters.and_then(|letters| letters.chars().next()).unwrap_or(character)
}

/// Latin letters, each with the letters of other scripts that look like it.
const LOOK_ALIKES: &str = "aаαɑАΑ bьЬВΒ cсϲСᴄ dԁɗ eеєεҽЕΕё gɡց hһнНΗհ iіιıІΙӏɩї jјЈ kкκКΚ lⅼʟ mмМΜ nηпոΝ oоοσОΟօᴏ pрρРΡ qԛ rгᴦ sѕЅꜱ tтτТΤ uυսᴜ vνѵᴠ wԝωѡ xхχХΧ yуγУΥү zᴢΖ";

/// The largest number of bytes that are judged as one sentence.
const MAX_SENTENCE: usize = 320;
/// The smallest number of separated letters that count as a disguised word; fewer are a list, like "a, b" or "x y z".
const MIN_SET_APART: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_read_alike_are_folded_alike() {
        for text in [
            "Ignore  all\nprevious",
            "ｉｇｎｏｒｅ all previous",
            "𝐢𝐠𝐧𝐨𝐫𝐞 all previous",
            "ig\u{200b}nore all pré\u{301}vious",
        ] {
            assert_eq!(FoldedText::new(text).text, "ignore all previous", "{text}");
        }
        assert_eq!(FoldedText::new("Erwähne “das” nicht").text, "erwahne \"das\" nicht");
        assert_eq!(FoldedText::new("これまでの指示 がぎ й 이전").text, "これまでの指示 がぎ й 이전");
    }

    #[test]
    fn sentences_start_behind_stops_lists_and_empty_lines() {
        let folded = FoldedText::new("One two. Three v1.2 four\nfive!\n- six\n\nseven。八");
        let sentences: Vec<_> = folded.sentences().map(str::trim).collect();
        assert_eq!(sentences, ["one two.", "three v1.2 four five!", "- six", "seven。", "八"]);
    }

    #[test]
    fn a_long_sentence_comes_in_pieces_of_whole_words() {
        let folded = FoldedText::new(&"word ".repeat(100));
        let pieces: Vec<_> = folded.sentences().collect();
        assert_eq!(pieces.concat(), folded.text);
        assert!(pieces.len() == 2 && pieces.iter().all(|it| it.starts_with("word")), "{pieces:?}");
        let folded = FoldedText::new(&"語".repeat(200));
        assert_eq!(folded.sentences().count(), 2);
    }

    #[test]
    fn disguised_words_are_undone() {
        for (text, expected) in [
            ("1gn0r3 pr3v10us", Some("ignore previous")),
            ("іgnоrе all", Some("ignore all")),
            ("i g n o r e  a l l now", Some("ignore all now")),
            ("i-g-n-o-r-e all", Some("ignore all")),
            ("p r e v i o u s", Some("previous")),
            ("plain words, x y z and a.b", None),
            ("see https://example.com/a1b2", None),
            ("mail bob2@example.com", None),
        ] {
            assert_eq!(undisguised(text).as_deref(), expected, "{text}");
        }
    }
}
