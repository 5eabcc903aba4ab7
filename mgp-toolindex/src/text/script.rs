//! Scripts, by the way in which they separate words.

/// The role of a character in separating words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// A gap between words.
    Gap,
    /// A letter of words that gaps end.
    Letter,
    /// A digit.
    Digit,
    /// An apostrophe, which is removed within a word.
    Apostrophe,
    /// A Han character, which is nearly a word.
    Han,
    /// Hiragana, mostly endings and particles of Japanese.
    Hiragana,
    /// Katakana, mostly loanwords of Japanese.
    Katakana,
    /// Hangul, the syllables of Korean: gaps end words, but particles stick to them.
    Hangul,
    /// Letters of languages that put gaps between sentences only.
    Unspaced,
}

impl Script {
    pub(crate) fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            '\'' | '\u{2019}' | '\u{2bc}' => Self::Apostrophe,
            '\0'..='\u{7f}' => Self::Gap,
            '\u{e00}'..='\u{e4e}'
            | '\u{e80}'..='\u{ecf}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17d3}' => Self::Unspaced,
            '\u{3041}'..='\u{309f}' => Self::Hiragana,
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Self::Katakana,
            '\u{3005}'
            | '\u{3007}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Han,
            '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' => Self::Hangul,
            _ if c.is_numeric() => Self::Digit,
            _ if c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c) => Self::Letter,
            _ => Self::Gap,
        }
    }

    /// Returns whether words of this script are not separated by gaps.
    pub(crate) const fn is_dense(self) -> bool {
        matches!(self, Self::Han | Self::Hiragana | Self::Katakana | Self::Hangul | Self::Unspaced)
    }

    /// Returns whether words go on from one script to the other.
    pub(crate) fn joins(self, other: Self) -> bool {
        let is_spaced = |script: Self| matches!(script, Self::Letter | Self::Digit | Self::Apostrophe);
        let is_japanese = |script: Self| matches!(script, Self::Han | Self::Hiragana | Self::Katakana);
        self == other || is_spaced(self) && is_spaced(other) || is_japanese(self) && is_japanese(other)
    }
}
