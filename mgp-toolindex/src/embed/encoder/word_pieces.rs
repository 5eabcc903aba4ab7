//! The pieces of words that a model has numbers for, in the spelling in which it reads a text.

use std::collections::HashMap;
use std::iter;

use foldhash::fast::FixedState;
use serde::Deserialize;
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

use crate::embed::EmbedError;

/// Splits texts into the pieces of a model, as its `tokenizer.json` describes.
#[derive(Debug)]
pub(super) struct WordPieces {
    starts: PieceNumbers,
    continuations: PieceNumbers,
    /// The length of the longest piece, in characters.
    longest: usize,
    /// The length of a word at most, in characters; longer ones are unknown.
    longest_word: usize,
    unknown: u32,
    first: u32,
    last: u32,
}

type PieceNumbers = HashMap<Box<str>, u32, FixedState>;

impl WordPieces {
    /// Reads a `tokenizer.json`, for a model with `vocabulary` pieces.
    pub(super) fn read(file: &[u8], vocabulary: usize) -> Result<Self, EmbedError> {
        let wrong = |why: &str| EmbedError::new(format!("tokenizer.json: {why}"));
        let TokenizerFile { normalizer, pre_tokenizer, model } =
            serde_json::from_slice(file).map_err(|error| wrong(&error.to_string()))?;
        let removes_accents = normalizer.strip_accents.unwrap_or(normalizer.lowercase);
        if normalizer.kind != "BertNormalizer"
            || !(normalizer.lowercase && removes_accents)
            || !(normalizer.clean_text && normalizer.handle_chinese_chars)
            || pre_tokenizer.kind != "BertPreTokenizer"
            || model.kind != "WordPiece"
        {
            return Err(wrong("only the tokenizers of BERT models without case are known"));
        }
        if model.vocab.values().any(|number| usize::try_from(*number).map_or(true, |n| n >= vocabulary)) {
            return Err(wrong("a piece has no weights"));
        }
        let special = |name: &str| {
            model.vocab.get(name).copied().ok_or_else(|| wrong(&format!("the piece {name} is missing")))
        };
        let (unknown, first, last) = (special(&model.unk_token)?, special("[CLS]")?, special("[SEP]")?);
        let longest = model.vocab.keys().map(|piece| piece.chars().count()).max().unwrap_or_default();
        let (mut starts, mut continuations) = (PieceNumbers::default(), PieceNumbers::default());
        for (piece, number) in model.vocab {
            match piece.strip_prefix(&*model.continuing_subword_prefix) {
                Some(rest) if !rest.is_empty() => continuations.insert(rest.into(), number),
                _ => starts.insert(piece.into(), number),
            };
        }
        let longest_word = model.max_input_chars_per_word;
        Ok(Self { starts, continuations, longest, longest_word, unknown, first, last })
    }

    /// Returns the numbers of the pieces of a text: between those for its start and its end, `most` in all. A text that
    /// spells the name of a special piece does not get that piece: no tool can end its own text.
    pub(super) fn split(&self, text: &str, most: usize) -> Vec<u32> {
        let room = most.saturating_sub(1);
        let mut pieces = vec![self.first];
        let mut word = Word::default();
        for letter in letters(text) {
            if pieces.len() >= room {
                break;
            }
            if letter.is_whitespace() {
                self.push_word(&mut word, &mut pieces);
            } else if is_punctuation(letter) {
                self.push_word(&mut word, &mut pieces);
                word.push(letter, self.longest_word);
                self.push_word(&mut word, &mut pieces);
            } else {
                word.push(letter, self.longest_word);
            }
        }
        self.push_word(&mut word, &mut pieces);
        pieces.truncate(room);
        pieces.push(self.last);
        pieces
    }

    /// Pushes the longest pieces that a word consists of, from its start on; if one is unknown, so is the word.
    fn push_word(&self, word: &mut Word, pieces: &mut Vec<u32>) {
        if word.letters == 0 {
            return;
        }
        let before = pieces.len();
        let mut rest = word.text.as_str();
        while !rest.is_empty() {
            let known = if pieces.len() == before { &self.starts } else { &self.continuations };
            let found =
                prefixes(rest, self.longest).find_map(|prefix| Some((prefix.len(), *known.get(prefix)?)));
            let Some((length, piece)) = found.filter(|_| word.letters <= self.longest_word) else {
                pieces.truncate(before);
                pieces.push(self.unknown);
                break;
            };
            pieces.push(piece);
            rest = &rest[length..];
        }
        word.text.clear();
        word.letters = 0;
    }
}

/// The word that is being read. Of one that is too long only the start is kept.
#[derive(Default)]
struct Word {
    text: String,
    letters: usize,
}

impl Word {
    fn push(&mut self, letter: char, longest: usize) {
        self.letters += 1;
        if self.letters <= longest {
            self.text.push(letter);
        }
    }
}

