use mgp_types::mgp::{AccessPermission, ApprovalPolicy, DefaultPolicy, Glob, Permission, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scope::ScopeShape;
use super::words;

/// Who a client is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentSettings {
    /// The agent, as access control and the record know it. Every one needs it.
    pub id: String,
    /// Whether the client on standard input and output is this agent.
    pub stdio: bool,
    /// Whether a human sits in front of its client, who is then asked there what only an operator may decide. With `stdio`
    /// that holds for the client on standard input and output alone, else for clients over HTTP with a key of this agent's.
    pub human: bool,
    /// Agents in whose name it may call, by `_meta` or `agent_id`. A `*` stands for anything between two dots,
    /// and alone for every agent.
    pub speaks_for: Vec<String>,
    /// What the agent itself is permitted; `code_execution` lets it have tools made, where that is on.
    #[schemars(with = "Vec<String>")]
    pub permissions: Vec<Permission>,
}

/// Which agent may use which tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct AccessSettings {
    /// What holds where no rule does: `opt-out` allows, `opt-in` denies. `opt-out` if left out, and
    /// `opt-in` where keys are required.
    #[schemars(schema_with = "words::default_policy")]
    pub default: Option<DefaultPolicy>,
    /// The rules that hold from the start; others are given while the kernel runs.
    pub rules: Vec<AccessRule>,
}

/// A rule of access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AccessRule {
    /// The agent.
    pub agent: String,
    /// The server, where `*` stands for any characters, as [access.md](access.md) tells.
    pub server: String,
    /// The tool, by the server's name for it, where `*` stands for any characters; all of the server's if left out.
    pub tool: Option<String>,
    /// `allow` or `deny`.
    #[schemars(schema_with = "words::access_permission")]
    pub permission: AccessPermission,
    /// Whose file says so.
    #[serde(skip)]
    pub source: RuleSource,
}

/// Whose file a rule of access stands in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleSource {
    /// The user's, or one that somebody named.
    #[default]
    User,
    /// That of a folder the user trusts: operators' entries go before its rules.
    Folder,
}

impl AccessRule {
    /// Whether the rule is about this server, or something there.
    pub fn may_be_about(&self, server: &str) -> bool {
        self.server == server || Glob::new(self.server.as_str()).matches(server)
    }
}

/// What servers may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct PermissionSettings {
    /// How permissions are decided: `interactive` asks a human, `auto_approve` grants what is not dangerous,
    /// `deny_all` denies, `config_only` grants what stands under `grants`. `interactive` if left out.
    #[schemars(schema_with = "words::approval_policy")]
    pub policy: Option<ApprovalPolicy>,
    /// What is granted from the start.
    pub grants: Vec<PermissionRule>,
    /// Permissions that `auto_approve` asks for nevertheless.
    #[schemars(schema_with = "words::permissions")]
    pub never_automatic: Option<Vec<Permission>>,
    /// How long to wait for a human, in seconds; five minutes if left out.
    pub patience_secs: Option<u64>,
    /// How long a question that nobody waits for any more can still be answered, in seconds. Counts from the start of the
    /// kernel on.
    pub pending_secs: u64,
    /// How long the answer to a question holds that is a no, in seconds, unless whoever answers says otherwise. Counts from
    /// the start of the kernel on.
    pub denied_secs: u64,
}

impl Default for PermissionSettings {
    fn default() -> Self {
        Self {
            policy: None,
            grants: Vec::new(),
            never_automatic: None,
            patience_secs: None,
            pending_secs: 86_400,
            denied_secs: 3_600,
        }
    }
}

/// A permission that a server has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PermissionRule {
    /// The server; all of them if left out.
    #[serde(default)]
    pub server: Option<String>,
    /// The permission.
    #[schemars(schema_with = "words::permission")]
    pub permission: Permission,
    /// What it is limited to: paths, commands, hosts.
    #[serde(default)]
    #[schemars(with = "Option<ScopeShape>")]
    pub scope: Option<Scope>,
}

/// Which calls a human confirms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ConfirmationSettings {
    /// Whether calls of dangerous tools, and of those that ask for it, wait for a human.
    pub dangerous: bool,
    /// Whether calls of moderate tools do, too.
    pub moderate: bool,
    /// How long to wait for a human, in seconds.
    pub patience_secs: u64,
}

