//! URIs of resources, with the server that has them.

use std::borrow::Cow;

use mgp_types::mgp::ServerId;

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

/// Returns the URI of a resource whose own URI another server has too: `mgp://SERVER/URI`.
pub(super) fn qualified(server: &ServerId, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", escaped(server.as_str()))
}

/// Splits `mgp://SERVER/URI` into the server, escaped, and the URI there; `None` for any other URI.
pub(super) fn parts(uri: &str) -> Option<(Cow<'_, str>, &str)> {
    let (server, uri) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((unescaped(server)?, uri)).filter(|(_, uri)| !uri.is_empty())
}

fn escaped(server: &str) -> Cow<'_, str> {
    if server.bytes().all(is_plain) {
        return Cow::Borrowed(server);
    }
    let escape =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Cow::Owned(server.bytes().map(escape).collect())
}

fn unescaped(server: &str) -> Option<Cow<'_, str>> {
    if !server.contains('%') {
        return Some(Cow::Borrowed(server));
    }
    let mut bytes = Vec::with_capacity(server.len());
    let mut left = server.as_bytes();
    while let Some((&byte, behind)) = left.split_first() {
        left = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, behind) = left.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        left = behind;
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
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
        for wrong in ["file:///a", "mgp://files", "mgp://files/", "mgp://%/x", "mgp://%f/x", "mgp://%FF/x"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
