//! The sections about agents, access, permissions, confirmation, checks, audit and limits.

use std::collections::BTreeMap;

use mgp_types::mgp::{
    AccessPermission, ApprovalPolicy, CallEffect, DefaultPolicy, Glob, Permission, RiskLevel, Scope,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::tables;
use super::{AgentToken, words};

tables! {
    /// An agent that is known by name, and what it may do.
    pub struct AgentSettings: Debug, Eq {
        /// The agent's id, required. With `@name`, `budget`, `calls_per_minute`, `calls_per_day` and `scopes` are those
        /// of each member of the group that has none of its own; of several groups, the first one's hold.
        pub id: String,
        /// Makes the client on standard input and output this agent.
        pub stdio: bool,
        /// Lets the human at this agent's client decide what otherwise only an operator decides: with `stdio` on
        /// standard input and output alone, without it over HTTP with a key of the agent.
        pub human: bool,
        /// The tokens of the agent's clients, by issuer and subject, where `listen.oauth` accepts tokens. A token that
        /// no agent has is refused.
        pub tokens: Vec<AgentToken>,
        /// The agents in whose name this agent may call, by `_meta` or `agent_id`. A `*` between two dots stands for
        /// any characters, alone for every agent.
        pub speaks_for: Vec<String>,
        /// The permissions of the agent itself. With `code_execution`, an agent may have tools created on demand
        /// (§16.6), under the policy `auto_approve` and within `[registration]`.
        #[schemars(with = "Vec<String>")]
        pub permissions: Vec<Permission>,
        /// The scopes of the agent, such as `read:tickets`: it calls only tools that require no others; any tools if
        /// left out.
        pub scopes: Option<Vec<String>>,
        /// The most calls of the agent in a minute, in place of `limits.agent_calls_per_minute`.
        #[schemars(range(min = 1))]
        pub calls_per_minute: Option<u32>,
        /// The most calls of the agent in a day, in place of `limits.agent_calls_per_day`.
        #[schemars(range(min = 1))]
        pub calls_per_day: Option<u32>,
        /// The most that calls of the agent may cost; no limit if left out.
        pub budget: Option<AgentBudget>,
    }

    /// A group of agents. Where a key or a command names an agent, `@name` names all members of the group.
    pub struct GroupSettings: Debug, Eq {
        /// The group's name, required.
        pub name: String,
        /// The ids of members. A `*` between two dots stands for any characters, alone for every agent.
        pub agents: Vec<String>,
        /// The claim of access tokens whose holders are members, such as `groups` or, within another one,
        /// `realm_access.roles`: a text, or a list of texts. Of several tokens of an agent the newest one counts.
        pub claim: Option<String>,
        /// The values of which the claim has to have one; the name of the group if left out.
        pub values: Vec<String>,
        /// The only issuer whose tokens count; every accepted one if left out.
        pub issuer: Option<String>,
    }

    /// A span of time in which a budget can be spent.
    pub enum BudgetSpan: Default {
        /// An hour.
        Hour,
        /// A day.
        #[default]
        Day,
    }

    /// The rules that say which agent may use which tool.
    pub struct AccessSettings: Debug {
        /// The decision where no rule applies: `opt-out` allows, `opt-in` denies; if left out, `opt-in` where keys are
        /// required, else `opt-out`.
        #[schemars(with = "String", extend("enum" = ["opt-in", "opt-out"]))]
        pub default: Option<DefaultPolicy>,
        /// The rules from the start of the kernel on. Operators add others while it runs.
        pub rules: Vec<AccessRule>,
    }

    /// The permissions of servers, and how the kernel decides about them.
    pub struct PermissionSettings: Debug {
        /// The policy for permissions that `grants` does not list: `interactive` asks a human; `auto_approve` grants
        /// those that the specification names and `never_automatic` does not, and asks for all others; `deny_all`
        /// denies what no operator granted beforehand; `config_only` denies in any case. `interactive` if left out.
        #[schemars(with = "String", extend("enum" = ["interactive", "auto_approve", "deny_all", "config_only"]))]
        pub policy: Option<ApprovalPolicy>,
        /// The permissions that are granted from the start.
        pub grants: Vec<PermissionRule>,
        /// The permissions for which a human is asked under `auto_approve` too; if left out, those that the
        /// specification calls dangerous. With an empty list, `mgp doctor` warns.
        #[schemars(schema_with = "words::permissions")]
        pub never_automatic: Option<Vec<Permission>>,
        /// The time that a server or a call waits for a human, in seconds; 300 if left out.
        pub patience_secs: Option<u64>,
    }

    /// The calls that a human confirms.
    pub struct ConfirmationSettings: Debug, Eq {
        /// Asks a human to confirm calls that send, destroy, overwrite, spend or give access, calls of tools that ask
        /// for it, and calls of dangerous tools unless an operator granted every permission that the tool needs.
        pub dangerous: bool = true,
        /// Asks a human to confirm moderate calls too.
        pub moderate: bool,
        /// Asks a human to confirm the first call that may carry out what its agent took in before, or act on it:
        /// private data, or the words of others.
        pub flows: bool = true,
    }

    /// The checks of the arguments of calls.
    pub struct ValidatorSettings: Debug, Eq {
        /// The directories in which files that arguments name must lie, whichever client calls, besides `[[folders]]`.
        /// If left out, those are the client's folders, the directories among the server's arguments, and its `cwd`.
        pub roots: Vec<String>,
        /// The protected paths that calls may touch, such as `**/.env` or `~/.npmrc`; never the kernel's own files.
        pub allow_paths: Vec<String>,
        /// The private hosts that calls of all servers may reach, such as `localhost:3000` or `*.internal`;
        /// `servers.network.allow` is for one server.
        pub allowed_hosts: Vec<String>,
        /// The hosts that no call may reach, even if another key allows them.
        pub denied_hosts: Vec<String>,
        /// Refuses every host, public ones too, that neither `allowed_hosts` nor `servers.network` names.
        pub only_allowed_hosts: bool,
        /// The treatment of tools, prompts and templates that are seen for the first time.
        pub first_use: FirstUse,
        /// The treatment of arguments whose type differs from the schema of their tool.
        pub argument_types: ArgumentTypes,
    }

    /// Folders that are open to clients beside those in which they work.
    pub struct FolderRule: Debug, Eq {
        /// The folders that are open. Each begins with `/` or `~/`.
        pub open: Vec<String>,
        /// The folder, beginning with `/` or `~/`, in which a client has to work for this to hold; every client if left
        /// out.
        #[serde(rename = "in")]
        pub within: Option<String>,
    }

    /// The treatment of arguments whose type differs from the schema of their tool.
    pub enum ArgumentTypes: Default {
        /// Arguments that servers convert pass unchanged, such as `"5"` for a number, one item for a list, JSON in a
        /// text, or `null` for an optional argument.
        #[default]
        Loose,
        /// Calls with such arguments are refused.
        Exact,
    }

    /// The treatment of a definition that the kernel sees for the first time. A definition that has changed since is
    /// held back in any case.
    pub enum FirstUse: Default {
        /// The definition is used.
        #[default]
        Trust,
        /// The definition is held back until `mgp pin approve` approves it.
        Approve,
    }

    /// The audit record: its file, its contents and its size.
    pub struct AuditSettings: Debug, Eq {
        /// The moment at which a call is answered: before or after it is recorded.
        pub durability: AuditDurability,
        /// The part of a call's arguments that is recorded.
        pub arguments: AuditArguments,
        /// The number of days for which events are kept; all if left out.
        pub keep_days: Option<u32>,
        /// The maximum size of the record, in bytes; no limit if left out.
        pub keep_bytes: Option<u64>,
        /// A second file, best another user's and append-only (`chattr +a`), to which the kernel appends the ends of
        /// the record.
        pub ends: Option<String>,
        /// The receiver to which each event is pushed, such as a SIEM.
        pub push: Option<AuditPush>,
    }

    /// A receiver of the record. It gets every event at least once, in order; what it has not taken stays in the record
    /// for a week beyond `keep_days` and `keep_bytes`.
    pub struct AuditPush: Eq {
        /// The URL of the receiver: `syslog+tls://HOST:PORT` (RFC 5425), or an address of https, which gets logs of
        /// OTLP, or webhooks where there is a `secret`.
        pub url: String,
        /// The headers of requests over https.
        pub headers: BTreeMap<String, String>,
        /// The secret that signs webhooks, as Standard Webhooks says: `whsec_` and Base64, best as `${secret:NAME}`.
        pub secret: Option<String>,
        /// A PEM file with the certificates of authorities that are trusted as well.
        pub ca: Option<String>,
    }

    /// The moment at which a call is answered: before or after it is recorded.
    pub enum AuditDurability: Default {
        /// Calls do not wait. A crash loses the events of the last 200 ms, and those that wait for a slow disk.
        #[default]
        Async,
        /// Calls go on when their event has been written.
        Sync,
    }

    /// The part of a call's arguments that is recorded.
    pub enum AuditArguments: Default {
        /// The arguments are not recorded.
        Omitted,
        /// A digest of the arguments is recorded; with its key in the state directory, they can be proved later.
        #[default]
        Digest,
        /// The arguments are recorded without values that look like secrets.
        Redacted,
    }

    /// The limits on calls and messages.
    pub struct LimitSettings: Debug, Eq {
        /// The most calls of one agent in a minute; no limit if left out, and none for operators.
        #[schemars(range(min = 1))]
        pub agent_calls_per_minute: Option<u32>,
        /// The most calls of one agent in a day; no limit if left out, and none for operators.
        #[schemars(range(min = 1))]
        pub agent_calls_per_day: Option<u32>,
        /// The most calls of one agent at once, with those that wait for a server or a person; further calls wait in a
        /// queue. 512 if left out.
        #[schemars(range(min = 1))]
        pub agent_concurrency: Option<u32>,
        /// The most calls in the queue of each agent, and of each server; further calls are refused, and those that
        /// waited for two minutes. 1024 if left out.
        pub waiting_calls: Option<u32>,
        /// The time that a server has to start and to answer, in milliseconds; 30,000 if left out.
        /// `startup_timeout_ms` of `[servers.limits]` sets it for one server.
        pub startup_timeout_ms: Option<u64>,
        /// The maximum length of a message, in bytes; 64 MiB if left out. A longer message ends only its own call.
        #[schemars(range(min = 65536))]
        pub max_message_bytes: Option<u64>,
        /// The memory for all messages of more than 64 KiB together, in bytes; 512 MiB if left out. A message without
        /// room ends only its own call.
        #[schemars(range(min = 65536))]
        pub message_memory_bytes: Option<u64>,
    }
}

/// The most that the calls of an agent may cost in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentBudget {
    /// The units, as tools declare them in `cost`.
    pub units: u64,
    /// The span of time. Each begins at a full hour or at midnight, in UTC.
    #[serde(default)]
    pub per: BudgetSpan,
}

