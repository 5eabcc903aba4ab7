use std::borrow::Cow;

use mgp_types::RawJson;

/// The first characters of a text, up to the end of a sentence or a word, and a sign that there is more.
pub(in crate::budget) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(most) else { return Cow::Borrowed(text) };
    let head = &text[..end];
    let ends = |is_end: fn(char) -> bool| {
        let (at, found) = head.rmatch_indices(is_end).next()?;
        (at * 2 > end).then_some(at + found.len())
    };
    let sentence = ends(|c| matches!(c, '.' | '。' | '!' | '?' | '\n'));
    let kept = head[..sentence.or_else(|| ends(char::is_whitespace)).unwrap_or(end)].trim_end();
    Cow::Owned(format!("{kept}…"))
}

/// Whether a member of a schema says nothing that a call needs.
pub(super) fn is_comment(name: &str, value: &RawJson) -> bool {
    match name {
        "title" | "default" | "examples" | "example" | "$comment" | "markdownDescription" => true,
        // The dialect that MCP assumes; another one has to be said.
        "$schema" => value.as_bytes() == LATEST_DIALECT,
        // Over HTTP a call is refused without the header that this asks for.
        other => other.starts_with("x-") && other != HEADER,
    }
}

/// Says by which header a parameter is repeated.
pub(super) const HEADER: &str = "x-mcp-header";

const LATEST_DIALECT: &[u8] = br#""https://json-schema.org/draft/2020-12/schema""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_with_a_sentence_or_a_word_and_says_that_there_is_more() {
        assert_eq!(clip("Short.", 10), "Short.");
        assert_eq!(clip("A first sentence. A second one.", 20), "A first sentence.…");
        assert_eq!(clip("no sentence ends in here", 14), "no sentence…");
        assert_eq!(clip("ファイルを読みます。書きません。", 12), "ファイルを読みます。…");
        assert_eq!(clip("éééééééé", 3), "ééé…");
        assert_eq!(clip("abc", 0), "…");
    }
}
