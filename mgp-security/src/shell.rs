//! Words of a shell: those that braces stand for, and the quoting of one.

/// Returns the words that a shell makes of `a{b,c}`, `ab` and `ac`, in their order. Braces that would make more than `most`
/// words stay as they are.
pub(crate) fn expand_braces(text: &str, most: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(word) = open.pop() {
        let inner = word.find('}').and_then(|end| Some((word[..end].rfind('{')?, end)));
        match inner.filter(|(start, end)| word[*start..*end].contains(',')) {
            Some((start, end)) if words.len() + open.len() < most => {
                let parts = word[start + 1..end].rsplit(',');
                open.extend(parts.map(|part| format!("{}{part}{}", &word[..start], &word[end + 1..])));
            }
            _ => words.push(word),
        }
    }
    words
}

/// Returns the word quoted, so that a shell reads it as a single word.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_within_bounds() {
        for (text, words) in
            [("a{b,c}d", &["abd", "acd"][..]), ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]), ("{a}", &["{a}"])]
        {
            assert_eq!(expand_braces(text, 8), words, "{text}");
        }
        assert!(expand_braces(&"{a,b}".repeat(20), 8).len() <= 9);
    }

    #[test]
    fn a_quoted_word_is_one_word() {
        for (word, expected) in [("a.txt", "a.txt"), ("a b", "'a b'"), ("", "''"), ("it's", r"'it'\''s'")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
