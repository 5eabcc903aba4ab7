//! The rules by which [`merge`](super::merge) takes keys of a folder's file, in words for `docs/configuration.md`.

/// Why a key of a folder's file does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Only the user's own file may say this.
    UsersOnly,
    /// The folder's value is not stricter than what the user's file says.
    Looser,
    /// The key concerns a server that the folder does not declare.
    AnothersServer,
    /// The user has a server of this name, or of one that could be taken for it.
    TakenId,
    /// The user forbids the agent something at servers that this one is among.
    Denied,
}

impl Reason {
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::UsersOnly => "only your own file may say this",
            Self::Looser => "it would loosen what holds; a folder's file can only tighten that",
            Self::AnothersServer => "a folder's file may say this of its own servers only",
            Self::TakenId => "there is another server of this name, or of one that could be taken for it",
            Self::Denied => "your own file denies the agent something here",
        }
    }
}

/// The rule by which each key of a trusted folder's file is merged, in words for people. A section stands for all of its keys
/// that have no row.
pub(super) const FOLDER_KEYS: &[(&str, &str)] = &[
    ("servers", "added; one whose id is that of another server, or could be taken for it, is ignored"),
    ("servers.security.trust_level", "`sandboxed` and `standard` count, `trusted` is ignored"),
    ("servers.security.spared_validators", "ignored"),
    ("servers.network", "ignored"),
    ("servers.definitions", "ignored"),
    ("servers.pass_methods", "ignored"),
    ("servers.safe_methods", "ignored"),
    ("servers.tools.fallback", "a tool of the folder's own servers counts, another one is ignored"),
    ("pass_env", "ignored"),
    ("listen", "ignored"),
    ("listen.require_keys", "on if either file says so"),
    ("agents", "ignored"),
    ("access.default", "`opt-in` counts, `opt-out` is ignored"),
    (
        "access.rules",
        "denials count; what allows counts for the folder's own servers, unless the user's file denies the agent \
         something there. An operator's entry for the same goes before it",
    ),
    (
        "permissions.policy",
        "the stricter one: `config_only`, `deny_all`, `interactive`, `auto_approve`, in this order",
    ),
    ("permissions.grants", "those that name one of the folder's own servers count"),
    ("permissions.never_automatic", "added"),
    ("permissions.patience_secs", "the shorter one"),
    ("permissions.pending_secs", "ignored"),
    ("permissions.denied_secs", "ignored"),
    ("confirmation.dangerous", "on if either file says so"),
    ("confirmation.moderate", "on if either file says so"),
    ("confirmation.patience_secs", "the shorter one"),
    ("validators", "ignored"),
    (
        "validators.roots",
        "those within the user's roots count, or within the folder where the user names none",
    ),
    ("validators.denied_hosts", "added"),
    ("validators.only_allowed_hosts", "on if either file says so"),
    ("validators.first_use", "`approve` if either file says so"),
    ("audit", "ignored"),
    ("audit.durability", "`sync` if either file says so"),
    ("limits", "the lower one"),
    ("tools", "ignored"),
    ("names", "ignored"),
    ("registration", "ignored"),
    ("registration.max_servers", "the lower one"),
    ("telemetry", "ignored"),
    ("kernel", "ignored"),
];
