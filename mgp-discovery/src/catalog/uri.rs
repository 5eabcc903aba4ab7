use std::borrow::Cow;

use mgp_types::mgp::ServerId;

/// Which server has a resource.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceOwner<'a> {
    /// The server.
    pub server: &'a ServerId,
    /// What the server calls the resource.
    pub uri: &'a str,
}

/// A resource of a server whose URI another server has too: `mgp://SERVER/URI`.
pub(super) fn qualified(server: &ServerId, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", escaped(server.as_str()))
}

/// The server, escaped, and the URI there; `None` if the URI is that of no server in particular.
pub(super) fn parts(uri: &str) -> Option<(Cow<'_, str>, &str)> {
    let (server, uri) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((unescaped(server)?, uri)).filter(|(_, uri)| !uri.is_empty())
}

/// A URI template, of which no more is known than what stands between its variables.
///
/// A variable stands for any text: whether it is one that the server takes, the server decides. So all forms of
/// RFC 6570 are read alike.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    prefix: Box<str>,
    /// What follows, each after one variable; empty if there is none.
    rest: Box<[Box<str>]>,
}

impl Template {
    pub(super) fn read(template: &str) -> Self {
        let (prefix, mut open) = before_variable(template);
        let mut rest = Vec::new();
        while let Some(variable) = open {
            let behind = variable.split_once('}').map_or("", |(_, behind)| behind);
            let (literal, next) = before_variable(behind);
            rest.push(literal.into());
            open = next;
        }
        Self { prefix: prefix.into(), rest: rest.into() }
    }

    /// How much of `uri` stands in the template before its first variable; `None` if it is not of the template.
    pub(super) fn matches(&self, uri: &str) -> Option<usize> {
        let mut left = uri.strip_prefix(&*self.prefix)?;
        let Some((last, middle)) = self.rest.split_last() else {
            return left.is_empty().then_some(self.prefix.len());
        };
        for literal in middle {
            let at = left.find(&**literal)?;
            left = &left[at + literal.len()..];
        }
        left.ends_with(&**last).then_some(self.prefix.len())
    }
}

/// What stands before the next variable, and what stands behind its bracket if there is one.
fn before_variable(text: &str) -> (&str, Option<&str>) {
    text.split_once('{').map_or((text, None), |(literal, behind)| (literal, Some(behind)))
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

const SCHEME: &str = "mgp://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_matches_what_has_its_literals_in_order() {
        for (template, uri, expected) in [
            ("file:///{path}", "file:///a/b", Some(8)),
            ("file:///{path}", "http://a", None),
            ("db://{table}/rows/{id}", "db://users/rows/7", Some(5)),
            ("db://{table}/rows/{id}", "db://users/columns/7", None),
            ("db://{table}/schema", "db://users/schema", Some(5)),
            ("db://{table}/schema", "db://users/schema/x", None),
            ("search:{?q,limit}", "search:?q=1&limit=2", Some(7)),
            ("fixed://one", "fixed://one", Some(11)),
            ("fixed://one", "fixed://one/two", None),
            ("{+any}", "x", Some(0)),
            ("torn://{a", "torn://b", Some(7)),
            ("", "x", None),
        ] {
            assert_eq!(Template::read(template).matches(uri), expected, "{template} {uri}");
        }
    }

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
