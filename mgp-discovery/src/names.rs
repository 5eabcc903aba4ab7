//! Names of environment variables, secrets and servers.

use std::collections::HashSet;

/// Returns whether the environment can hold a variable of that name.
pub(crate) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns a valid name of a variable, as near as possible to `given`. A valid name stays as it is.
pub(crate) fn variable(given: &str) -> String {
    if is_variable(given) && !given.contains(|c: char| c.is_ascii_lowercase()) {
        return given.to_owned();
    }
    let mut name: String =
        given.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if !is_variable(&name) {
        name.insert(0, '_');
    }
    name
}

/// The kind of thing that a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the configuration knows two kinds of references")]
pub enum ReferenceKind {
    /// A variable of the environment: `${NAME}`.
    Environment,
    /// A secret of the user: `${secret:NAME}`.
    Store,
}

/// A generator of names that are all different.
#[derive(Default)]
pub(crate) struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// Returns the name, with a number behind it if the name was given out before.
    pub(crate) fn name(&mut self, wanted: &str, between: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1_usize;
        while !self.0.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}{between}{number}");
        }
        name
    }
}

/// The length of an id at most, in characters. Longer ids would leave no room for the names of tools, of which many
/// clients take 64 characters.
const MAX_ID_CHARS: usize = 40;

/// Returns a valid id of a server in `mgp.toml`: letters, digits, `.`, `_` and `-`.
pub(crate) fn server_id(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let id: String = name.trim().chars().take(MAX_ID_CHARS).map(fit).collect();
    let id = id.trim_matches('-');
    if id.is_empty() { "server".to_owned() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_valid_and_unique() {
        assert_eq!(server_id("@scope/my server"), "scope-my-server");
        assert_eq!(server_id("日本"), "server");
        let mut unique = UniqueNames::default();
        assert_eq!(
            [unique.name("a", "-"), unique.name("a", "-"), unique.name("a-2", "-")],
            ["a", "a-2", "a-2-2"]
        );
    }

    #[test]
    fn names_fit_the_environment() {
        assert_eq!(variable("api-key"), "API_KEY");
        assert_eq!(variable("7z"), "_7Z");
        assert_eq!(variable("A_B"), "A_B");
    }
}
