//! Backslash escapes as `$'..'`, `echo -e` and `printf` decode them.

use std::sync::LazyLock;

use regex::Regex;

/// Decodes the escapes in `text`; all other text stays as it is.
pub(crate) fn decode_escapes(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            bytes.push(b'\\');
            break;
        };
        let after = &rest[kind.len_utf8()..];
        let (radix, most, digits) = match kind {
            'x' => (16, 2, after),
            'u' => (16, 4, after),
            'U' => (16, 8, after),
            '0' => (8, 3, after),
            '1'..='7' => (8, 3, rest),
            _ => {
                if let Some(byte) = simple(kind) {
                    bytes.push(byte);
                } else {
                    bytes.push(b'\\');
                    bytes.extend_from_slice(&rest.as_bytes()[..kind.len_utf8()]);
                }
                rest = after;
                continue;
            }
        };
        let length = digits.bytes().take(most).take_while(|&b| (b as char).is_digit(radix)).count();
        match u32::from_str_radix(&digits[..length], radix) {
            Ok(code) if matches!(kind, 'u' | 'U') => {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Ok(code) => bytes.push(u8::try_from(code & 0xff).unwrap_or(b'?')),
            Err(_) if kind == '0' => bytes.push(b'?'),
            Err(_) => bytes.extend_from_slice(&[b'\\', kind as u8]),
        }
        rest = &digits[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).replace('\0', "?")
}

/// Returns whether `text` writes plain visible characters as numbers. There is no reason to do so other than to hide
/// them.
pub(crate) fn hides_letters(text: &str) -> bool {
    NUMBERS.find_iter(text).any(|found| {
        let decoded = decode_escapes(found.as_str()).chars().next();
        decoded.is_some_and(|c| (c.is_ascii_graphic() || c == ' ') && c != '\\' && c != '?')
    })
}

/// A character that is written as a number.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\\(?:x[[:xdigit:]]{0,2}|u[[:xdigit:]]{0,4}|U[[:xdigit:]]{0,8}|0[0-7]{0,3}|[1-7][0-7]{0,2})")
        .expect("the pattern is a constant, and the tests compile it")
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
