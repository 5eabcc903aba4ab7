//! Backslash escapes as `$'..'`, `echo -e` and `printf` decode them.

use std::sync::LazyLock;

use regex::Regex;

use crate::data_file::expression;

/// Decodes the escapes in `text`; all other text stays as it is.
pub(crate) fn decode_escapes(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut end = 0;
    for found in ESCAPES.find_iter(text) {
        bytes.extend_from_slice(&text.as_bytes()[end..found.start()]);
        end = found.end();
        let escape = &found.as_str()[1..];
        let kind = escape.chars().next().unwrap_or_default();
        let code = match kind {
            'x' | 'u' | 'U' => u32::from_str_radix(&escape[1..], 16).ok(),
            // Nothing but the zero is shown as a question mark.
            '0' => Some(u32::from_str_radix(&escape[1..], 8).unwrap_or(0x3f)),
            '1'..='7' => u32::from_str_radix(escape, 8).ok(),
            _ => simple(kind).map(u32::from),
        };
        match code {
            Some(code) if matches!(kind, 'u' | 'U') => {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(code) => bytes.push(u8::try_from(code & 0xff).unwrap_or(b'?')),
            None => bytes.extend_from_slice(found.as_str().as_bytes()),
        }
    }
    bytes.extend_from_slice(&text.as_bytes()[end..]);
    String::from_utf8_lossy(&bytes).replace('\0', "?")
}

/// Returns whether `text` writes plain visible characters as numbers. There is no reason to do so other than to hide
/// them.
pub(crate) fn hides_letters(text: &str) -> bool {
    let numbers =
        ESCAPES.find_iter(text).filter(|found| b"xuU01234567".contains(&found.as_str().as_bytes()[1]));
    numbers
        .filter_map(|found| decode_escapes(found.as_str()).chars().next())
        .any(|decoded| (decoded.is_ascii_graphic() || decoded == ' ') && decoded != '\\' && decoded != '?')
}

/// An escape: a character that is written as a number, or any character after a backslash.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?s)\\(?:x[[:xdigit:]]{0,2}|u[[:xdigit:]]{0,4}|U[[:xdigit:]]{0,8}|0[0-7]{0,3}|[1-7][0-7]{0,2}|.)",
    )
});

const fn simple(kind: char) -> Option<u8> {
    Some(match kind {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'v' => 11,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '?' => b'?',
        _ => return None,
    })
}

/// Returns the word quoted, so that a shell reads it as a single word.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
