//! The patterns of protected paths, and how a reading of a path matches them.

use super::spelling::{PathAnchor, PathReading};

/// A pattern of the table or of the operator, split into its names.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    anchor: PathAnchor,
    /// The names of the pattern, in lower case; `**` is one of them.
    names: Vec<Box<str>>,
}

impl PathPattern {
    pub(super) fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let (anchor, rest) = match lower.as_bytes() {
            [b'/', ..] => (PathAnchor::Root, lower.trim_start_matches('/')),
            [b'~', b'/', ..] | [b'~'] => (PathAnchor::Home, lower[1..].trim_start_matches('/')),
            _ => (PathAnchor::Relative, lower.strip_prefix("**/").unwrap_or(&lower)),
        };
        let names = rest.split('/').filter(|name| !name.is_empty()).map(Into::into).collect();
        Self { anchor, names }
    }

    /// Returns whether a reading of a path matches this pattern.
    pub(super) fn covers(&self, reading: &PathReading) -> bool {
        let names: Vec<&str> = reading.names.iter().map(String::as_str).collect();
        if self.anchor == PathAnchor::Relative {
            return (0..names.len()).any(|start| {
                // A wildcard that matches nearly every name does not count as a match of this one.
                self.matches(&names[start..], reading.is_pattern)
                    && self.is_named_by(&names[start..], reading)
            });
        }
        let is_here = reading.anchor == self.anchor || reading.anchor == PathAnchor::Climbing;
        let is_certain = !reading.is_pattern || names.iter().any(|name| !has_wildcard(name));
        is_here && is_certain && self.matches(&names, reading.is_pattern)
    }

    /// Returns whether a path that the pattern does not cover is a directory above the one that the pattern describes.
    pub(super) fn lies_below(&self, reading: &PathReading) -> bool {
        let fixed = self.names.iter().take_while(|name| !has_wildcard(name)).count();
        self.anchor != PathAnchor::Relative
            && reading.anchor == self.anchor
            && !reading.is_pattern
            && reading.names.len() < fixed
            && reading.names.iter().zip(&self.names).all(|(name, own)| **name == **own)
    }

    fn matches(&self, names: &[&str], is_pattern: bool) -> bool {
        let own: Vec<&str> = self.names.iter().map(|name| &**name).collect();
        names_meet(&own, names, is_pattern)
    }

    /// Returns whether a path with wildcards specifies enough of the names in this pattern, and does not merely match
    /// them with a broad wildcard.
    fn is_named_by(&self, names: &[&str], reading: &PathReading) -> bool {
        if !reading.is_pattern {
            return true;
        }
        let own = self.names.iter().filter(|name| &***name != "**");
        let mut pairs = own.zip(names).filter(|(_, name)| has_wildcard(name));
        pairs.all(|(own, name)| says_enough(name, own))
    }
}

/// Returns whether the names of a pattern match those of a path, which may contain wildcards as well.
fn names_meet(own: &[&str], names: &[&str], is_pattern: bool) -> bool {
    match (own.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            rest.is_empty()
                || names_meet(rest, names, is_pattern)
                || (!names.is_empty() && names_meet(own, &names[1..], is_pattern))
        }
        (_, Some((&"**", rest))) if is_pattern => {
            names_meet(own, rest, is_pattern) || (own.len() == 1 && rest.is_empty())
        }
        (Some((first, own)), Some((name, names))) => {
            name_meets(first, name, is_pattern) && names_meet(own, names, is_pattern)
        }
        _ => false,
    }
}

