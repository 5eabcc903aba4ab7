//! The spelling in which a BERT model without case reads a text.

use std::iter;

use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// Returns the letters of a text as the model reads them: without control characters, accents and case, and with spaces
/// around Chinese characters, which are written without any.
pub(super) fn letters(text: &str) -> impl Iterator<Item = char> {
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
pub(super) fn is_punctuation(c: char) -> bool {
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
mod tests {
    use super::*;

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
