//! The names by which clients call the tools and prompts of servers.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::method::Spelling;
use crate::Context;

/// The form of the names that clients see for servers' tools and prompts: the border between the server and the name,
/// and the greatest length.
///
/// A name depends on the server and the tool only, never on other tools or on an order. A name that cannot stand as it
/// is (too long, other characters, a border that could be mistaken) is shortened and ends in a digest of both parts. A
/// name that only looks shortened is treated the same, so that no server can choose the name of another server's tool.
///
/// ```
/// use mgp_types::mgp::NameStyle;
///
/// assert_eq!(NameStyle::UNDERSCORES.write("git", "status"), "git__status");
/// assert_eq!(NameStyle::DOTS.write("mind.cerebras", "think"), "mind.cerebras.think");
/// assert_eq!(NameStyle::DOTS.write("mind", "cerebras.think"), "mind.cerebras_think_6e99cfd63d");
/// assert_eq!(NameStyle::UNDERSCORES.at_most(32).write("atlassian", "jira_batch_create_issues").len(), 32);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameStyle {
    border: Border,
    longest: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Border {
    Dot,
    Underscores,
}

/// The greatest length that the interfaces of models accept.
const LONGEST: u8 = 64;
const SHORTEST: u8 = 32;
const DIGEST: usize = 10;

impl NameStyle {
    /// `server.tool`, at most 64 characters of `A-Za-z0-9_.-`: for people, and for peers that speak MGP.
    pub const DOTS: Self = Self { border: Border::Dot, longest: LONGEST };
    /// `server__tool`, at most 64 characters of `A-Za-z0-9_-`, which every client and model takes.
    pub const UNDERSCORES: Self = Self { border: Border::Underscores, longest: LONGEST };

    /// Returns the style for the sender of a request, if no other fact decides: dots for peers that speak MGP.
    pub fn of_peer(context: &Context) -> Self {
        let session = context.session.as_deref();
        if session.is_some_and(|session| session.mgp.is_some()) { Self::DOTS } else { Self::UNDERSCORES }
    }

    /// Returns the style with shorter names. A limit below 32 characters is raised to 32, because shorter names do not
    /// tell tools apart.
    #[must_use]
    pub const fn at_most(self, longest: u8) -> Self {
        let longest = if longest < SHORTEST { SHORTEST } else { longest };
        Self { longest: if longest < self.longest { longest } else { self.longest }, ..self }
    }

    /// Returns the name by which a client calls a tool or prompt of a server.
    pub fn write(self, server: &str, name: &str) -> String {
        let border = self.border.text();
        if self.stands(server, name) {
            return format!("{server}{border}{name}");
        }
        let digest = name_digest(server, name);
        let (server, name) = (self.border.server(&fit(server)), fit(name).replace('.', "_"));
        let name = if self.border == Border::Underscores { name.trim_start_matches('_') } else { &name };
        let room = usize::from(self.longest) - border.len() - 1 - DIGEST;
        let for_name = name.len().min(room - server.len().min(room / 2));
        let for_server = server.len().min(room - for_name);
        let server = self.border.end(&server[..for_server]);
        format!("{server}{border}{}_{digest}", &name[..for_name])
    }

    /// Returns whether a tool of a server is called by `written` in any style.
    pub fn any_is(written: &str, server: &str, name: &str) -> bool {
        match digest_in_name(written) {
            Some(digest) => digest == name_digest(server, name),
            None => [Self::DOTS, Self::UNDERSCORES].iter().any(|style| style.write(server, name) == written),
        }
    }

    /// Returns the name of the tool that stands for a method of MGP; for peers that speak MGP it is the method's own
    /// name.
    pub fn write_method(self, method: &str, context: &Context) -> String {
        let session = context.session.as_deref();
        let spelling = match self.border {
            Border::Dot if session.is_some_and(|session| session.mgp.is_some()) => Spelling::Slashes,
            Border::Dot => Spelling::Dots,
            Border::Underscores => Spelling::Underscores,
        };
        spelling.spell(method)
    }