/// Returns whether one name of a pattern matches one name of a path.
pub(super) fn name_meets(own: &str, name: &str, is_pattern: bool) -> bool {
    if !is_pattern || !has_wildcard(name) {
        return if own.contains(['*', '?']) {
            meet(&tokens(own, false), &tokens(name, true))
        } else {
            own == name || is_short_name(own, name)
        };
    }
    // In shells, a leading wildcard never matches the dot of a hidden name.
    let hides = own.starts_with('.') && name.starts_with(['*', '?']);
    !hides && meet(&tokens(own, false), &tokens(name, false))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternToken {
    Letter(char),
    One,
    Any,
}

fn tokens(text: &str, plain: bool) -> Vec<PatternToken> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            other if plain => PatternToken::Letter(other),
            '*' => PatternToken::Any,
            '?' => PatternToken::One,
            '[' if characters.clone().any(|next| next == ']') => {
                while characters.next().is_some_and(|next| next != ']') {}
                PatternToken::One
            }
            other => PatternToken::Letter(other),
        });
    }
    tokens
}

/// Returns whether there is a text that both patterns match.
fn meet(a: &[PatternToken], b: &[PatternToken]) -> bool {
    // reached[j]: some text matches the first tokens of `a` and the first `j` of `b`.
    let mut reached = vec![false; b.len() + 1];
    reached[0] = true;
    for (j, token) in b.iter().enumerate() {
        reached[j + 1] = reached[j] && *token == PatternToken::Any;
    }
    for token in a {
        let mut next = vec![false; b.len() + 1];
        next[0] = reached[0] && *token == PatternToken::Any;
        for (j, other) in b.iter().enumerate() {
            next[j + 1] = match (token, other) {
                (PatternToken::Any, _) => reached[j + 1] || next[j],
                (_, PatternToken::Any) => reached[j + 1] || next[j] || reached[j],
                (PatternToken::One, _) | (_, PatternToken::One) => reached[j],
                (PatternToken::Letter(one), PatternToken::Letter(two)) => reached[j] && one == two,
            };
        }
        reached = next;
    }
    reached[b.len()]
}

/// Returns whether `name` is the short name that Windows gives to `own`: `ssh~1`, `creden~1.jso`.
fn is_short_name(own: &str, name: &str) -> bool {
    let Some((head, tail)) = name.split_once('~') else { return false };
    let (number, extension) = tail.split_once('.').unwrap_or((tail, ""));
    if head.is_empty() || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let bare = own.trim_start_matches('.');
    let (stem, own_extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    let kept = |text: &str, most: usize| -> String {
        text.chars().filter(|c| !matches!(c, ' ' | '.')).take(most).collect()
    };
    let hashed = || {
        let hash = head.get(2..).unwrap_or_default();
        hash.len() == 4
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && head.get(..2) == kept(stem, 2).get(..2)
    };
    (head == kept(stem, 6) || hashed()) && extension == kept(own_extension, 3)
}

pub(super) fn has_wildcard(name: &str) -> bool {
    name.contains(['*', '?']) || name.find('[').is_some_and(|at| name[at..].contains(']'))
}

/// Returns whether a name with wildcards contains at least half of the fixed text of `own`.
fn says_enough(name: &str, own: &str) -> bool {
    // If the name has letters besides its extension, a common extension alone does not identify it.
    if let (Some((stem, extension)), Some((own, same))) = (name.rsplit_once('.'), own.rsplit_once('.'))
        && extension == same
        && letters(own) > 0
    {
        return says_enough(stem, own);
    }
    if !has_wildcard(own) {
        return letters(name) * 2 >= letters(own);
    }
    let (name, own) = (tokens(name, false), tokens(own, false));
    let fixed = |(a, b): &(&PatternToken, &PatternToken)| a == b && matches!(a, PatternToken::Letter(_));
    let head = name.iter().zip(&own).take_while(fixed).count();
    let tail = name.iter().rev().zip(own.iter().rev()).take_while(fixed).count();
    (head + tail) * 2 >= own.iter().filter(|token| matches!(token, PatternToken::Letter(_))).count()
}

/// Returns the number of characters of a name that are not wildcards.
fn letters(name: &str) -> usize {
    tokens(name, false).iter().filter(|token| matches!(token, PatternToken::Letter(_))).count()
}
