use schemars::JsonSchema;

/// The limits of a permission. A list that is left out sets no limit, and denied entries take precedence over allowed
/// ones.
// The type itself, `mgp_types::mgp::Scope`, knows no schemas.
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
    /// Whether commands may raise their privileges.
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
