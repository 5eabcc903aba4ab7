//! What the kernel runs with.

use mgp_types::mgp::{AuditTarget, ServerId};
use mgp_types::{Error, code};
use serde::{Deserialize, Serialize};

use super::layer::Asked;
use crate::Applied;
use crate::parts::Parts;

/// The configuration as it is in effect, and where things are kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShownConfig {
    /// Where keys, grants, pins and the record are kept.
    pub(crate) state: String,
    /// What of `mgp.toml` is in effect, without the values of variables and headers: they may be secrets.
    pub(crate) config: serde_json::Value,
}

/// What is something else since the configuration was read anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Reloaded {
    pub(crate) added: Vec<ServerId>,
    pub(crate) changed: Vec<ServerId>,
    pub(crate) removed: Vec<ServerId>,
    /// Sections of which something stays as it was until the kernel is started anew.
    pub(crate) needs_restart: Vec<String>,
}

/// Reads the configuration anew. What is wrong with it is told, and the old one stays.
pub(super) async fn reload(asked: &Asked) -> Result<Reloaded, Error> {
    let state = asked.parts.state.display().to_string();
    let target = AuditTarget::new(None, None);
    asked.record("dev.cloto.mgp.config_reloaded", target, ("state", &state)).await?;
    let applied = asked.parts.reread().await;
    let applied = applied.map_err(|error| Error::new(code::INVALID_PARAMS, error.to_string()))?;
    let Applied { added, changed, removed, needs_restart } = applied;
    let needs_restart = needs_restart.into_iter().map(str::to_owned).collect();
    Ok(Reloaded { added, changed, removed, needs_restart })
}

pub(super) fn show(parts: &Parts) -> Result<ShownConfig, Error> {
    let mut config = serde_json::to_value(&**parts.config.load())
        .map_err(|error| Error::internal("the configuration cannot be written").with_source(error))?;
    hide(&mut config);
    Ok(ShownConfig { state: parts.state.display().to_string(), config })
}

/// Takes values out that may be secrets, wherever they stand.
fn hide(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(hide),
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                match value {
                    serde_json::Value::Object(table) if SECRET_TABLES.contains(&name.as_str()) => {
                        table.values_mut().for_each(|value| *value = "***".into());
                    }
                    _ => hide(value),
                }
            }
        }
        _ => {}
    }
}

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
            "registration": {"env": ["NAME"]},
        });
        hide(&mut config);
        let shown = config.to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("KEY") && shown.contains("NAME"), "{shown}");
    }
}
