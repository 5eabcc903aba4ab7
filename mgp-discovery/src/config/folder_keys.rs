//! The rules by which [`merge`](super::merge) accepts keys of a folder's file, also in words for `docs/configuration.md`.

use self::FolderRule::{Added, Decided, Ignored, Smaller, Strict};
use super::model::usual;

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
    pub(super) const fn told(self) -> &'static str {
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
    /// The smaller number holds. A number that the user's file leaves out counts as this one, or as endless.
    Smaller(Option<u32>),
    /// This value holds if either file sets it.
    Strict(&'static str),
    /// The values are added to the user's.
    Added,
    /// The [`merge`](super::merge) decides as the text says.
    Decided(&'static str),
}

impl FolderRule {
    /// Returns the rule in words, for the reference page.
    pub(super) fn told(self) -> String {
        match self {
            Self::Ignored => "ignored".into(),
            Self::Smaller(_) => "the smaller value".into(),
            Self::Strict("true") => "on if either file switches it on".into(),
            Self::Strict(value) => format!("`{value}` if either file says so"),
            Self::Added => "added".into(),
            Self::Decided(told) => told.into(),
        }
    }
}

/// The rule of each key of a trusted folder's file. The row of a section applies to its keys that have no row.
pub(super) const FOLDER_KEYS: &[(&str, FolderRule)] = &[
    (
        "servers",
        Decided("added; a server whose id is taken, or could be mistaken for another id, is ignored"),
    ),
    (
        "servers.security.trust_level",
        Decided("`sandboxed` and `standard` are accepted, `trusted` is ignored"),
    ),
    ("servers.security.spared_validators", Ignored),
    ("servers.network", Ignored),
    ("servers.definitions", Ignored),
    ("servers.pass_methods", Ignored),
    ("servers.safe_methods", Ignored),
    ("servers.tools.fallback", Decided("tools of the folder's own servers are accepted, others are ignored")),
    ("pass_env", Ignored),
    ("listen", Ignored),
    ("listen.require_keys", Strict("true")),
    ("agents", Ignored),
    ("access.default", Decided("`opt-in` is accepted, `opt-out` is ignored")),
    (
        "access.rules",
        Decided(
            "denials are accepted; rules that allow are accepted for the folder's own servers, unless the user's file \
             denies the agent something there. An operator's entry for the same agent and tool takes precedence",
        ),
    ),
    (
        "permissions.policy",
        Decided(
            "the stricter value: `config_only`, `deny_all`, `interactive`, `auto_approve`, in this order",
        ),
    ),
    ("permissions.grants", Decided("grants that name one of the folder's own servers are accepted")),
    ("permissions.never_automatic", Decided("added")),
    ("permissions.patience_secs", Smaller(Some(usual::PATIENCE_SECS))),
    ("permissions.denied_secs", Ignored),
    ("confirmation.dangerous", Strict("true")),
    ("confirmation.moderate", Strict("true")),
    ("validators", Ignored),
    (
        "validators.roots",
        Decided(
            "directories within the user's roots are accepted; without roots of the user's, directories within the folder",
        ),
    ),
    ("validators.denied_hosts", Added),
    ("validators.only_allowed_hosts", Strict("true")),
    ("validators.first_use", Strict("approve")),
    ("validators.argument_types", Strict("exact")),
    ("folders", Ignored),
    ("audit", Ignored),
    ("audit.durability", Strict("sync")),
    ("limits", Ignored),
    ("limits.agent_calls_per_minute", Smaller(None)),
    ("limits.agent_calls_per_day", Smaller(None)),
    ("limits.agent_concurrency", Smaller(Some(usual::AGENT_CONCURRENCY))),
    ("limits.waiting_calls", Smaller(Some(usual::WAITING_CALLS))),
    ("effects", Ignored),
    ("tools", Ignored),
    ("names", Ignored),
    ("registration", Ignored),
    ("telemetry", Ignored),
    ("kernel", Ignored),
];