impl BudgetSpan {
    /// Returns how long the span is.
    pub const fn duration(self) -> std::time::Duration {
        match self {
            Self::Hour => std::time::Duration::from_hours(1),
            Self::Day => std::time::Duration::from_hours(24),
        }
    }
}

/// A rule that allows or denies an agent the use of a server or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AccessRule {
    /// The id of the agent, or a group as `@name`.
    pub agent: String,
    /// The id of the server, where `*` stands for any characters.
    pub server: String,
    /// The name of the tool at its server, where `*` stands for any characters; all tools if left out.
    pub tool: Option<String>,
    /// The decision.
    #[schemars(with = "String", extend("enum" = ["allow", "deny"]))]
    pub permission: AccessPermission,
    /// The kind of file in which the rule stands.
    #[serde(skip)]
    pub source: RuleSource,
}

/// The kind of file in which an access rule stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleSource {
    /// The user's file, or a file that the user named.
    #[default]
    User,
    /// The file of a folder that the user trusts. Entries of operators take precedence over its rules.
    Folder,
}

impl AccessRule {
    /// Returns whether the rule applies to this server or to tools of this server.
    pub fn may_be_about(&self, server: &str) -> bool {
        self.server == server || Glob::new(self.server.as_str()).matches(server)
    }
}

