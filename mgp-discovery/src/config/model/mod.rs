//! The types of `mgp.toml`. The reference page and the JSON Schema are made from them.

mod authorization;
mod kernel;
mod policy;
mod server;
mod tables;
mod tools;
pub mod usual;
mod words;

use std::collections::BTreeMap;

use mgp_types::mgp::AskRule;

pub use self::authorization::{
    AgentToken, DpopUse, ListenOauth, ListenTls, PageOauth, ServerGrant, ServerOauth, TokenAgents,
    TokenIntrospection, TokenIssuer,
};
pub use self::kernel::{
    ApprovalSettings, ClusterSettings, DownloadSettings, EffectSettings, KernelSettings, ListenSettings,
    Notification, PageSettings, RegistrationSettings, StoreSettings, TelemetrySettings,
};
use self::policy::AskRuleShape;
pub use self::policy::{
    AccessRule, AccessSettings, AgentBudget, AgentSettings, ArgumentTypes, AuditArguments, AuditDurability,
    AuditPush, AuditSettings, BudgetSpan, ConfirmationSettings, FirstUse, FolderRule, GroupSettings,
    LimitSettings, PermissionRule, PermissionSettings, RuleSource, ValidatorSettings,
};
pub use self::server::{
    AllowedRule, Instances, NetworkPreset, ServerAgent, ServerConfig, ServerConfinement, ServerDefinitions,
    ServerDialect, ServerLimits, ServerMgp, ServerNetwork, ServerProtocol, ServerSecurity, Sharing, ToolRule,
    TransportKind,
};
use self::tables::tables;
pub use self::tools::{BudgetSettings, ListLevel, NameSettings, NameStyleSetting, ToolSettings};

tables! {
    /// A whole `mgp.toml`. Every key may be left out.
    pub struct Config: Debug {
        /// The variables of the kernel's environment that every configured server receives as well. A `*` stands for
        /// any characters, a leading `!` withholds variables; `MGP_…` never passes. The key stands above the first
        /// `[section]`.
        pub pass_env: Vec<String>,
        /// The servers, each under `[[servers]]` (MGP §15.2).
        pub servers: Vec<ServerConfig>,
        /// The addresses at which clients connect, besides standard input and output.
        pub listen: ListenSettings,
        /// The agents that are known by name.
        pub agents: Vec<AgentSettings>,
        /// The groups of agents.
        pub groups: Vec<GroupSettings>,
        /// The rules that say which agent may use which tool (§5).
        pub access: AccessSettings,
        /// The permissions of servers, and how the kernel decides about them (§3).
        pub permissions: PermissionSettings,
        /// The calls that a human confirms (§4.4).
        pub confirmation: ConfirmationSettings,
        /// The ways in which questions reach people.
        pub approvals: ApprovalSettings,
        /// The rules for which calls a human is asked about; `mgp ask` writes them.
        #[schemars(with = "Vec<AskRuleShape>")]
        pub ask: Vec<AskRule>,
        /// The checks of the arguments of calls (§4.5, §7).
        pub validators: ValidatorSettings,
        /// The folders that are open to clients beside those in which they work; `mgp open` writes them.
        pub folders: Vec<FolderRule>,
        /// The audit record: its file, its contents and its size (§6).
        pub audit: AuditSettings,
        /// The limits on calls and messages.
        pub limits: LimitSettings,
        /// The effects of calls that happen once and can be taken back: idempotency keys and transactions.
        pub effects: EffectSettings,
        /// The tools that a model sees, and how it searches for others (§16).
        pub tools: ToolSettings,
        /// The spelling of the names of tools and prompts for clients.
        pub names: NameSettings,
        /// The servers that may register themselves while the kernel runs (§15.4). Without entries, no server can be
        /// registered.
        pub registration: RegistrationSettings,
        /// The places from which commands bring servers and new versions of `mgp`.
        pub downloads: DownloadSettings,
        /// The page for people.
        pub ui: PageSettings,
        /// The kernel's log, traces and metrics.
        pub telemetry: TelemetrySettings,
        /// The database that several kernels share.
        pub store: StoreSettings,
        /// The way from kernel to kernel.
        pub cluster: ClusterSettings,
        /// The kernel's files, and how it stops.
        pub kernel: KernelSettings,
        /// The places of the keys that are set.
        #[serde(skip)]
        pub key_places: KeyPlaces,
    }
}

/// The file and line of each key that is set, such as `mgp.toml:12`, by its name, such as `servers.git.command`.
///
/// All places are equal: a configuration whose keys moved says the same as before.
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "a name for a map")]
pub struct KeyPlaces(pub BTreeMap<String, String>);

impl PartialEq for KeyPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
