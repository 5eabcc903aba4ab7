//! Declarations about code that tools accept (§7), and rejections that say how to correct the code.

use crate::macros::record;
use crate::macros::words::levels;

levels! {
    /// The level of restriction on code that a tool accepts (§7.2), from the least to the most.
    ///
    /// ```
    /// use mgp_types::mgp::SafetyLevel;
    ///
    /// assert!(SafetyLevel::Standard < SafetyLevel::Strict);
    /// assert_eq!(SafetyLevel::read("paranoid"), SafetyLevel::Readonly);
    /// ```
    #[derive(Default)]
    SafetyLevel else Readonly {
        /// The code is not checked.
        Unrestricted = "unrestricted",
        /// Known dangerous imports and patterns are refused.
        Standard = "standard",
        /// Only allowed imports are accepted, no dangerous pattern, and a limited size.
        Strict = "strict",
        /// The rules of [`Strict`](Self::Strict) hold, and code that writes is refused. This is also the level of a word
        /// that cannot be read, which must not loosen anything.
        #[default]
        Readonly = "readonly",
    }
}

record! {
    /// The declaration of a tool about the code it accepts: `security.code_safety` (§7.3).
    ///
    /// Unknown members are ignored. A member of the wrong type is an error: a list of blocked imports that cannot be read
    /// must not count as an empty one.
    pub struct CodeSafety: Default, Eq, Hash {
        /// The level of restriction.
        #[serde(default)]
        required level: SafetyLevel;
        /// The language of the code, like `python`.
        optional language: Box<str> => into with_language;
        /// The greatest size of accepted code in bytes.
        optional max_code_size_bytes: u64;
        /// The imports that are refused, with all that lies below them.
        list blocked_imports: Box<str>;
        /// The pieces of code that are refused, like `eval(`.
        list blocked_patterns: Box<str>;
        /// The only imports that are accepted from [`SafetyLevel::Strict`] on, and a hint below; `None` leaves the choice
        /// to the reader.
        optional allowed_imports: Vec<Box<str>>;
    }

    /// The rejection of code, in a form by which an agent can correct the code (§7.4).
    ///
    /// ```
    /// use mgp_types::mgp::CodeRejection;
    ///
    /// let rejection = CodeRejection::new(vec!["Blocked import: 'socket'".into()]);
    /// let json = serde_json::to_string(&rejection)?;
    /// assert!(json.starts_with(r#"{"status":"rejected","reason":"Code validation failed""#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(thiserror::Error)]
    #[error("{reason}: {}", violations.join(", "))]
    #[serde(tag = "status", rename = "rejected")]
    pub struct CodeRejection: Default, Eq {
        /// The reason, in words.
        plain reason: Box<str>;
        /// The violations, each once: `Blocked import: 'X'`, `Blocked pattern: 'X'`, or a sentence.
        default violations: Vec<Box<str>>;
        /// The hints at code that would be accepted.
        default hints: Box<CodeHints>;
        /// The places of the violations. The specification does not have this member; it is left out if no place is known.
        list locations: CodeLocation;
    }

    /// The hints at code that would be accepted (§7.4).
    pub struct CodeHints as exhaustive: Default, Eq {
        /// The imports that are refused as declared; others may be, too.
        list blocked_imports: Box<str>;
        /// The imports that are accepted as declared; empty if the check's own lists decide.
        list allowed_imports: Box<str>;
        /// The greatest size of accepted code in bytes, if there is a limit.
        optional max_code_size_bytes: u64;
    }

    /// The place of a violation in the code.
    pub struct CodeLocation as exhaustive: Eq {
        /// The line, counted from 1.
        plain line: usize;
        /// The column in characters, counted from 1.
        plain column: usize;
        /// The violation, as it stands in [`CodeRejection::violations`].
        plain violation: Box<str>;
    }
}