/// Returns the prefixes of a text with at most `longest` characters, the longest first.
fn prefixes(text: &str, longest: usize) -> impl Iterator<Item = &str> {
    let end = text.char_indices().nth(longest).map_or(text.len(), |(at, _)| at);
    (1..=end).rev().filter_map(|end| text.get(..end))
}

#[derive(Deserialize)]
struct TokenizerFile {
    normalizer: NormalizerFile,
    pre_tokenizer: PreTokenizerFile,
    model: WordPieceFile,
}

#[derive(Deserialize)]
struct NormalizerFile {
    #[serde(rename = "type")]
    kind: String,
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

#[derive(Deserialize)]
struct PreTokenizerFile {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct WordPieceFile {
    #[serde(rename = "type")]
    kind: String,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

/// Returns the letters of a text as the model reads them: without control characters, accents and case, and with spaces
/// around Chinese characters, which are written without any.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|c| !is_removed(*c))
        .flat_map(|c| {
            let apart = is_chinese(c).then_some(' ');
            let c = if c.is_whitespace() { ' ' } else { c };
            apart.into_iter().chain(iter::once(c)).chain(apart)
        })
        .nfd()
        .filter(|c| !c.is_mark_nonspacing())
        .flat_map(char::to_lowercase)
}

/// Returns whether a character is a word of its own.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.is_punctuation()
}

fn is_removed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        _ => c.is_other(),
    }
}

/// Returns whether a character is in one of the blocks of Chinese characters that were there when the models were made.
const fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}'
    )
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a `tokenizer.json` with these pieces.
    pub(in crate::embed::encoder) fn file(pieces: &[&str]) -> Vec<u8> {
        let special = ["[UNK]", "[CLS]", "[SEP]"];
        let vocab: serde_json::Map<_, _> = special
            .iter()
            .chain(pieces)
            .enumerate()
            .map(|(number, piece)| ((*piece).to_owned(), number.into()))
            .collect();
        let file = json!({
            "normalizer": {
                "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true,
            },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 10, "vocab": vocab,
            },
        });
        file.to_string().into_bytes()
    }

    #[test]
    fn words_are_split_into_the_longest_pieces() {
        let pieces = WordPieces::read(&file(&["read", "##able", "##a", "a", ",", "re"]), 9).unwrap();
        let split = |text| pieces.split(text, 100);
        assert_eq!(split("Readable, a"), [1, 3, 4, 7, 6, 2]);
        assert_eq!(split(""), [1, 2]);
        // A piece inside of a word is another one than at its start, and a word with an unknown part is unknown.
        assert_eq!(split("aa ab able"), [1, 6, 5, 0, 0, 2]);
        assert_eq!(split("aaaaaaaaaa aaaaaaaaaaa"), [1, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0, 2]);
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_ends_as_others_do() {
        let pieces = WordPieces::read(&file(&["a", "##a"]), 5).unwrap();
        assert_eq!(pieces.split(&"a ".repeat(100_000), 5), [1, 3, 3, 3, 2]);
        assert_eq!(pieces.split("aaaaaaa", 5), [1, 3, 4, 4, 2]);
    }

    #[test]
    fn no_text_gets_a_special_piece_by_its_name() {
        let pieces = WordPieces::read(&file(&["[", "]", "sep"]), 6).unwrap();
        assert_eq!(pieces.split("[SEP]", 100), [1, 3, 5, 4, 2]);
    }

    #[test]
    fn other_tokenizers_are_refused() {
        let refused = |file: &[u8]| WordPieces::read(file, 4).unwrap_err().to_string();
        let known = String::from_utf8(file(&["a"])).unwrap();
        assert!(WordPieces::read(known.as_bytes(), 4).is_ok());
        assert!(refused(b"{").starts_with("tokenizer.json: "));
        for (one, other) in [
            ("BertNormalizer", "NFC"),
            ("\"lowercase\":true", "\"lowercase\":false"),
            ("WordPiece", "BPE"),
            ("BertPreTokenizer", "Whitespace"),
        ] {
            assert!(refused(known.replace(one, other).as_bytes()).contains("only the tokenizers"), "{one}");
        }
        assert!(refused(known.replace("[CLS]", "[B]").as_bytes()).contains("[CLS]"));
        assert!(refused(&file(&["a", "b"])).contains("no weights"));
    }

    #[test]
    fn accents_case_and_control_characters_are_removed() {
        let read = |text| letters(text).collect::<String>();
        assert_eq!(read("Crème\u{7} BRÛLÉE\tİ"), "creme brulee i");
        assert_eq!(read("zero\u{200b}width\u{fffd}\0"), "zerowidth");
        assert_eq!(read("读file"), " 读 file");
        // Marks that take room of their own stay.
        assert_eq!(read("का"), "का");
    }

    #[test]
    fn signs_of_all_scripts_are_punctuation() {
        assert!("!$^`~。、»—".chars().all(is_punctuation));
        assert!(!"a1 é€".chars().any(is_punctuation));
    }
}
