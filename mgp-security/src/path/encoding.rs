//! The decoder of percent-encoded paths.

use std::sync::LazyLock;

use regex::Regex;

use crate::Finding;
use crate::data_file::expression;

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
    let mut pieces = form.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    let (mut broken, mut changed) = (0, false);
    for piece in pieces {
        if let Some((unit, digits)) = encoded(piece) {
            bytes.extend(unit);
            bytes.extend_from_slice(&piece.as_bytes()[digits..]);
            changed = true;
        } else {
            broken += usize::from(BROKEN.is_match(piece));
            bytes.push(b'%');
            bytes.extend_from_slice(piece.as_bytes());
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

/// Returns the bytes that the text behind a percent sign encodes, and the number of characters that encode them.
fn encoded(text: &str) -> Option<(Vec<u8>, usize)> {
    let found = ENCODED.captures(text)?;
    let number = |group| u32::from_str_radix(found.get(group)?.as_str(), 16).ok();
    let unit = match number(1) {
        Some(code) => char::from_u32(code)?.to_string().into_bytes(),
        None => vec![u8::try_from(number(2)?).ok()?],
    };
    Some((unit, found[0].len()))
}

static ENCODED: LazyLock<Regex> = LazyLock::new(|| expression("(?i-u)^(?:u([0-9a-f]{4})|([0-9a-f]{2}))"));

/// Text behind a percent sign that some programs take for an encoding.
static BROKEN: LazyLock<Regex> =
    LazyLock::new(|| expression("(?i-u)^(?:[0-9a-f][0-9a-z]|[0-9a-z][0-9a-f]|[0-9a-f]$)"));
