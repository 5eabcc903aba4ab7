//! The rules by which [`merge`](super::merge) accepts keys of a folder's file, also in words for `docs/configuration.md`.

/// The reason for which a key of a folder's file is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoredReason {
    /// Only the user's own file may set the key.
    UsersOnly,
    /// The folder's value is less strict than the value that holds without it.
    Looser,
    /// The key concerns a server that the folder does not declare.
    AnothersServer,
    /// Another server has this id, or an id that could be mistaken for it.
    TakenId,
    /// The user's file denies the agent something at this server.
    Denied,
}

impl IgnoredReason {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::UsersOnly => "only your own file may set this key",
            Self::Looser => {
                "this value would loosen the current setting; a folder's file can only tighten it"
            }
            Self::AnothersServer => "a folder's file may set this for its own servers only",
            Self::TakenId => "another server has this id, or one that could be mistaken for it",
            Self::Denied => "your own file denies the agent something at this server",
        }
    }
}

/// The rule by which a key of a trusted folder's file is merged.
#[derive(Debug, Clone, Copy)]
pub(super) enum FolderRule {
    /// Only the user's own file sets the key.
    Ignored,
    /// The smaller number holds.
    Smaller,
    /// This value holds if either file sets it.
    Strict(&'static str),
    /// The values are added to the user's.
    Added,
    /// The [`merge`](super::merge) decides as the text says.
    Decided(&'static str),
}

/// Returns the rule of each key of a trusted folder's file. The rule of a section applies to its keys that have none.
pub(super) fn folder_keys() -> impl Iterator<Item = (&'static str, FolderRule)> {
    let lines = include_str!("folder_keys.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(key, rule)| match rule {
        "ignored" => (key, FolderRule::Ignored),
        "smaller" => (key, FolderRule::Smaller),
        "added" => (key, FolderRule::Added),
        rule => (key, rule.strip_prefix("strict ").map_or(FolderRule::Decided(rule), FolderRule::Strict)),
    })
}

impl FolderRule {
    /// Returns the rule in words, for the reference page.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Ignored => "ignored".into(),
            Self::Smaller => "the smaller value".into(),
            Self::Strict("true") => "on if either file switches it on".into(),
            Self::Strict(value) => format!("`{value}` if either file says so"),
            Self::Added => "added".into(),
            Self::Decided(rule) => rule.into(),
        }
    }
}
