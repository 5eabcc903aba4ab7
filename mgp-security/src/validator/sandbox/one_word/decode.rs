//! The decoder of encodings that a later program may remove.

/// Decodes one layer of encoding: percent signs, entities, and backslashes before line ends; returns `None` if nothing
/// was encoded.
pub(super) fn decode(text: &str) -> Option<String> {
    if !text.contains(['%', '&', '\\']) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut changed = false;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let found = match rest[0] {
            b'%' => hex(rest.get(1..3)).map(|byte| (byte, 3)),
            b'\\' if rest.get(1) == Some(&b'x') => hex(rest.get(2..4)).map(|byte| (byte, 4)),
            b'\\' if rest.starts_with(b"\\u00") => hex(rest.get(4..6)).map(|byte| (byte, 6)),
            b'\\' if matches!(rest.get(1), Some(b'n' | b'r')) => Some((b'\n', 2)),
            b'\\' if rest.starts_with(b"\\033") => Some((0x1b, 4)),
            b'&' => ENTITIES
                .iter()
                .find(|(name, _)| rest.starts_with(name.as_bytes()))
                .map(|(name, byte)| (*byte, name.len())),
            _ => None,
        };
        if let Some((byte, length)) = found {
            changed = true;
            out.push(byte);
            at += length;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    changed.then(|| String::from_utf8_lossy(&out).into_owned())
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let text = std::str::from_utf8(digits?).ok()?;
    u8::from_str_radix(text, 16).ok()
}

/// Returns whether the text contains `%0a` or `%0d`, which plain values never contain.
pub(super) fn hides_line_end(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1] == b'0' && matches!(three[2] | 0x20, b'a' | b'd' | b'0'))
        || text.contains("\\033[")
        || text.contains("\\x1b[")
}

const ENTITIES: [(&str, u8); 14] = [
    ("&lt;", b'<'),
    ("&gt;", b'>'),
    ("&amp;", b'&'),
    ("&quot;", b'"'),
    ("&apos;", b'\''),
    ("&#39;", b'\''),
    ("&#x27;", b'\''),
    ("&#59;", b';'),
    ("&#x3b;", b';'),
    ("&#124;", b'|'),
    ("&#x7c;", b'|'),
    ("&#38;", b'&'),
    ("&#96;", b'`'),
    ("&#10;", b'\n'),
];
