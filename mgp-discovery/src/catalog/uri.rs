//! URIs of resources, with the server that has them.

use std::borrow::Cow;

use mgp_types::mgp::ServerId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The server that has a resource, and its URI there.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceOwner<'a> {
    /// The server.
    pub server: &'a ServerId,
    /// The URI of the resource at its server.
    pub uri: &'a str,
}

const SCHEME: &str = "mgp://";

/// The characters that an id in a URI is not written with.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-');

/// Returns the URI of a resource whose own URI another server has too: `mgp://SERVER/URI`.
pub(super) fn qualified(server: &ServerId, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", utf8_percent_encode(server.as_str(), ESCAPED))
}

/// Splits `mgp://SERVER/URI` into the server, escaped, and the URI there; `None` for any other URI.
pub(super) fn parts(uri: &str) -> Option<(Cow<'_, str>, &str)> {
    let (server, uri) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let server = percent_decode_str(server).decode_utf8().ok()?;
    Some((server, uri)).filter(|(_, uri)| !uri.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qualified_uri_is_read_back_whatever_the_server_is_called() {
        for (server, uri) in
            [("files", "file:///a?b#c"), ("a b/ü%", "x"), ("mind.cerebras", "mgp://other/mgp://x/y")]
        {
            let qualified = qualified(&server.into(), uri);
            assert_eq!(parts(&qualified), Some((Cow::Borrowed(server), uri)), "{qualified}");
        }
        for wrong in ["file:///a", "mgp://files", "mgp://files/", "mgp://%FF/x"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
