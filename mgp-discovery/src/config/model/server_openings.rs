use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

/// What calls of one server may reach beside the public network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerNetwork {
    /// Hosts that calls of this server may reach although they are not public: `localhost:3000`, `*.internal:8443`, `[::1]:*` or
    /// the network `10.0.0.0/8`. Without a port, or with `*`, all ports are meant. A wildcard or a network opens no address of a
    /// cloud's metadata, and `validators.denied_hosts` goes before it.
    pub allow: Vec<String>,
    /// What servers of a kind may reach.
    pub preset: Option<NetworkPreset>,
}

/// What servers of a kind may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkPreset {
    /// This machine at any port, and pages that stand in a `data:` URL. Private networks and the metadata of clouds stay refused.
    Browser,
}

/// How the definitions of one server's tools, prompts and templates are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerDefinitions {
    /// Rules that neither hold nor flag a definition of this server any more, each for one tool.
    pub allow: Vec<AllowedRule>,
}

/// A rule that an operator ends for one definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AllowedRule {
    /// The tool, by the name that the server gives it; `prompt:NAME`, `template:URI_TEMPLATE` or `resource:URI` for what is none.
    pub tool: String,
    /// The rule, as `mgp pin list` and refusals name it.
    #[schemars(schema_with = "words::definition_rule")]
    pub rule: String,
}
