//! Percent-encoding, as URLs have it.

/// Returns the text with one layer of percent-encoding decoded; `None` if it contains no percent sign.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    text.contains('%').then(|| {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
            if let (b'%', Some(high), Some(low)) = (first, hex(tail.first()), hex(tail.get(1))) {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = &tail[2..];
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
