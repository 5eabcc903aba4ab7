//! Unification of spellings.

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
}
