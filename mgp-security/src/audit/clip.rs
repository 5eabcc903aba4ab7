use std::borrow::Cow;

/// The text, or its beginning and a mark where it was cut, in at most `max_bytes` and the mark.
pub(crate) fn clip(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(max_bytes)]))
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "abc…");
        assert_eq!(clip("aéé", 2), "a…");
    }
}
