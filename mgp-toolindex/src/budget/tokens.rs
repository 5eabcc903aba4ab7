//! The interface of token counters.

use std::fmt;
use std::sync::Arc;

/// Counts the tokens of a text as some model would.
pub trait TokenCounter: fmt::Debug + Send + Sync {
    /// Returns the tokens of the text. The time grows no faster than the text, whatever its contents.
    fn count(&self, text: &str) -> u32;

    /// Returns the name of the counter, for reports.
    fn name(&self) -> &str;
}

/// Returns the tokenizer of the feature `tiktoken` where it is built in, else the estimate.
pub fn default_counter() -> Arc<dyn TokenCounter> {
    #[cfg(feature = "tiktoken")]
    return Arc::new(super::Tiktoken);
    #[cfg(not(feature = "tiktoken"))]
    return Arc::new(super::TokenEstimator::new());
}

/// Estimates tokens by the scripts of the characters and the lengths of words, as fast as the text can be read.
///
/// The estimate knows no vocabulary; it is fitted to the counts of o200k for definitions of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenEstimator;

impl TokenEstimator {
    /// Creates the estimate for o200k.
    pub const fn new() -> Self {
        Self
    }
}

impl TokenCounter for TokenEstimator {
    fn count(&self, text: &str) -> u32 {
        let mut sum = TokenSum::default();
        for character in text.chars() {
            sum.take(character);
        }
        sum.end_run();
        u32::try_from(sum.thousandths.div_ceil(1000)).unwrap_or(u32::MAX)
    }

    fn name(&self) -> &'static str {
        "estimate"
    }
}

/// The sum in thousandths of tokens, and the run of like characters that is being read.
#[derive(Default)]
struct TokenSum {
    thousandths: u64,
    kind: CharacterKind,
    length: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum CharacterKind {
    #[default]
    Nothing,
    Lower,
    Upper,
    Digit,
    Mark,
    Space,
}

/// The length of words up to which one is one token.
const PLAIN_WORD: u64 = 7;

impl TokenSum {
    fn take(&mut self, character: char) {
        let kind = match character {
            'a'..='z' => CharacterKind::Lower,
            'A'..='Z' => CharacterKind::Upper,
            '0'..='9' => CharacterKind::Digit,
            c if c.is_ascii_whitespace() => CharacterKind::Space,
            c if c.is_ascii() => CharacterKind::Mark,
            other => {
                self.end_run();
                self.thousandths += beyond_ascii(other);
                return;
            }
        };
        // A capital belongs to the small letters behind it: `readFile` is two words, `File` is one.
        let same = kind == self.kind || (self.kind == CharacterKind::Upper && kind == CharacterKind::Lower);
        if !same {
            self.end_run();
        }
        self.kind = kind;
        self.length += 1;
    }

    fn end_run(&mut self) {
        self.thousandths += match self.kind {
            CharacterKind::Nothing => 0,
            CharacterKind::Lower => 1000 + self.length.saturating_sub(PLAIN_WORD) * 100,
            CharacterKind::Upper => 1000 + self.length.saturating_sub(2) * 400,
            CharacterKind::Digit => self.length.div_ceil(3) * 1000,
            CharacterKind::Mark => 800 + self.length.saturating_sub(3) * 250,
            // One space belongs to the word behind it.
            CharacterKind::Space => self.length.saturating_sub(1).min(1) * 1000 + self.length / 64 * 1000,
        };
        self.kind = CharacterKind::Nothing;
        self.length = 0;
    }
}

/// Returns the thousandths of a token that a character takes.
const fn beyond_ascii(character: char) -> u64 {
    match character {
        // The range is Latin with marks, Greek, Cyrillic, Hebrew and Arabic.
        '\u{80}'..='\u{24F}' => 500,
        '\u{250}'..='\u{7FF}' => 350,
        // The range is the scripts of India and South-East Asia.
        '\u{800}'..='\u{10FF}' => 450,
        // The range is kana; Chinese characters and Hangul follow.
        '\u{3000}'..='\u{30FF}' => 750,
        '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => 850,
        '\u{AC00}'..='\u{D7AF}' => 700,
        '\u{1100}'..='\u{2FFF}' => 1000,
        _ => 1500,
    }
}
