//! The defaults that `docs/configuration.md` names in words, beside those that hold.

use std::collections::BTreeMap;
use std::fmt::Debug;

use mgp_discovery::config::model::ServerConfig;
use mgp_lifecycle::RestartSettings;

use super::*;

#[test]
fn every_documented_default_is_the_one_that_holds() {
    let (config, server) = (Config::default(), ServerConfig::default());
    let program: ServerConfig = serde_json::from_str(r#"{ "id": "files", "command": "files" }"#).unwrap();
    let http = shown(&HttpConfig::default());
    let (restart, budget) = (RestartSettings::default(), budget(&config));
    let policy = permissions(&config, "files").unwrap();
    let in_line = shown(&agent_calls_at_once(&config));
    let seconds = |time: Duration| time.as_secs().to_string();
    let word = |value: &str| format!("`{value}`");
    let holding = [
        ("servers.restart_policy", word(&json(&restart.restart_policy))),
        ("servers.mgp.restart_policy", word(&json(&restart.restart_policy))),
        ("servers.max_restarts", restart.max_restarts.to_string()),
        ("servers.restart_window_secs", restart.restart_window_secs.to_string()),
        ("servers.backoff_base_ms", restart.backoff_base_ms.to_string()),
        ("servers.backoff_max_ms", restart.backoff_max_ms.to_string()),
        ("servers.security.trust_level", word(server.trust().as_str())),
        ("servers.instances", word(if program.runs_once() { "one" } else { "each" })),
        ("servers.limits.concurrency", server_places(&server).to_string()),
        ("servers.limits.timeout_ms", call_timeout(&server).as_millis().to_string()),
        ("limits.startup_timeout_ms", startup_timeout(&config, &server).as_millis().to_string()),
        ("listen.max_connections", field(&http, "max_connections")),
        ("permissions.policy", word(policy.policy.as_str())),
        ("permissions.patience_secs", in_millis(&field(&shown(&policy), "patience")).replace("000", "")),
        ("limits.agent_concurrency", field(&in_line, "max_calls")),
        ("limits.waiting_calls", field(&in_line, "max_waiting")),
        ("limits.max_message_bytes", format!("{} MiB", max_message_bytes(&config) >> 20)),
        ("limits.message_memory_bytes", format!("{} MiB", message_memory(&config).bytes() >> 20)),
        ("tools.level", word(&json(&config.tools.level))),
        ("tools.embedder", word(usual::EMBEDDER)),
        ("tools.budget.max_tokens", budget.max_tokens.to_string()),
        ("tools.budget.pinned_reserve", budget.pinned_reserve.to_string()),
        ("tools.budget.cache_limit", budget.cache_limit.to_string()),
        ("tools.budget.discovery_reserve", budget.discovery_reserve.to_string()),
        ("names.style", word(&json(&config.names.style))),
        ("telemetry.log", word(usual::LOG)),
        ("kernel.drain_secs", seconds(drain(&config))),
        ("kernel.linger", seconds(linger(&config))),
    ];
    let holding = BTreeMap::from(holding.map(|(key, value)| (key.to_owned(), value)));
    assert_eq!(documented(), holding);
}

/// Reads the defaults that the page names in words, as numbers or literals, by section and key.
fn documented() -> BTreeMap<String, String> {
    let mut section = "";
    let mut found = BTreeMap::new();
    for line in include_str!("../../../../docs/configuration.md").lines() {
        if let Some(header) = line.trim_start_matches('#').strip_prefix(" `[") {
            section = header.trim_matches(['[', ']', '`']);
        }
        let Some((row, _)) = line.split_once(" if left out") else { continue };
        let Some(key) = row.strip_prefix("* `").and_then(|row| row.split('`').next()) else { continue };
        let begin = ["; ", ". ", "): "].iter().filter_map(|end| Some(row.rfind(end)? + end.len())).max();
        let value = row[begin.unwrap_or_default()..].replace(',', "");
        let is_word = value.matches('`').count() == 2 && value.starts_with('`') && value.ends_with('`');
        if is_word || value.starts_with(|c: char| c.is_ascii_digit()) {
            found.insert(format!("{section}.{key}"), value);
        }
    }
    found
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
}

/// Reads a field of what a type shows of itself.
fn field(shown: &str, name: &str) -> String {
    let (_, rest) = shown.split_once(&format!("{name}: ")).unwrap_or_else(|| panic!("no {name} in {shown}"));
    rest.split([',', ' ', '}']).next().unwrap_or_default().to_owned()
}

/// Writes a time like `10s` in milliseconds.
fn in_millis(time: &str) -> String {
    let seconds: u64 = time.trim_end_matches('s').parse().unwrap();
    (seconds * 1000).to_string()
}
