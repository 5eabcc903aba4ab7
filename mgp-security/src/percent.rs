//! Percent-encoding, as URLs have it.

/// Returns the text with one layer of percent-encoding decoded; `None` if it contains no percent sign.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    text.contains('%').then(|| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned())
}
