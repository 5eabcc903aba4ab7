//! The glob patterns of scopes.

use std::fmt::Write as _;

use regex::Regex;

use super::ScopeError;

/// A glob pattern as shells know it: `*`, `?`, `[a-z]`, `[!a-z]`, `\` to make the next character literal, and in
/// paths `**` for any number of directories.
///
/// A pattern becomes a regular expression, whose time is proportional to the length of the text times its own: no
/// pattern makes it slow.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    pattern: Regex,
    folded: bool,
}

/// The kind of text that a pattern is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlobKind {
    /// Paths, in which `*` and `?` stop at a slash.
    Path,
    /// Paths without regard to case, where a pattern that matches a directory also matches all that lies in it.
    Tree,
    /// Other texts, in which `*` matches any characters.
    Text,
    /// Other texts, without regard to case.
    FoldedText,
}

impl Glob {
    pub(super) fn new(pattern: &str, kind: GlobKind) -> Result<Self, ScopeError> {
        let folded = matches!(kind, GlobKind::Tree | GlobKind::FoldedText);
        let slash = matches!(kind, GlobKind::Text | GlobKind::FoldedText);
        let pattern = if folded { pattern.to_lowercase() } else { pattern.to_owned() };
        let chars: Vec<char> = pattern.chars().collect();
        let is_usable = !chars.is_empty() && chars.len() <= MAX_PATTERN_CHARS && !chars.contains(&'\0');
        let translated = if is_usable { translated(&chars, slash) } else { None };
        let below = if kind == GlobKind::Tree { "(?:/.*)?" } else { "" };
        match translated.map(|translated| Regex::new(&format!(r"(?s)\A(?:{translated}){below}\z"))) {
            Some(Ok(pattern)) => Ok(Self { pattern, folded }),
            _ => Err(ScopeError(pattern)),
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        if self.folded {
            self.pattern.is_match(&text.chars().flat_map(char::to_lowercase).collect::<String>())
        } else {
            self.pattern.is_match(text)
        }
    }
}

/// Returns the regular expression of a pattern; `None` if the pattern is broken. `slash` says whether `*` and `?` match
/// slashes.
fn translated(mut rest: &[char], slash: bool) -> Option<String> {
    let one = if slash { "." } else { "[^/]" };
    let mut out = String::new();
    let mut at_name = true;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            '\\' => {
                let (&literal, behind) = rest.split_first()?;
                rest = behind;
                push_literal(&mut out, literal);
            }
            '?' => out.push_str(one),
            '[' => {
                let (class, behind) = class(rest)?;
                rest = behind;
                // Writing into a string does not fail.
                let _ = if slash { write!(out, "{class}") } else { write!(out, "[{class}&&[^/]]") };
            }
            '*' => {
                let stars = rest.iter().take_while(|&&c| c == '*').count();
                rest = &rest[stars..];
                if !slash && stars > 0 && at_name && rest.first() == Some(&'/') {
                    rest = &rest[1..];
                    out.push_str("(?:[^/]*/)*");
                    // A slash went before, so `**/` can follow again.
                    continue;
                }
                out.push_str(if stars > 0 { "." } else { one });
                out.push('*');
            }
            literal => push_literal(&mut out, literal),
        }
        at_name = first == '/';
    }
    Some(out)
}

/// Returns the regular expression of a class, with the pattern behind it.
fn class(mut rest: &[char]) -> Option<(String, &[char])> {
    let negated = matches!(rest.first(), Some('!' | '^'));
    rest = &rest[usize::from(negated)..];
    let mut out = String::from(if negated { "[^" } else { "[" });
    let start = out.len();
    loop {
        let (&first, behind) = rest.split_first()?;
        rest = behind;
        match first {
            // A bracket that comes first is a member of the class.
            ']' if out.len() > start => {
                out.push(']');
                return Some((out, rest));
            }
            '\\' => {
                let (&literal, behind) = rest.split_first()?;
                rest = behind;
                push_literal(&mut out, literal);
            }
            from => {
                push_literal(&mut out, from);
                if let ['-', to, behind @ ..] = rest
                    && *to != ']'
                {
                    if *to < from {
                        return None;
                    }
                    rest = behind;
                    out.push('-');
                    push_literal(&mut out, *to);
                }
            }
        }
    }
}

fn push_literal(out: &mut String, literal: char) {
    // Writing into a string does not fail.
    let _ = write!(out, r"\x{{{:x}}}", u32::from(literal));
}

/// The largest length of a pattern, in characters.
const MAX_PATTERN_CHARS: usize = 512;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern, GlobKind::Path).unwrap().matches(text)
    }

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        assert!(matches("/data/*.rs", "/data/a.rs") && !matches("/data/*.rs", "/data/b/a.rs"));
        assert!(matches("/data/**", "/data/b/a.rs") && !matches("/data/**", "/datas/a.rs"));
        assert!(matches("/data/**/a.rs", "/data/a.rs") && matches("/data/**/a.rs", "/data/b/c/a.rs"));
        assert!(!matches("/data/**/a.rs", "/data/ba.rs"));
        assert!(
            matches("**/.env", ".env") && matches("**/.env", "/x/y/.env") && !matches("**/.env", "x.env")
        );
    }

    #[test]
    fn classes_and_escapes_are_those_of_shells() {
        assert!(
            matches("[a-c]?[!x]", "bzz") && !matches("[a-c]?[!x]", "bzx") && !matches("[a-c]?[!x]", "dzz")
        );
        assert!(matches(r"\*[]]", "*]") && !matches("[!a]b", "/b"));
        assert!(Glob::new("*.EXAMPLE.com", GlobKind::FoldedText).unwrap().matches("a.b.Example.COM"));
    }

    #[test]
    fn a_directory_is_covered_with_all_that_lies_in_it() {
        let covers = |pattern, path| Glob::new(pattern, GlobKind::Tree).unwrap().matches(path);
        assert!(covers("/etc", "/etc") && covers("/etc", "/etc/ssl/key") && !covers("/etc", "/etcetera"));
        assert!(covers("**/.git", "/x/.git/config") && !covers("/etc/*", "/etc"));
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        for pattern in ["", "[a", "[", "[!", "a\\", "[b-a]", "[\\", "a\0", &"a".repeat(600)] {
            assert!(Glob::new(pattern, GlobKind::Path).is_err(), "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_their_number() {
        let pattern = "*a".repeat(200);
        assert!(!matches(&pattern, &"a".repeat(4000).replace('a', "ab")));
        assert!(!matches(&"**/".repeat(150), &"a/".repeat(2000).replace("a/", "a//b")));
    }

    proptest! {
        #[test]
        fn any_pattern_is_read_or_refused_and_matched_without_panic(pattern in r"[\[\]\\!^*?/a-c-]{0,20}", text in "[/a-c]{0,20}") {
            if let Ok(glob) = Glob::new(&pattern, GlobKind::Path) {
                let _ = glob.matches(&text);
            }
        }

        #[test]
        fn a_text_without_special_characters_matches_itself_alone(text in "[a-z/.]{1,20}", other in "[a-z/.]{1,20}") {
            prop_assert!(matches(&text, &text));
            prop_assert_eq!(matches(&text, &other), text == other);
        }
    }
}