impl CodeSafety {
    /// Returns the stricter of both in every member, for `self` from the configuration and `declared` from the server.
    /// A server can thus add restrictions and remove none.
    ///
    /// The configured language counts if there is one, because a server that names another language must not change how
    /// code is read.
    pub fn confine(&self, declared: &Self) -> Self {
        let sizes = [self.max_code_size_bytes, declared.max_code_size_bytes];
        Self {
            level: self.level.max(declared.level),
            language: self.language.clone().or_else(|| declared.language.clone()),
            max_code_size_bytes: sizes.into_iter().flatten().min(),
            blocked_imports: union(&self.blocked_imports, &declared.blocked_imports),
            blocked_patterns: union(&self.blocked_patterns, &declared.blocked_patterns),
            allowed_imports: match (&self.allowed_imports, &declared.allowed_imports) {
                (Some(ours), Some(theirs)) => Some(intersection(ours, theirs)),
                (ours, theirs) => ours.as_ref().or(theirs.as_ref()).cloned(),
            },
        }
    }
}

const REASON: &str = "Code validation failed";

impl CodeRejection {
    /// Creates a rejection for `violations`, without hints.
    pub fn new(violations: Vec<Box<str>>) -> Self {
        Self { reason: REASON.into(), violations, ..Self::default() }
    }

    crate::setters! { self =>
        /// Sets the hints.
        pub fn with_hints(hints: CodeHints) => self.hints = Box::new(hints);

        /// Sets the places of the violations.
        pub fn with_locations(locations: Vec<CodeLocation>) => self.locations = locations;
    }
}

fn union(ours: &[Box<str>], theirs: &[Box<str>]) -> Vec<Box<str>> {
    let added = theirs.iter().filter(|name| !ours.contains(name));
    ours.iter().chain(added).cloned().collect()
}

/// Returns the imports that both lists admit. An entry admits everything below it, so `os` and `os.path` have `os.path`
/// in common.
fn intersection(ours: &[Box<str>], theirs: &[Box<str>]) -> Vec<Box<str>> {
    let in_both = ours.iter().filter(|name| theirs.iter().any(|other| admits(other, name)));
    let narrower =
        theirs.iter().filter(|name| ours.iter().any(|other| other != *name && admits(other, name)));
    in_both.chain(narrower).cloned().collect()
}

fn admits(entry: &str, name: &str) -> bool {
    name.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-7.2-01..04
    #[test]
    fn the_four_levels_are_read_as_they_are_written_and_ordered() {
        use SafetyLevel::{Readonly, Standard, Strict, Unrestricted};
        let levels = [Unrestricted, Standard, Strict, Readonly];
        assert!(levels.is_sorted());
        for level in levels {
            assert_eq!(SafetyLevel::read(level.as_str()), level);
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("\"{level}\""));
        }
    }

    #[test]
    fn a_server_adds_restrictions_and_removes_none() {
        let ours: CodeSafety = serde_json::from_str(
            r#"{"level":"strict","max_code_size_bytes":500,"blocked_imports":["socket"],"allowed_imports":["os","json"]}"#,
        )
        .unwrap();
        let theirs: CodeSafety = serde_json::from_str(
            r#"{"level":"unrestricted","language":"python","max_code_size_bytes":9000,"blocked_imports":["ssl"],"blocked_patterns":["x("],"allowed_imports":["os.path","socket","json"]}"#,
        )
        .unwrap();
        let both = ours.confine(&theirs);
        assert_eq!(both.level, SafetyLevel::Strict);
        assert_eq!(both.language.as_deref(), Some("python"));
        assert_eq!(both.max_code_size_bytes, Some(500));
        assert_eq!(both.blocked_imports, ["socket".into(), "ssl".into()]);
        assert_eq!(both.blocked_patterns, ["x(".into()]);
        assert_eq!(both.allowed_imports.unwrap(), ["json".into(), "os.path".into()]);
    }

    #[test]
    fn lists_without_anything_in_common_allow_nothing() {
        let allow = |name: &str| CodeSafety {
            allowed_imports: Some(vec![name.into()]),
            ..CodeSafety::new(SafetyLevel::Strict)
        };
        assert_eq!(allow("json").confine(&allow("jsonpickle")).allowed_imports, Some(Vec::new()));
    }
}