impl Default for ConfirmationSettings {
    fn default() -> Self {
        Self { dangerous: true, moderate: false, patience_secs: 600 }
    }
}

/// How the arguments of calls are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ValidatorSettings {
    /// Directories in which files may be; arguments that name files are held to them. If left out, they follow from what
    /// is named for each server: directories among its arguments, and where it starts.
    pub roots: Vec<String>,
    /// What calls may touch although it is always protected, such as `**/.env` in any directory, `~/.npmrc` or
    /// `/etc/hosts`. The kernel's own files cannot be opened.
    pub allow_paths: Vec<String>,
    /// Directories that commands may empty.
    pub scratch: Vec<String>,
    /// Hosts that calls of all servers may reach although they are private, such as `localhost`, `localhost:3000` or
    /// `*.internal`. `servers.network.allow` opens one to a single server.
    pub allowed_hosts: Vec<String>,
    /// Hosts that may not be reached, whatever else allows them.
    pub denied_hosts: Vec<String>,
    /// Refuses every host, public ones too, that neither `allowed_hosts` nor `servers.network` names.
    pub only_allowed_hosts: bool,
    /// The treatment of tools, prompts and templates that are seen for the first time.
    pub first_use: FirstUse,
    /// The treatment of arguments that have another type than the schema of their tool says.
    pub argument_types: ArgumentTypes,
}

/// The treatment of arguments that have another type than the schema of their tool says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArgumentTypes {
    /// What servers convert goes to the server as it came, such as `"5"` for a number, one item for a list, JSON in a text, or
    /// `null` for what may be left out. Validators see it in both forms.
    #[default]
    Loose,
    /// They are refused.
    Exact,
}

/// The treatment of a definition that is seen for the first time. One that has changed since is held back in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FirstUse {
    /// It is used.
    #[default]
    Trust,
    /// It is held back until `mgp pin approve`.
    Approve,
}

/// What is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct AuditSettings {
    /// The file; `audit.db` where the kernel keeps its state, if left out.
    pub path: Option<String>,
    /// Whether calls wait until they are recorded.
    pub durability: AuditDurability,
    /// How much of the arguments of calls is recorded.
    pub arguments: AuditArguments,
    /// How many days of the record are kept; all if left out.
    pub keep_days: Option<u32>,
    /// How many bytes of the record are kept; all if left out.
    pub keep_bytes: Option<u64>,
    /// A second file for the ends of the record, to which they are added; best one of another owner's that can only be
    /// added to (`chattr +a`). None if left out.
    pub ends: Option<String>,
}

/// Whether calls wait until they are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditDurability {
    /// They go on at once, and a crash loses what is not yet written.
    #[default]
    Async,
    /// They go on when the record has been written.
    Sync,
}

/// How much of the arguments of calls is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditArguments {
    /// Nothing.
    Omitted,
    /// Their digest, with a key that the kernel keeps in its state: it can be proved later what they were.
    #[default]
    Digest,
    /// All of them, without what looks like a secret.
    Redacted,
}

/// How often tools may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct LimitSettings {
    /// Calls a minute of one agent.
    #[schemars(range(min = 1))]
    pub agent_calls_per_minute: Option<u32>,
    /// Calls a day of one agent.
    #[schemars(range(min = 1))]
    pub agent_calls_per_day: Option<u32>,
    /// How many calls the kernel works on at once; more wait in line. 1024 if left out.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// How many more calls wait in line, for the kernel and for each server; further ones are refused. 1024 if left out.
    pub waiting_calls: Option<u32>,
    /// How long a call waits in line before it is refused; two minutes if left out.
    pub waiting_ms: Option<u32>,
    /// How long a message may be, in bytes, whoever sends it; 64 MiB if left out. A longer one ends its call only.
    #[schemars(range(min = 65536))]
    pub max_message_bytes: Option<u64>,
    /// How much memory messages of more than 64 KiB may take at once, in bytes, of all clients and servers together; 512 MiB
    /// if left out. A message that finds none ends its call only.
    #[schemars(range(min = 65536))]
    pub message_memory_bytes: Option<u64>,
    /// How many questions of calls may wait for clients that cannot be asked directly. 256 if left out.
    pub waiting_questions: Option<u32>,
}
