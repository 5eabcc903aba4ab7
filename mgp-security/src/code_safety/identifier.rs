//! Identifiers and tokens of code, in the form in which interpreters read them.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns the name that an identifier stands for: Python reads `ｅｖａｌ` as `eval`, and JavaScript `\u0065val`.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && byte != b'\\') {
        return Cow::Borrowed(text);
    }
    let unescaped = if text.contains('\\') { unescape(text) } else { text.to_owned() };
    Cow::Owned(unescaped.nfkc().collect())
}

/// Splits code into names, numbers and single punctuation characters, without the space between them.
pub(super) fn split_tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end =
            if is_part(first) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '\\')
}

/// Resolves the escapes that JavaScript allows within a name.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let (digits, after) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(parts) => parts,
            None => rest.split_at_checked(4).unwrap_or((rest, "")),
        };
        rest = after;
        out.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_other_letters_is_the_same_name() {
        for text in ["eval", "ｅｖａｌ", "𝘦𝘷𝘢𝘭", r"\u0065val", r"ev\u{61}l"] {
            assert_eq!(plain(text), "eval", "{text}");
        }
        assert_eq!(plain("_\u{ff3f}import__"), "__import__");
    }

    #[test]
    fn space_does_not_change_the_tokens() {
        let tokens = |text| split_tokens(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(tokens("os . system ("), tokens("os.system("));
        assert_eq!(tokens("a.b"), ["a", ".", "b"]);
    }
}