    fn stands(self, server: &str, name: &str) -> bool {
        let length = server.len() + self.border.text().len() + name.len();
        length <= usize::from(self.longest)
            && is_plain(server)
            && is_plain(name)
            && !name.contains('.')
            && digest_in_name(name).is_none()
            && self.border.is_certain(server, name)
    }
}

impl Border {
    const fn text(self) -> &'static str {
        match self {
            Self::Dot => ".",
            Self::Underscores => "__",
        }
    }

    /// Returns whether the joined name can be read in one way only: its border is the first `__`, or the last dot.
    fn is_certain(self, server: &str, name: &str) -> bool {
        self == Self::Dot
            || !server.contains("__")
                && !server.contains('.')
                && !server.ends_with('_')
                && !name.starts_with('_')
    }

    /// Returns the part in front of the border.
    fn server(self, server: &str) -> String {
        match self {
            Self::Dot => server.to_owned(),
            Self::Underscores => {
                let mut server = server.replace('.', "_");
                while server.contains("__") {
                    server = server.replace("__", "_");
                }
                server
            }
        }
    }

    /// Returns the end of a server's name whose beginning was cut off.
    fn end(self, server: &str) -> &str {
        if self == Self::Underscores { server.trim_end_matches('_') } else { server }
    }
}

/// Returns the digest of server and tool at the end of a shortened name, in any style. A caller with the
/// [`name_digest`]s of its tools finds the tool by it.
pub fn digest_in_name(name: &str) -> Option<&str> {
    let (_, end) = name.rsplit_once('_')?;
    let is_digest = end.len() == DIGEST && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then_some(end)
}

/// Returns the digest of a server's id and of a tool's name there.
pub fn name_digest(server: &str, name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((server.len() as u64).to_le_bytes());
    hash.update(server);
    hash.update(name);
    let bits =
        hash.finalize().iter().take(DIGEST / 2).fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
    format!("{bits:0DIGEST$x}")
}

fn is_plain(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(is_allowed)
}

const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Returns the text with `_` in place of each character that names do not allow.
fn fit(part: &str) -> Cow<'_, str> {
    if part.bytes().all(is_allowed) {
        return Cow::Borrowed(part);
    }
    let allowed = |letter: char| if letter.is_ascii() && is_allowed(letter as u8) { letter } else { '_' };
    Cow::Owned(part.chars().map(allowed).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_could_be_mistaken_end_in_a_digest() {
        for (server, name) in [("a_", "b"), ("a", "_b"), ("a__b", "c"), ("a.b", "c"), ("a", "b.c"), ("", "b")]
        {
            let written = NameStyle::UNDERSCORES.write(server, name);
            assert_eq!(digest_in_name(&written), Some(&*name_digest(server, name)), "{written}");
        }
        assert_eq!(NameStyle::UNDERSCORES.write("a", "b__c"), "a__b__c");
        assert_eq!(NameStyle::UNDERSCORES.write("a_b", "c"), "a_b__c");
        let plain = Context::default();
        assert_eq!(NameStyle::UNDERSCORES.write_method("mgp/tools/discover", &plain), "mgp_tools_discover");
        assert_eq!(NameStyle::DOTS.write_method("mgp/tools/discover", &plain), "mgp.tools.discover");
    }

    fn parts() -> impl Strategy<Value = (String, String)> {
        let part = || prop_oneof!["[ab_.]{0,5}", "[a-z_.]{20,70}", ".{0,4}"];
        (part(), part())
    }

    proptest! {
        #[test]
        fn names_fit_and_tell_their_tools_apart(
            pairs in prop::collection::hash_set(parts(), 0..40),
            longest in 0_u8..=255,
        ) {
            for style in [NameStyle::DOTS, NameStyle::UNDERSCORES.at_most(longest), NameStyle::UNDERSCORES] {
                let mut known = HashMap::new();
                for (server, name) in &pairs {
                    let written = style.write(server, name);
                    prop_assert!(written.len() <= usize::from(style.longest), "{written}");
                    let dot = style.border == Border::Dot;
                    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || dot && byte == b'.';
                    prop_assert!(written.bytes().all(fits), "{written}");
                    prop_assert_eq!(known.insert(written, (server, name)), None);
                }
            }
        }
    }
}
