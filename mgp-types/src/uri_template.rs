//! URI templates, read as far as matching needs.

/// A URI template, reduced to the texts between its variables.
///
/// A variable stands for any text, and the server decides whether it accepts the text. All forms of RFC 6570 are
/// therefore read alike.
///
/// ```
/// use mgp_types::UriTemplate;
///
/// let rows = UriTemplate::read("db://{table}/rows/{id}");
/// assert_eq!(rows.matches("db://users/rows/7"), Some(5));
/// assert_eq!(rows.matches("db://users/columns/7"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    prefix: Box<str>,
    /// The texts after each variable; empty texts included.
    rest: Box<[Box<str>]>,
}

impl UriTemplate {
    /// Reads a template; every text is one.
    pub fn read(template: &str) -> Self {
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

    /// Returns how many bytes of `uri` stand in the template before its first variable; `None` if the URI does not
    /// match.
    pub fn matches(&self, uri: &str) -> Option<usize> {
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

/// Returns the text before the next variable, and the text behind the variable's bracket if there is one.
fn before_variable(text: &str) -> (&str, Option<&str>) {
    text.split_once('{').map_or((text, None), |(literal, behind)| (literal, Some(behind)))
}

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
            assert_eq!(UriTemplate::read(template).matches(uri), expected, "{template} {uri}");
        }
    }
}
