//! The decoder of percent-encoded paths.

use crate::Finding;

/// Decodes one layer of encoding (`%2e`, `%u002e`, and nothing else); returns `None` if nothing was encoded.
///
/// Encodings that programs decode in different ways are refused: overlong and other sequences that are not UTF-8,
/// escapes that are truncated or malformed in a way that lenient decoders repair, and character references.
pub(crate) fn decode(form: &str) -> Result<Option<String>, Finding> {
    if form.contains("&#") {
        return Err(refused());
    }
    if !form.contains('%') {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(form.len());
    let mut rest = form.as_bytes();
    let mut broken = 0;
    let mut changed = false;
    while let Some((&first, tail)) = rest.split_first() {
        let escape = if first == b'%' { escape(tail) } else { Escape::None };
        broken += usize::from(matches!(escape, Escape::Broken));
        if let Escape::Encoded(unit, digits) = escape {
            bytes.extend(unit);
            rest = &tail[digits..];
            changed = true;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    if broken > 1 {
        return Err(refused());
    }
    let decoded = String::from_utf8(bytes).map_err(|_| refused())?;
    Ok(changed.then_some(decoded))
}

pub(super) fn refused() -> Finding {
    Finding::new("encoding", "the path is encoded in a way that programs read differently: write it plainly")
}

/// The meaning of the text after a percent sign.
enum Escape {
    /// The bytes that are encoded, and the number of characters behind the percent sign that encode them.
    Encoded(Vec<u8>, usize),
    /// Characters that some programs take for an encoding.
    Broken,
    None,
}

fn escape(tail: &[u8]) -> Escape {
    let hex = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    if matches!(tail.first(), Some(b'u' | b'U'))
        && let (Some(a), Some(b), Some(c), Some(d)) = (hex(1), hex(2), hex(3), hex(4))
    {
        return char::from_u32(a << 12 | b << 8 | c << 4 | d)
            .map_or(Escape::Broken, |it| Escape::Encoded(it.to_string().into_bytes(), 5));
    }
    match (tail.first(), tail.get(1), hex(0), hex(1)) {
        (_, _, Some(high), Some(low)) => {
            u8::try_from(high << 4 | low).map_or(Escape::Broken, |byte| Escape::Encoded(vec![byte], 2))
        }
        (Some(a), Some(b), high, low)
            if a.is_ascii_alphanumeric()
                && b.is_ascii_alphanumeric()
                && (high.is_some() || low.is_some()) =>
        {
            Escape::Broken
        }
        (_, None | Some(b'%'), Some(_), _) => Escape::Broken,
        _ => Escape::None,
    }
}
