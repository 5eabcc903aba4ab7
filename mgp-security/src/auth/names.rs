//! Names that no owner of a key may have, because others are known by them.

use std::sync::LazyLock;

use mgp_types::{LOCAL_AGENT, is_hidden};

use crate::definition::skeleton;

/// The first part of the names of agents that come with tokens and that no configuration lists.
pub const TOKEN_AGENTS: &str = "oauth";

/// Returns the reason why no key can be issued to an owner of this name, and no agent can claim it; `None` if the
/// name is free. A name is reserved if others are known by it, or by one that people cannot tell from it.
///
/// Case, separators, width and characters that look alike make no difference.
pub fn reserved_owner(name: &str) -> Option<&'static str> {
    if name.trim() != name || name.chars().any(is_hidden) {
        return Some("it has spaces around it, or characters that nobody sees");
    }
    // In any width: they look alike.
    if name.starts_with(['@', '\u{ff20}', '\u{fe6b}']) {
        return Some("groups of agents are called so");
    }
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(skeleton).collect();
    let is = |known: &str| words.concat() == skeleton(&known.replace('-', ""));
    let begins = |known: &str| words.first().is_some_and(|first| *first == skeleton(known));
    if name.contains('/') && begins(LOCAL_AGENT) {
        return Some("clients of the user who runs the kernel are called so");
    }
    if name.contains('/') && begins(TOKEN_AGENTS) {
        return Some("agents are called so that come with tokens and are not listed");
    }
    let is_number = |word: &String| word.chars().all(|c| c.is_ascii_digit() || matches!(c, 'o' | 'l'));
    if begins("uid") && words.len() > 1 && words[1..].iter().all(is_number) {
        return Some("users of the system are called so");
    }
    let is_reserved = |known: &str| known.strip_suffix(" ...").map_or_else(|| is(known), begins);
    RESERVED.iter().find(|(known, _)| is_reserved(known)).map(|(_, whose)| *whose)
}

/// The reserved names, and the first words of names that are reserved whatever follows them, each with the reason.
static RESERVED: LazyLock<Vec<(&'static str, &'static str)>> =
    LazyLock::new(|| include_str!("names.txt").lines().filter_map(|line| line.split_once(": ")).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_reserved_however_they_are_spelled() {
        for name in [
            "local", "Local", "LOCAL", "lоcal", "l0cal", "local-http", "local_http", "operator", "Operator",
            "root", "kernel", "mgp", "MGP", "mgp.toml", "mgp-kernel", "human", "human.local", "Human.ada",
            "human-ada", "uid 0", "uid-1000", "UID 0", "anonymous", "configuration", "ｌｏｃａｌ", " local",
            "ada\u{200b}", "a\nb", "local/ada", "Lоcal/x", "@payments", "＠payments", "oauth/id.example/1",
            "OAuth/x", "0auth/x",
        ] {
            assert!(reserved_owner(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn names_as_people_give_them_are_free() {
        for name in [
            "agent.one", "agent.research", "ada", "localhost-ci", "local.laptop", "operators.ci", "humane",
            "rooted", "oauth-proxy", "ada@example.com", "kernel-builder", "build bot", "müller", "uid",
            "agent.human", "ci-42",
        ] {
            assert_eq!(reserved_owner(name), None, "{name:?}");
        }
    }
}
