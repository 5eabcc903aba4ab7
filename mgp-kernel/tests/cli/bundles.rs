//! Bundles of a registry, of which the tests have a copy in files.

use std::io::{Cursor, Write as _};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::home::Home;
use crate::shell_servers::shell_server;

/// Publishes a version of a bundle, whose server has a tool with this description.
fn publish(home: &Home, version: &str, description: &str) {
    let tools =
        format!(r#"[{{"name":"now","description":"{description}","inputSchema":{{"type":"object"}}}}]"#);
    let script = format!("#!/bin/sh\n{}", shell_server(&tools, "result='{\"content\":[]}'"));
    let manifest = json!({"server": {"type": "binary", "mcp_config": {"command": "run.sh"}}}).to_string();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text, mode) in [("manifest.json", &manifest, 0o644), ("run.sh", &script, 0o755)] {
        writer.start_file(name, SimpleFileOptions::default().unix_permissions(mode)).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    let digits = mgp_types::hex::<64>(&Sha256::digest(&bytes));
    let bundle = json!({
        "registryType": "mcpb", "identifier": "https://bundles.example/clock.mcpb",
        "fileSha256": String::from_utf8_lossy(&digits),
    });
    let document = json!({"name": "io.github.someone/clock", "version": version, "packages": [bundle]});
    home.write("mirror/clock.json", &document.to_string());
    std::fs::write(home.path("mirror/clock.mcpb"), bytes).unwrap();
}

#[test]
fn an_upgrade_shows_which_definitions_changed_and_they_wait() {
    let home = Home::with_state();
    publish(&home, "1.0.0", "Tells the time.");
    home.json(["install", "clock", "--registry", "mirror", "--unconfined", "--yes"]);
    let servers = home.json(["servers", "--wait"]);
    assert_eq!(servers["servers"][0]["state"], "connected", "{servers}");
    publish(&home, "1.1.0", "Tells the time, and the date.");
    let upgraded = home.json(["upgrade", "clock", "--registry", "mirror", "--yes"]);
    let change = &upgraded["definitions"][0]["changes"][0];
    assert_eq!(change["at"], "/description", "{upgraded}");
    assert!(home.read("mgp.toml").contains("io.github.someone/clock@1.1.0"));
    let waiting = home.json(["pin", "list", "clock", "--waiting"]);
    assert_eq!(waiting["pins"][0]["name"], "now", "{waiting}");
}
