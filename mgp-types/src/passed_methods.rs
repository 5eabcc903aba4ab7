//! The methods of vendors that the operator lets pass to a server.

use std::str::FromStr;

use crate::MethodRule;

/// The methods that neither MCP nor MGP knows and that the operator lets pass to a server.
///
/// Each pattern is the name of a method, or ends in `/*`, which stands for one segment or more. No pattern matches a
/// method of MCP or MGP, in whatever case it is written, nor a name with blanks, control characters or letters beyond
/// ASCII.
///
/// ```
/// use mgp_types::PassedMethods;
///
/// let passed = PassedMethods::of(["vendor/*".parse()?, "notifications/vendor/ready".parse()?]);
/// assert!(passed.has("vendor/models/list"));
/// assert!(!passed.has("vendor") && !passed.has("vendors/list") && !passed.has("tools/call"));
/// # Ok::<(), mgp_types::InvalidMethodPattern>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassedMethods(Box<[MethodPattern]>);

/// One pattern of [`PassedMethods`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodPattern {
    name: Box<str>,
    /// True if the name is a prefix of the methods, up to a slash.
    is_prefix: bool,
}

/// The reasons why a text is no pattern of methods.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMethodPattern {
    /// The text is empty, or has characters that no method has.
    #[error(
        "this is not the name of a method; write a name such as `vendor/status`, or `vendor/*` for all that begin so"
    )]
    Malformed,
    /// The text names a method that the kernel knows.
    #[error("the kernel routes this method itself; leave it out")]
    Known,
}

impl PassedMethods {
    /// Creates the set of the methods that one of `patterns` matches.
    pub fn of(patterns: impl IntoIterator<Item = MethodPattern>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// Returns whether the method called `name` is in the set.
    pub fn has(&self, name: &str) -> bool {
        !self.0.is_empty()
            && is_plain(name)
            && !is_known(name)
            && self.0.iter().any(|pattern| pattern.matches(name))
    }
}

impl MethodPattern {
    fn matches(&self, name: &str) -> bool {
        match name.strip_prefix(&*self.name) {
            Some(rest) if self.is_prefix => rest.len() > 1 && rest.starts_with('/'),
            Some(rest) => rest.is_empty(),
            None => false,
        }
    }
}

impl FromStr for MethodPattern {
    type Err = InvalidMethodPattern;

    fn from_str(pattern: &str) -> Result<Self, InvalidMethodPattern> {
        let name = pattern.strip_suffix("/*").unwrap_or(pattern);
        if !is_plain(name) || name.contains('*') || name == "notifications" {
            return Err(InvalidMethodPattern::Malformed);
        }
        if is_known(name) {
            return Err(InvalidMethodPattern::Known);
        }
        Ok(Self { name: name.into(), is_prefix: name != pattern })
    }
}

crate::write_as!(Display of MethodPattern, self => "{}{}", self.name, if self.is_prefix { "/*" } else { "" });

const OWN_SPACES: [&str; 3] = ["mgp/", "kernel/", "notifications/mgp."];
const MAX_BYTES: usize = 128;

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns whether MCP or MGP has a method of this name in some case, or the name stands in a space of MGP or the
/// kernel.
fn is_known(name: &str) -> bool {
    let begins = |space: &str| name.get(..space.len()).is_some_and(|head| head.eq_ignore_ascii_case(space));
    OWN_SPACES.into_iter().any(begins) || MethodRule::all().any(|rule| rule.method.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(patterns: &[&str]) -> PassedMethods {
        PassedMethods::of(patterns.iter().map(|pattern| pattern.parse().unwrap()))
    }

    #[test]
    fn a_pattern_matches_by_segments() {
        let passed = passed(&["vendor/*", "shutdown", "notifications/vendor/*"]);
        for name in ["vendor/x", "vendor/x/y", "shutdown", "notifications/vendor/x"] {
            assert!(passed.has(name), "{name}");
        }
        for name in
            ["vendor", "vendor/", "vendorx/y", "Vendor/x", "shutdown/x", "shutdowns", "notifications/x", ""]
        {
            assert!(!passed.has(name), "{name}");
        }
    }

    #[test]
    fn nothing_that_is_known_or_looks_like_it_is_passed() {
        let passed = passed(&["tools/*", "notifications/tools/*", "sampling/*"]);
        for name in [
            "tools/call",
            "Tools/Call",
            "TOOLS/CALL",
            "tools/call ",
            "tools/call\n",
            "tools/\u{ff43}all",
            "tools/call\u{200b}",
            "notifications/tools/list_changed",
            "sampling/createmessage",
        ] {
            assert!(!passed.has(name), "{name:?}");
        }
        assert!(passed.has("tools/paint"));
        for (pattern, error) in [
            ("tools/call", InvalidMethodPattern::Known),
            ("Ping", InvalidMethodPattern::Known),
            ("mgp/x", InvalidMethodPattern::Known),
            ("kernel/keys/new", InvalidMethodPattern::Known),
            ("", InvalidMethodPattern::Malformed),
            ("*", InvalidMethodPattern::Malformed),
            ("/*", InvalidMethodPattern::Malformed),
            ("a b", InvalidMethodPattern::Malformed),
            ("ven*/x", InvalidMethodPattern::Malformed),
            ("notifications/*", InvalidMethodPattern::Malformed),
        ] {
            assert_eq!(pattern.parse::<MethodPattern>(), Err(error), "{pattern}");
        }
        assert!("mgp/*".parse::<MethodPattern>().is_ok_and(|it| !PassedMethods::of([it]).has("mgp/later")));
    }
}
