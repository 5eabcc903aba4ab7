use super::CountTokens;

/// Estimates tokens by the scripts of the characters and the lengths of words, as fast as the text can be read.
///
/// It knows no vocabulary; it is fitted to what o200k makes of definitions of tools.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    factor: f32,
}

impl Estimate {
    /// The estimate for o200k.
    pub const fn new() -> Self {
        Self { factor: 1.0 }
    }

    /// The estimate for a tokenizer that makes `factor` times as many tokens of a text as o200k does. What is not
    /// a sensible factor counts as the nearest that is.
    pub fn scaled(factor: f32) -> Self {
        Self { factor: if factor.is_finite() { factor.clamp(LEAST_FACTOR, MOST_FACTOR) } else { 1.0 } }
    }
}

impl Default for Estimate {
    fn default() -> Self {
        Self::new()
    }
}

impl CountTokens for Estimate {
    fn count(&self, text: &str) -> u32 {
        let mut sum = Sum::default();
        for character in text.chars() {
            sum.take(character);
        }
        let thousandths = sum.finish();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate is not exact, and what is too large becomes the largest number"
        )]
        let scaled = (thousandths as f32 * self.factor / 1000.0).ceil() as u32;
        scaled
    }

    fn name(&self) -> &'static str {
        "estimate"
    }
}

/// Thousandths of tokens, and the run of like characters that is being read.
#[derive(Default)]
struct Sum {
    thousandths: u64,
    kind: Kind,
    length: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Nothing,
    Lower,
    Upper,
    Digit,
    Mark,
    Space,
}

impl Sum {
    fn take(&mut self, character: char) {
        let kind = match character {
            'a'..='z' => Kind::Lower,
            'A'..='Z' => Kind::Upper,
            '0'..='9' => Kind::Digit,
            c if c.is_ascii_whitespace() => Kind::Space,
            c if c.is_ascii() => Kind::Mark,
            other => {
                self.end_run();
                self.thousandths += beyond_ascii(other);
                return;
            }
        };
        // A capital belongs to the small letters behind it: `readFile` are two words, `File` is one.
        let same = kind == self.kind || (self.kind == Kind::Upper && kind == Kind::Lower);
        if !same {
            self.end_run();
        }
        self.kind = kind;
        self.length += 1;
    }

    fn finish(mut self) -> u64 {
        self.end_run();
        self.thousandths
    }

    fn end_run(&mut self) {
        self.thousandths += match self.kind {
            Kind::Nothing => 0,
            Kind::Lower => 1000 + self.length.saturating_sub(PLAIN_WORD) * 100,
            Kind::Upper => 1000 + self.length.saturating_sub(2) * 400,
            Kind::Digit => self.length.div_ceil(3) * 1000,
            Kind::Mark => 800 + self.length.saturating_sub(3) * 250,
            // One space belongs to the word behind it.
            Kind::Space => self.length.saturating_sub(1).min(1) * 1000 + self.length / 64 * 1000,
        };
        self.kind = Kind::Nothing;
        self.length = 0;
    }
}

/// Thousandths of a token that a character takes.
const fn beyond_ascii(character: char) -> u64 {
    match character {
        // Latin with marks, Greek, Cyrillic, Hebrew, Arabic.
        '\u{80}'..='\u{24F}' => 500,
        '\u{250}'..='\u{7FF}' => 350,
        // The scripts of India and South-East Asia.
        '\u{800}'..='\u{10FF}' => 450,
        // Kana, Chinese characters, Hangul.
        '\u{3000}'..='\u{30FF}' => 750,
        '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => 850,
        '\u{AC00}'..='\u{D7AF}' => 700,
        '\u{1100}'..='\u{2FFF}' => 1000,
        _ => 1500,
    }
}

/// Words up to this length are one token.
const PLAIN_WORD: u64 = 7;

const LEAST_FACTOR: f32 = 0.1;
const MOST_FACTOR: f32 = 10.0;
