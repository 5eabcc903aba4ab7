//! The vendor methods under `kernel/`, by which operators manage a running kernel where MGP has no method for it.
//!
//! The commands of `mgp` are clients that call these methods, over the kernel's socket or in memory; all that a command
//! prints is a result of one of them. Each group is a file, with the bodies of its methods and the functions that
//! answer them.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod config;
pub(crate) mod definition_status;
mod gate;
pub(crate) mod keys;
pub(crate) mod known_names;
pub(crate) mod operators;
pub(crate) mod page;
pub(crate) mod permissions;
pub(crate) mod pins;
mod process_memory;
pub(crate) mod proof;
pub(crate) mod registrations;
mod request;
pub(crate) mod servers;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod tools;

pub(crate) use self::gate::{OperatorGate, OperatorSections, is_for_agents};

/// The names of the methods.
pub(crate) mod method {
    pub(crate) const ACCESS_LIST: &str = "kernel/access/list";
    pub(crate) const AUDIT_EXPORT: &str = "kernel/audit/export";
    pub(crate) const AUDIT_HEAD: &str = "kernel/audit/head";
    pub(crate) const AUDIT_QUERY: &str = "kernel/audit/query";
    pub(crate) const AUDIT_VERIFY: &str = "kernel/audit/verify";
    pub(crate) const CONFIG_RELOAD: &str = "kernel/config/reload";
    pub(crate) const CONFIG_SHOW: &str = "kernel/config/show";
    pub(crate) const CONFIG_UNMATCHED: &str = "kernel/config/unmatched";
    pub(crate) const KERNEL_STATUS: &str = "kernel/status";
    pub(crate) const KERNEL_STOP: &str = "kernel/stop";
    pub(crate) const KERNEL_YIELD: &str = "kernel/yield";
    pub(crate) const KEYS_LIST: &str = "kernel/keys/list";
    pub(crate) const KEYS_NEW: &str = "kernel/keys/new";
    pub(crate) const KEYS_REVOKE: &str = "kernel/keys/revoke";
    pub(crate) const OPERATORS_ADMIT: &str = "kernel/operators/admit";
    pub(crate) const OPERATORS_PASSPHRASE: &str = "kernel/operators/passphrase";
    pub(crate) const OPERATORS_PROVE: &str = "kernel/operators/prove";
    pub(crate) const OPERATORS_STANDING: &str = "kernel/operators/standing";
    pub(crate) const OPERATORS_TOKEN: &str = "kernel/operators/token";
    pub(crate) const PERMISSIONS_APPROVE: &str = "kernel/permissions/approve";
    pub(crate) const PERMISSIONS_DENY: &str = "kernel/permissions/deny";
    pub(crate) const PERMISSIONS_GRANT: &str = "kernel/permissions/grant";
    pub(crate) const PERMISSIONS_LIST: &str = "kernel/permissions/list";
    pub(crate) const PERMISSIONS_PENDING: &str = "kernel/permissions/pending";
    pub(crate) const PERMISSIONS_RESET: &str = "kernel/permissions/reset";
    pub(crate) const PERMISSIONS_REVOKE: &str = "kernel/permissions/revoke";
    pub(crate) const PERMISSIONS_SHOW: &str = "kernel/permissions/show";
    pub(crate) const PERMISSIONS_WATCH: &str = "kernel/permissions/watch";
    pub(crate) const PINS_APPROVE: &str = "kernel/pins/approve";
    pub(crate) const PINS_DIFF: &str = "kernel/pins/diff";
    pub(crate) const PINS_LIST: &str = "kernel/pins/list";
    pub(crate) const REGISTRATIONS_APPROVE: &str = "kernel/registrations/approve";
    pub(crate) const REGISTRATIONS_DENY: &str = "kernel/registrations/deny";
    pub(crate) const REGISTRATIONS_KEEP: &str = "kernel/registrations/keep";
    pub(crate) const REGISTRATIONS_LIST: &str = "kernel/registrations/list";
    pub(crate) const SERVERS: &str = "kernel/servers";
    pub(crate) const SERVER_LOGS: &str = "kernel/server/logs";
    pub(crate) const SERVER_RECONNECT: &str = "kernel/server/reconnect";
    pub(crate) const SERVER_RESTART: &str = "kernel/server/restart";
    pub(crate) const SERVER_START: &str = "kernel/server/start";
    pub(crate) const SERVER_STOP: &str = "kernel/server/stop";
    pub(crate) const STATS: &str = "kernel/stats";
    pub(crate) const TOOLS: &str = "kernel/tools";
}
