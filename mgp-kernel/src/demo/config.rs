//! The configuration of the demo's kernel.

use std::path::Path;

use anyhow::Context as _;
use mgp_discovery::Config;
use serde_json::json;

use super::servers;

/// Returns what would stand in `mgp.toml`: the servers, started by `program`, and the restrictions that a careful
/// person puts on them.
pub(super) fn config(program: &Path, folder: &Path) -> anyhow::Result<Config> {
    let program = program.to_str().context("this program lies at a path that is no text")?;
    let folder = folder.to_str().context("the temporary folder lies at a path that is no text")?;
    let servers = servers::ALL.map(|(id, description)| {
        json!({
            "id": id,
            "description": description,
            "command": program,
            "args": ["demo-server", id],
            "cwd": folder,
            "backoff_base_ms": 100,
        })
    });
    let config = json!({
        "servers": servers,
        "permissions": {
            "policy": "interactive",
            "grants": [
                { "server": "files", "permission": "filesystem.read" },
                { "server": "files", "permission": "filesystem.write" },
            ],
        },
        // So few tools would all fit into the budget.
        "tools": { "level": "L3" },
        "validators": { "roots": [folder] },
        "audit": { "durability": "sync", "arguments": "redacted" },
    });
    serde_json::from_value(config).context("the demo's configuration")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_this_program() {
        let config = config(Path::new("/bin/mgp"), Path::new("/tmp/demo")).unwrap();
        assert_eq!(config.servers.len(), servers::ALL.len());
        assert!(config.servers.iter().all(|server| server.args == ["demo-server", &*server.id]));
        assert_eq!(config.permissions.grants.len(), 2);
    }
}
