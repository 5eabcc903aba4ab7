//! The rules by which [`merge`](super::merge) accepts keys of a folder's file, in words for `docs/configuration.md`.

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

/// The rule by which each key of a trusted folder's file is merged, for the reference page. The row of a section
/// applies to its keys that have no row.
pub(super) const FOLDER_KEYS: &[(&str, &str)] = &[
    ("servers", "added; a server whose id is taken, or could be mistaken for another id, is ignored"),
    ("servers.security.trust_level", "`sandboxed` and `standard` are accepted, `trusted` is ignored"),
    ("servers.security.spared_validators", "ignored"),
    ("servers.network", "ignored"),
    ("servers.definitions", "ignored"),
    ("servers.pass_methods", "ignored"),
    ("servers.safe_methods", "ignored"),
    ("servers.tools.fallback", "tools of the folder's own servers are accepted, others are ignored"),
    ("pass_env", "ignored"),
    ("listen", "ignored"),
    ("listen.require_keys", "on if either file switches it on"),
    ("agents", "ignored"),
    ("access.default", "`opt-in` is accepted, `opt-out` is ignored"),
    (
        "access.rules",
        "denials are accepted; rules that allow are accepted for the folder's own servers, unless the user's file denies \
         the agent something there. An operator's entry for the same agent and tool takes precedence",
    ),
    (
        "permissions.policy",
        "the stricter value: `config_only`, `deny_all`, `interactive`, `auto_approve`, in this order",
    ),
    ("permissions.grants", "grants that name one of the folder's own servers are accepted"),
    ("permissions.never_automatic", "added"),
    ("permissions.patience_secs", "the smaller value"),
    ("permissions.pending_secs", "ignored"),
    ("permissions.denied_secs", "ignored"),
    ("confirmation.dangerous", "on if either file switches it on"),
    ("confirmation.moderate", "on if either file switches it on"),
    ("confirmation.patience_secs", "the smaller value"),
    ("validators", "ignored"),
    (
        "validators.roots",
        "directories within the user's roots are accepted; without roots of the user's, directories within the folder",
    ),
    ("validators.denied_hosts", "added"),
    ("validators.only_allowed_hosts", "on if either file switches it on"),
    ("validators.first_use", "`approve` if either file says so"),
    ("validators.argument_types", "`exact` if either file says so"),
    ("folders", "ignored"),
    ("audit", "ignored"),
    ("audit.durability", "`sync` if either file says so"),
    ("limits", "the smaller value"),
    ("limits.max_message_bytes", "ignored"),
    ("limits.message_memory_bytes", "ignored"),
    ("effects", "ignored"),
    ("tools", "ignored"),
    ("names", "ignored"),
    ("registration", "ignored"),
    ("registration.max_servers", "the smaller value"),
    ("telemetry", "ignored"),
    ("kernel", "ignored"),
];
