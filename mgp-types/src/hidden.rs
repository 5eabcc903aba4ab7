/// Returns whether a person who reads a text does not see this character, or reads its neighbours otherwise because of
/// it: characters that a terminal acts upon, line breaks included, characters without width or ink, characters that
/// turn the direction of writing, tags and selectors.
///
/// Some hidden characters are harmless: emoji and some scripts need a few. A program that shows a text to somebody who
/// decides by it spells the hidden characters out.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the text as one word of a command, in quotes if a shell would read it otherwise. [Hidden](is_hidden)
/// characters are spelled out.
///
/// ```
/// use mgp_types::shell_word;
///
/// assert_eq!(shell_word("git.status"), "git.status");
/// assert_eq!(shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut word = String::with_capacity(text.len() + 2);
    word.push('\'');
    for c in text.chars() {
        match c {
            '\'' => word.push_str(r"'\''"),
            c if is_hidden(c) => word.extend(c.escape_unicode()),
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_told_from_what_is() {
        let hidden = "\u{1b}\n\u{ad}\u{200b}\u{202e}\u{2800}\u{3164}\u{fe0f}\u{e0041}\u{e0100}";
        assert!(hidden.chars().all(is_hidden));
        assert!(!"Grüße 你好 ¿ ⚠ \u{a0}".chars().any(is_hidden));
    }
}
