//! The settings of earlier versions that a file may still have, each with what holds in its place.

/// The keys, without the numbers of list entries, and a sentence on what holds now.
pub(super) const RETIRED: &[(&str, &str)] = &[
    ("listen.agent", "clients without a key are the agent `local-http`"),
    ("listen.max_connections_per_peer", "half of `max_connections` may come from one address"),
    ("listen.max_sessions", "remove it: there may be 10,000 sessions"),
    ("listen.max_sessions_per_agent", "remove it: an agent may have 1,000 sessions"),
    ("listen.header_timeout_ms", "remove it: a connection has 10 seconds for its first request"),
    ("listen.idle_timeout_ms", "remove it: a connection may be idle for a minute"),
    ("listen.revoked_calls", "`mgp keys revoke --let-calls-finish` lets the calls of a key finish"),
    ("servers.oauth.algorithm", "remove it: the algorithm follows from `private_key`"),
    ("servers.oauth.client_metadata_url", "write the URL as `client_id`"),
    ("servers.limits.waiting_calls", "`waiting_calls` of `[limits]` holds for each server"),
    ("servers.limits.waiting_ms", "remove it: a call waits in line for two minutes at most"),
    ("limits.concurrency", "`concurrency` of `[servers.limits]` bounds the calls of a server"),
    ("limits.waiting_ms", "remove it: a call waits in line for two minutes at most"),
    ("limits.waiting_questions", "remove it: 256 calls may wait for their clients"),
    ("permissions.pending_secs", "remove it: a question can be answered for a day"),
    ("confirmation.patience_secs", "`patience_secs` of `[permissions]` holds for confirmations, too"),
    ("audit.path", "the record is `audit.db` in the state directory, which `kernel.state` sets"),
    ("tools.strategy", "remove it: a search that names no strategy is `hybrid`"),
    ("tools.tell_uses", "remove it: clients are not notified of a list that only a use of a tool changed"),
    ("names.clients", "remove it: the lengths that clients take are known, and `names.style` is for all"),
    ("registration.max_servers", "remove it: 16 servers may be registered"),
    ("kernel.name", "remove it: the kernel is called `mgp`"),
    ("kernel.socket", "the option `--socket` of `mgp` names another socket"),
];
