//! Identifiers and tokens of code, in the form in which interpreters read them.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns the name that an identifier stands for: Python reads `ｅｖａｌ` as `eval`, and JavaScript `\u0065val`.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && byte != b'\\') {
        return Cow::Borrowed(text);
    }
    let mut unescaped = String::new();
    if text.contains("\\u") {
        unescape(text, &mut unescaped);
    } else {
        unescaped.push_str(text);
    }
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

/// Decodes the escapes that Python or JavaScript allows in strings and names; the controls that lay out text become blanks.
pub(super) fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(sign) = rest.chars().next() else { break };
        let from = rest;
        rest = &rest[sign.len_utf8()..];
        let braced = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (digits, radix, most) = match (sign, braced) {
            ('x', _) => (rest, 16, 2),
            ('u', Some((digits, after))) => {
                out.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
                rest = after;
                continue;
            }
            ('u', None) => (rest, 16, 4),
            ('U', _) => (rest, 16, 8),
            ('0'..='7', _) => (from, 8, 3),
            ('\n', _) => continue,
            ('N', Some((name, after))) => {
                out.push(named(name));
                rest = after;
                continue;
            }
            (other, _) => {
                out.push(if matches!(other, 'n' | 't' | 'r') { ' ' } else { other });
                continue;
            }
        };
        let digits = &digits[..digits.chars().take(most).take_while(|c| c.is_digit(radix)).count()];
        rest = &(if radix == 8 { from } else { rest })[digits.len()..];
        out.extend(u32::from_str_radix(digits, radix).ok().and_then(char::from_u32));
    }
    out.push_str(rest);
}

/// Returns the character of a Unicode name, as far as names in Python consist of such characters.
fn named(name: &str) -> char {
    let name = name.to_uppercase();
    let name = name.strip_prefix("FULLWIDTH ").unwrap_or(&name);
    match (name, name.strip_prefix("LATIN SMALL LETTER ")) {
        ("LOW LINE", _) => '_',
        ("FULL STOP", _) => '.',
        (_, Some(letter)) if letter.len() == 1 => letter.to_lowercase().chars().next().unwrap_or('?'),
        _ => '?',
    }
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
