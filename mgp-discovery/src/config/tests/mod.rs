//! Tests of the configuration.

mod authorization;
mod editing;
mod folders;
mod loading;
mod problems;
mod reading;

use std::path::Path;

use super::{Config, ConfigError, Problem};

fn parse(text: &str) -> Result<(Config, Vec<Problem>), ConfigError> {
    Config::parse(Path::new("mgp.toml"), text)
}

fn config(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}")).0
}

/// The example of the specification (§15.2).
const SEED: &str = r#"[[servers]]
id = "mind.cerebras"
command = "python"
args = ["mcp-servers/cerebras/server.py"]
transport = "stdio"

[servers.mgp]
extensions = ["security", "lifecycle", "streaming"]
permissions_required = ["network.outbound"]
trust_level = "standard"
restart_policy = "on_failure"

[servers.env]
CEREBRAS_API_KEY = "${CEREBRAS_API_KEY}"
"#;