impl PermissionSettings {
    /// Returns the permissions for which a human is asked under `auto_approve` too.
    pub fn never_automatic(&self) -> Vec<Permission> {
        let dangerous = || Permission::KNOWN.iter().filter(|it| it.risk() == RiskLevel::Dangerous);
        self.never_automatic.clone().unwrap_or_else(|| dangerous().cloned().collect())
    }
}

/// A permission that is granted to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PermissionRule {
    /// The id of the server; all servers if left out.
    #[serde(default)]
    pub server: Option<String>,
    /// The permission.
    #[schemars(schema_with = "words::permission")]
    pub permission: Permission,
    /// The limits of the permission: paths, commands, hosts.
    #[serde(default)]
    #[schemars(with = "Option<ScopeShape>")]
    pub scope: Option<Scope>,
}

mgp_types::partial_debug!(AuditPush, self => ca: self.ca);

/// A rule for which calls a human is asked about. The narrowest rule decides, before `[confirmation]`.
// `mgp_types::mgp::AskRule`, the type of the values, has no schema.
#[derive(JsonSchema)]
#[schemars(rename = "AskRule", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is asked for")]
pub(super) struct AskRuleShape {
    /// The tools, as `server.tool`, where `*` stands for any characters.
    tool: String,
    /// The id of the agent, or a group as `@name`; all agents if left out.
    agent: Option<String>,
    /// The effect of the calls; all effects if left out.
    #[schemars(default, with = "String", extend("enum" = CallEffect::ALL))]
    effect: Option<String>,
    /// The beginning of the command that the calls run, such as `npm run`; all calls if left out.
    command: Option<String>,
    /// The decision: `once` asks once a day for each tool and effect, `refuse` refuses the call.
    #[schemars(extend("enum" = ["never", "once", "always", "refuse"]))]
    ask: String,
}

/// The limits of a permission. A list that is left out sets no limit, and denied entries take precedence over allowed
/// ones.
// `mgp_types::mgp::Scope`, the type of the values, has no schema.
#[derive(JsonSchema)]
#[schemars(rename = "Scope", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is asked for")]
pub(super) struct ScopeShape {
    /// Patterns of paths that may be touched.
    paths: Option<Vec<String>>,
    /// Patterns of paths that may not be touched.
    deny_paths: Option<Vec<String>>,
    /// Patterns of commands that may be run.
    commands: Option<Vec<String>>,
    /// Patterns of commands that may not be run.
    deny_commands: Option<Vec<String>>,
    /// Lets commands raise their privileges.
    allow_sudo: Option<bool>,
    /// Patterns of hosts that may be reached.
    hosts: Option<Vec<String>>,
    /// Patterns of hosts that may not be reached.
    deny_hosts: Option<Vec<String>>,
    /// Ports that may be used.
    ports: Option<Vec<u16>>,
    /// Programming languages in which code may be run.
    languages: Option<Vec<String>>,
    /// The maximum time that code may run, in milliseconds.
    max_execution_time_ms: Option<u64>,
}
