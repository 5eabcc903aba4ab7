//! URI templates, as a server matches them.

use std::borrow::Cow;
use std::sync::Arc;

/// A URI template of RFC 6570, level 1: text with variables like `{id}`.
///
/// A variable stands for one or more characters other than `/`, `?` and `#`, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedTemplate {
    /// The text in front of each variable.
    pieces: Vec<Piece>,
    /// The text behind the last variable.
    rest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    text: String,
    variable: Arc<str>,
}

impl ParsedTemplate {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (variable, behind) = behind.split_once('}').ok_or("a `{` is not closed")?;
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
            if variable.is_empty() || !variable.bytes().all(legal) {
                return Err(format!("`{{{variable}}}` is not a variable of RFC 6570 level 1"));
            }
            if pieces.iter().any(|piece| *piece.variable == *variable) {
                return Err(format!("the variable `{variable}` occurs twice"));
            }
            if before.is_empty() && !pieces.is_empty() {
                return Err(format!("nothing tells where `{variable}` begins"));
            }
            pieces.push(Piece { text: before.into(), variable: variable.into() });
            rest = behind;
        }
        if rest.contains('}') {
            return Err("a `}` has no `{`".into());
        }
        Ok(Self { pieces, rest: rest.into() })
    }

    /// Returns whether there is a variable of this name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.pieces.iter().any(|piece| &*piece.variable == name)
    }

    /// Returns the variables and their values in `uri`, in order; `None` if the URI does not match.
    pub(crate) fn matched(&self, uri: &str) -> Option<Vec<(Arc<str>, String)>> {
        let mut values = Vec::with_capacity(self.pieces.len());
        let mut at = uri;
        for (index, piece) in self.pieces.iter().enumerate() {
            at = at.strip_prefix(&*piece.text)?;
            let next = self.pieces.get(index + 1).map_or(&*self.rest, |next| &*next.text);
            let reach = at.find(['/', '?', '#']).unwrap_or(at.len());
            let end = if index + 1 == self.pieces.len() {
                // The last variable reaches as far as the text behind it allows.
                at.strip_suffix(next)?.len()
            } else {
                at.find(next)?
            };
            if end == 0 || end > reach {
                return None;
            }
            values.push((piece.variable.clone(), decode(&at[..end])?.into_owned()));
            at = &at[end..];
        }
        (at == self.rest).then_some(values)
    }
}

/// Decodes the percent-encoding.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<String>> {
        let matched = ParsedTemplate::parse(template).unwrap().matched(uri);
        matched.map(|values| values.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn variables_take_what_stands_in_their_place() {
        assert_eq!(matched("test://template/{id}/data", "test://template/123/data").unwrap(), ["123"]);
        assert_eq!(matched("a://{x}/{y}", "a://1/2").unwrap(), ["1", "2"]);
        assert_eq!(matched("a://{x}-{y}", "a://1-2-3").unwrap(), ["1", "2-3"]);
        assert_eq!(matched("a://{x}", "a://b%20c%2Fd").unwrap(), ["b c/d"]);
    }

    #[test]
    fn other_uris_do_not_match() {
        for uri in
            ["test://template//data", "test://template/1/2/data", "test://template/1", "x", "", "a://%zz"]
        {
            assert_eq!(matched("test://template/{id}/data", uri), None, "{uri}");
        }
        assert_eq!(matched("a://{x}", "a://%zz"), None);
        assert_eq!(matched("a://{x}", "a://1?q"), None);
        assert_eq!(matched("a://b", "a://b").unwrap(), [""; 0]);
        assert_eq!(matched("a://b", "a://bc"), None);
    }

    #[test]
    fn templates_beyond_level_1_are_refused() {
        for template in ["a://{+x}", "a://{x", "a://x}", "a://{}", "a://{x}{y}", "a://{x}/{x}", "a://{x,y}"] {
            assert!(ParsedTemplate::parse(template).is_err(), "{template}");
        }
    }
}
