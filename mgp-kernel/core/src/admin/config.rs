//! The configuration that the kernel runs with: shown, checked and reloaded.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use clap::Args;
use mgp_discovery::clients::{args_without_secrets, without_secrets};
use mgp_discovery::config::nearest;
use mgp_types::Error;
use mgp_types::mgp::ToolPattern;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operation::{Operation, OperatorCall};
use super::permissions::known_agents;
use crate::AppliedConfig;
use crate::sections::inventory::{ServerInventory, UnmatchedRules, unmatched_rules};
use crate::terminal::{TextForm, TextWriter, line_form, printable};

/// Shows the configuration as it is in effect.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ShowConfig {}

/// The configuration as it is in effect, and the folder of the state.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShownConfig {
    /// The folder in which keys, grants, pins and the record are kept.
    state: String,
    /// The parts of `mgp.toml` that are in effect, without possible secrets: the values of variables and headers, and
    /// texts that look like one in a command line or an address.
    config: Value,
    /// The file and line of each key that is set.
    pub(crate) set_at: BTreeMap<String, String>,
}

/// Reloads the configuration, and returns what changed since the last reload. If the configuration is invalid, the old one
/// stays in effect.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReloadConfig {}

/// Lists the rules that match nothing that exists.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListUnmatched {}

/// Checks that a rule about questions names tools and an agent that exist.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckAskRule {
    /// The tools that the rule is for.
    pub tool: ToolPattern,
    /// The agent that the rule is for; all agents if left out.
    pub agent: Option<String>,
}

/// The names in a rule that do not exist, each with the name that is probably meant.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckedAskRule {
    /// The names in the rule that nothing has.
    pub unknown: Vec<UnknownName>,
}

/// A name that does not exist.
#[derive(Debug, Serialize, Deserialize)]
pub struct UnknownName {
    /// The description of the mistake.
    pub what: String,
    /// The name that is probably meant.
    pub meant: Option<String>,
}

impl Operation for CheckAskRule {
    type Reply = CheckedAskRule;

    async fn run(self, call: &OperatorCall) -> Result<CheckedAskRule, Error> {
        let tool = ServerInventory::of(&call.kernel).check_pattern(&self.tool).err();
        let tool = tool.map(|unmatched| UnknownName {
            what: unmatched.what().to_owned(),
            meant: unmatched.suggestion(),
        });
        // An agent may connect later, so only a name that reads like a known one counts as a mistake.
        let agents = known_agents(&call.kernel);
        let agent = self.agent.filter(|agent| !agents.contains(agent)).and_then(|agent| {
            let meant = nearest(&agent, agents.iter().map(String::as_str))?.to_owned();
            Some(UnknownName { what: format!("unknown agent `{agent}`"), meant: Some(meant) })
        });
        Ok(CheckedAskRule { unknown: tool.into_iter().chain(agent).collect() })
    }
}

impl Operation for ShowConfig {
    type Reply = ShownConfig;

    async fn run(self, call: &OperatorCall) -> Result<ShownConfig, Error> {
        let config = call.kernel.config.load();
        let mut shown = serde_json::to_value(&**config)
            .map_err(|error| Error::internal("the configuration cannot be written").with_source(error))?;
        hide(&mut shown);
        let state = call.kernel.config.state().display().to_string();
        Ok(ShownConfig { state, config: shown, set_at: config.key_places.0.clone() })
    }
}

line_form!(ShownConfig, |shown| format_args!("{:#}", shown.config));

impl Operation for ReloadConfig {
    type Reply = AppliedConfig;

    async fn run(self, call: &OperatorCall) -> Result<AppliedConfig, Error> {
        let state = call.kernel.config.state().display().to_string();
        call.record_act("dev.cloto.mgp.config_reloaded", &[("state", &state)]).await?;
        call.kernel.accept_config().await.map_err(|error| Error::invalid_params(error.to_string()))
    }
}

