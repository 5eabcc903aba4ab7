//! Unification of spellings, and words in lower case without analysis.

use unicode_normalization::UnicodeNormalization;

/// Writes a text in one of its many spellings: compatible characters become the usual ones, accents and invisible
/// characters are removed. Case stays, because it tells where the words of a name end.
pub(crate) fn fold(text: &str, into: &mut String) {
    into.clear();
    if text.is_ascii() {
        into.push_str(text);
        return;
    }
    for c in text.nfkd().filter(|c| !is_left_out(*c)).nfc() {
        match spelled_out(c) {
            Some(letters) => into.push_str(letters),
            None => into.push(c),
        }
    }
}

/// Returns whether a mark can be removed within a word without changing the word. Marks of Indic scripts, of Thai and
/// of kana are not among them: there they tell words apart.
const fn is_left_out(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

/// Returns the ASCII spelling of letters without a removable accent, as people without them on their keyboard write
/// them.
const fn spelled_out(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ı' => "i",
        'ς' => "σ",
        _ => return None,
    })
}

/// The length of a word at most, in bytes; longer words are in no list.
const LONGEST_WORD: usize = 32;

/// The characters of a text that are read.
const MAX_CHARACTERS: usize = 4096;

/// Returns the words of a text, in lower case; `camelCase` and `snake_case` are two words each.
///
/// The function is for words that are compared with English word lists. Queries and indexed texts are analysed instead.
pub(crate) fn lower_words(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text.chars().take(MAX_CHARACTERS).peekable();
    std::iter::from_fn(move || {
        while rest.next_if(|letter| !letter.is_alphanumeric()).is_some() {}
        let (mut word, mut was_small) = (String::new(), false);
        while let Some(letter) =
            rest.next_if(|letter| letter.is_alphanumeric() && !(was_small && letter.is_uppercase()))
        {
            was_small = letter.is_lowercase();
            if word.len() < LONGEST_WORD {
                word.extend(letter.to_lowercase());
            }
        }
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut into = String::from("what was there before");
        fold(text, &mut into);
        into
    }

    #[test]
    fn spellings_of_a_word_become_one() {
        assert_eq!(folded("Crème Brûlée, Ｆｕｌｌ ﬁle"), "Creme Brulee, Full file");
        assert_eq!(folded("cre\u{300}me zero\u{200b}width"), "creme zerowidth");
        assert_eq!(folded("Straße Łódź smørrebrød"), "Strasse lodz smorrebrod");
        assert_eq!(folded("مُحَمَّد"), "محمد");
    }

    #[test]
    fn marks_that_tell_words_apart_stay() {
        assert_eq!(folded("ガギ"), "ガギ");
        assert_eq!(folded("ｶﾞ"), "ガ");
        assert_eq!(folded("한국어"), "한국어");
        assert_eq!(folded("ที่"), "ที่");
        assert_eq!(folded("हिन्दी"), "हिन्दी");
    }

    fn words(text: &str) -> Vec<String> {
        lower_words(text).collect()
    }

    #[test]
    fn words_end_where_spelling_or_case_says_so() {
        assert_eq!(
            words("read_file readFile, PDF-2 Ärger"),
            ["read", "file", "read", "file", "pdf", "2", "ärger"]
        );
        assert!(words("").is_empty() && words(" _-. ").is_empty());
    }

    #[test]
    fn no_more_is_read_than_is_worth_it() {
        assert_eq!(words(&"a ".repeat(100_000)).len(), MAX_CHARACTERS / 2);
        assert!(words(&"天".repeat(100_000)).iter().all(|word| word.len() < LONGEST_WORD + 4));
    }
}
