//! What `mgp.toml` may say. The reference page and the JSON Schema are made from these types.

mod kernel;
mod listen;
mod name_limits;
mod names;
mod policy;
mod restart;
mod scope;
mod server;
mod server_limits;
mod tool_names;
mod tools;
mod transport;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::kernel::{KernelSettings, RegistrationSettings, TelemetrySettings};
pub use self::listen::{ListenSettings, RevokedCalls};
pub use self::policy::{
    AccessRule, AccessSettings, AgentSettings, ArgumentTypes, AuditArguments, AuditDurability, AuditSettings,
    ConfirmationSettings, FirstUse, LimitSettings, PermissionRule, PermissionSettings, RuleSource,
    ValidatorSettings,
};
pub use self::restart::{Restart, RestartPolicy};
pub use self::server::{
    AllowedRule, NetworkPreset, ServerConfig, ServerConfinement, ServerDefinitions, ServerMgp, ServerNetwork,
    ServerSecurity,
};
pub use self::server_limits::{ServerAgent, ServerLimits, Sharing, ToolRule};
pub use self::tool_names::{ClientNames, NameSettings, NameStyleSetting};
pub use self::tools::{BudgetSettings, ListLevel, ToolSettings};
pub use self::transport::TransportKind;

/// A whole `mgp.toml`. Everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Config {
    /// Variables of the kernel's environment that every server of the configuration is given, beside those that every program
    /// needs and those of proxies and certificates: names, in which a `*` stands for any characters. A `!` in front withholds
    /// what the rest names, as `!HTTPS_PROXY`. Stands above the first `[section]`.
    pub pass_env: Vec<String>,
    /// The servers, each under `[[servers]]` (MGP §15.2).
    pub servers: Vec<ServerConfig>,
    /// Where clients connect, beside standard input and output.
    pub listen: ListenSettings,
    /// Who the client on standard input and output is, and who may speak for others.
    pub agents: Vec<AgentSettings>,
    /// Which agent may use which tool (§5).
    pub access: AccessSettings,
    /// What servers may do (§3).
    pub permissions: PermissionSettings,
    /// Which calls a human confirms (§4.4).
    pub confirmation: ConfirmationSettings,
    /// How the arguments of calls are judged (§4.5, §7).
    pub validators: ValidatorSettings,
    /// What is recorded (§6).
    pub audit: AuditSettings,
    /// How often tools may be called.
    pub limits: LimitSettings,
    /// What a model is given of the tools, and how they are searched (§16).
    pub tools: ToolSettings,
    /// How the names of tools and prompts are written for clients.
    pub names: NameSettings,
    /// Which servers may register themselves while the kernel runs (§15.4).
    pub registration: RegistrationSettings,
    /// What is told to those who watch over the kernel.
    pub telemetry: TelemetrySettings,
    /// The kernel itself.
    pub kernel: KernelSettings,
}