impl TextForm for AppliedConfig {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        if *self == Self::default() {
            return writeln!(out, "The configuration has not changed.");
        }
        let Self { added, changed, removed, settings, needs_restart, accepted } = self;
        for (what, servers) in [("added", added), ("restarted", changed), ("removed", removed)] {
            servers.iter().try_for_each(|server| writeln!(out, "{what} {}", printable(server.as_str())))?;
        }
        settings.iter().try_for_each(|section| writeln!(out, "changed [{section}]"))?;
        needs_restart.iter().try_for_each(|section| {
            writeln!(out, "[{section}] changed; takes effect when the kernel restarts: mgp restart")
        })?;
        accepted.iter().try_for_each(|key| writeln!(out, "accepted {} for the next kernel", printable(key)))
    }
}

impl Operation for ListUnmatched {
    type Reply = UnmatchedRules;

    async fn run(self, call: &OperatorCall) -> Result<UnmatchedRules, Error> {
        Ok(unmatched_rules(&call.kernel))
    }
}

/// Removes values that may be secrets, wherever they stand.
fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(members) => {
            for (name, value) in members {
                // Keys of other sections are paths of files.
                if name == "store"
                    && let Some(key) = value.get_mut("key").filter(|key| key.is_string())
                {
                    *key = "***".into();
                }
                match value {
                    Value::Object(table) if SECRET_TABLES.contains(&name.as_str()) => {
                        table.values_mut().for_each(|value| *value = "***".into());
                    }
                    Value::Array(args) if name == "args" => {
                        let texts = args.iter().map(|text| text.as_str().unwrap_or_default().to_owned());
                        let shown = args_without_secrets(&texts.collect::<Vec<_>>());
                        *args = shown.into_iter().map(Value::from).collect();
                    }
                    Value::String(text) if SECRETS.contains(&name.as_str()) => "***".clone_into(text),
                    Value::String(text) if SECRET_TEXTS.contains(&name.as_str()) => {
                        *text = without_secrets(name, text);
                    }
                    _ => hide(value),
                }
            }
        }
        _ => {}
    }
}

/// The members whose texts may contain a secret.
const SECRET_TEXTS: [&str; 5] = ["command", "url", "otlp", "embedder", "webhook"];
/// The members that are a secret.
const SECRETS: [&str; 3] = ["client_secret", "private_key", "secret"];
/// The tables of which each value may be a secret.
const SECRET_TABLES: [&str; 3] = ["env", "headers", "otlp_headers"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_value_of_a_variable_or_header_is_shown() {
        let mut config = json!({
            "servers": [{"id": "a", "env": {"KEY": "s3cret"}, "agents": {"x": {"headers": {"A": "s3cret"}}}}],
            "telemetry": {"otlp_headers": {"A": "s3cret"}},
            "approvals": {"notify": [{"webhook": "https://h.example/?token=s3cret", "secret": "s3cret"}]},
            "listen": {"oauth": {"issuers": [{"introspection": {"client_secret": "s3cret"}}]}},
            "registration": {"env": ["NAME"]},
            "store": {"url": "postgres://ada:s3cret@h.example/mgp", "key": "s3cret", "ca": "NAME.pem"},
            "cluster": {"key": "NAME.key"},
        });
        hide(&mut config);
        let shown = config.to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("KEY") && shown.contains("NAME") && shown.contains("NAME.key"), "{shown}");
    }

    #[test]
    fn no_secret_in_a_command_line_or_an_address_is_shown() {
        let mut config = json!({
            "servers": [
                {"command": "x", "args": ["--api-key", "s3cret", "--token=s3cret", "dir", "--port", "80"]},
                {"url": "https://ada:s3cret@h.example/mcp?token=s3cret&x=1"},
            ],
            "telemetry": {"otlp": "https://ada:s3cret@otlp.example"},
        });
        hide(&mut config);
        let shown = config.to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(
            config["servers"][0]["args"],
            json!(["--api-key", "***", "--token=***", "dir", "--port", "80"])
        );
        assert_eq!(config["servers"][1]["url"], "https://ada:***@h.example/mcp?token=***&x=1");
    }
}
