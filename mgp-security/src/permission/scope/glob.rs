//! The glob patterns of scopes.

use super::ScopeError;

/// A glob pattern as shells know it: `*`, `?`, `[a-z]`, `[!a-z]`, `\` to make the next character literal, and in
/// paths `**` for any number of directories.
///
/// Matching walks the text once with the set of all positions in the pattern that may be reached, so no pattern makes
/// it slow: the time is proportional to the length of the text times that of the pattern.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    tokens: Box<[GlobToken]>,
    folded: bool,
}

/// The kind of text that a pattern is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlobKind {
    /// Paths, in which `*` and `?` stop at a slash.
    Path,
    /// Other texts, in which `*` matches any characters.
    Text,
}

/// The treatment of upper and lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlobCase {
    Exact,
    Folded,
}

#[derive(Debug, Clone)]
enum GlobToken {
    Literal(char),
    /// The token `?`; the flag says whether it matches a slash.
    One {
        slash: bool,
    },
    Class {
        negated: bool,
        ranges: Box<[(char, char)]>,
        slash: bool,
    },
    /// The token `*`, or `**` where it matches slashes.
    Many {
        slash: bool,
    },
    /// The token `**/` at the start of a directory's name. It takes two positions: this one, and the next for within
    /// a name.
    Directories,
    WithinDirectory,
}

impl Glob {
    pub(super) fn new(pattern: &str, kind: GlobKind, case: GlobCase) -> Result<Self, ScopeError> {
        let folded = case == GlobCase::Folded;
        let pattern = if folded { pattern.to_lowercase() } else { pattern.to_owned() };
        let chars: Vec<char> = pattern.chars().collect();
        if chars.is_empty() || chars.len() > MAX_PATTERN_CHARS || chars.contains(&'\0') {
            return Err(ScopeError::Pattern { pattern });
        }
        match tokens(&chars, kind == GlobKind::Text) {
            Some(tokens) => Ok(Self { tokens: tokens.into(), folded }),
            None => Err(ScopeError::Pattern { pattern }),
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.run_folded(text, false)
    }

    /// Returns whether the pattern matches the path, or a directory that contains it.
    pub(super) fn covers(&self, path: &str) -> bool {
        self.run_folded(path, true)
    }

    fn run_folded(&self, text: &str, covering: bool) -> bool {
        if self.folded {
            self.run(text.chars().flat_map(char::to_lowercase), covering)
        } else {
            self.run(text.chars(), covering)
        }
    }

    fn run(&self, text: impl Iterator<Item = char>, covering: bool) -> bool {
        let places = self.tokens.len() + 1;
        let (mut now, mut next) = (vec![false; places], vec![false; places]);
        self.enter(&mut now, 0);
        for c in text {
            if covering && c == '/' && now[self.tokens.len()] {
                return true;
            }
            next.fill(false);
            for (place, token) in self.tokens.iter().enumerate().filter(|(place, _)| now[*place]) {
                match token {
                    GlobToken::Literal(literal) if *literal == c => self.enter(&mut next, place + 1),
                    GlobToken::One { slash } if *slash || c != '/' => self.enter(&mut next, place + 1),
                    GlobToken::Class { negated, ranges, slash } if *slash || c != '/' => {
                        let inside = ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                        if inside != *negated {
                            self.enter(&mut next, place + 1);
                        }
                    }
                    GlobToken::Many { slash } if *slash || c != '/' => self.enter(&mut next, place),
                    GlobToken::Directories if c == '/' => self.enter(&mut next, place),
                    GlobToken::Directories => next[place + 1] = true,
                    GlobToken::WithinDirectory if c == '/' => self.enter(&mut next, place - 1),
                    GlobToken::WithinDirectory => next[place] = true,
                    _ => {}
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        now[self.tokens.len()]
    }

    /// Marks `place`, and the positions that can be reached from it without a character.
    fn enter(&self, places: &mut [bool], mut place: usize) {
        while !std::mem::replace(&mut places[place], true) {
            match self.tokens.get(place) {
                Some(GlobToken::Many { .. }) => place += 1,
                Some(GlobToken::Directories) => place += 2,
                _ => return,
            }
        }
    }
}

fn tokens(mut rest: &[char], slash: bool) -> Option<Vec<GlobToken>> {
    let mut tokens = Vec::new();
    let mut at_name = true;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            '\\' => {
                let (&literal, behind) = rest.split_first()?;
                rest = behind;
                tokens.push(GlobToken::Literal(literal));
            }
            '?' => tokens.push(GlobToken::One { slash }),
            '[' => {
                let (class, behind) = class(rest, slash)?;
                rest = behind;
                tokens.push(class);
            }
            '*' => {
                let stars = rest.iter().take_while(|&&c| c == '*').count();
                rest = &rest[stars..];
                if !slash && stars > 0 && at_name && rest.first() == Some(&'/') {
                    rest = &rest[1..];
                    tokens.extend([GlobToken::Directories, GlobToken::WithinDirectory]);
                    // The next character again stands at the start of a name.
                    continue;
                }
                tokens.push(GlobToken::Many { slash: slash || stars > 0 });
            }
            literal => tokens.push(GlobToken::Literal(literal)),
        }
        at_name = first == '/';
    }
    Some(tokens)
}

fn class(mut rest: &[char], slash: bool) -> Option<(GlobToken, &[char])> {
    let negated = matches!(rest.first(), Some('!' | '^'));
    rest = &rest[usize::from(negated)..];
    let mut ranges = Vec::new();
    loop {
        let (&from, behind) = rest.split_first()?;
        rest = behind;
        match from {
            // A closing bracket in first place is literal.
            ']' if !ranges.is_empty() => {
                return Some((GlobToken::Class { negated, ranges: ranges.into(), slash }, rest));
            }
            '\\' => {
                let (&literal, behind) = rest.split_first()?;
                rest = behind;
                ranges.push((literal, literal));
            }
            from => match rest {
                ['-', to, behind @ ..] if *to != ']' => {
                    if *to < from {
                        return None;
                    }
                    rest = behind;
                    ranges.push((from, *to));
                }
                _ => ranges.push((from, from)),
            },
        }
    }
}

/// The largest length of a pattern, in characters.
const MAX_PATTERN_CHARS: usize = 512;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern, GlobKind::Path, GlobCase::Exact).unwrap().matches(text)
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
        assert!(
            Glob::new("*.EXAMPLE.com", GlobKind::Text, GlobCase::Folded).unwrap().matches("a.b.Example.COM")
        );
    }

    #[test]
    fn a_directory_is_covered_with_all_that_lies_in_it() {
        let covers =
            |pattern, path| Glob::new(pattern, GlobKind::Path, GlobCase::Exact).unwrap().covers(path);
        assert!(covers("/etc", "/etc") && covers("/etc", "/etc/ssl/key") && !covers("/etc", "/etcetera"));
        assert!(covers("**/.git", "/x/.git/config") && !covers("/etc/*", "/etc"));
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        for pattern in ["", "[a", "[", "[!", "a\\", "[b-a]", "[\\", "a\0", &"a".repeat(600)] {
            assert!(Glob::new(pattern, GlobKind::Path, GlobCase::Exact).is_err(), "{pattern}");
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
            if let Ok(glob) = Glob::new(&pattern, GlobKind::Path, GlobCase::Exact) {
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
