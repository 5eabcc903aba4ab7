//! Servers of a registry, of which the tests have a copy in files.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::home::Home;

fn weather(version: &str) -> Value {
    json!({
        "name": "io.github.someone/weather",
        "description": "Forecasts",
        "version": version,
        "packages": [{
            "registryType": "npm", "identifier": "@someone/weather", "version": version,
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "named", "name": "--units", "isRequired": true, "description": "Which"}],
            "environmentVariables": [{"name": "WEATHER_KEY", "isRequired": true, "isSecret": true}],
        }],
    })
}

const INSTALL: [&str; 6] = ["install", "weather", "--registry", "server.json", "--answer", "units=metric"];

#[test]
fn a_server_is_installed_by_its_name_after_somebody_agreed() {
    let home = Home::new();
    home.write("server.json", &weather("1.2.3").to_string());
    let lacking = home.run(["install", "weather", "--registry", "server.json"]);
    assert!(lacking.code == Some(1) && lacking.err.contains("--answer units=VALUE  Which"), "{lacking:?}");
    let alone = home.run(INSTALL);
    assert!(alone.code == Some(1) && alone.err.contains("nobody agreed"), "{alone:?}");
    assert!(alone.err.contains("npx -y @someone/weather@1.2.3"), "{alone:?}");
    assert!(!home.path(".config/mgp/servers.toml").exists());
    assert!(alone.err.contains("mgp secrets set WEATHER_WEATHER_KEY"), "{alone:?}");
    assert!(alone.err.contains("with WEATHER_KEY=${secret:WEATHER_WEATHER_KEY}"), "{alone:?}");
    let added = home.json(INSTALL.into_iter().chain(["--yes"]));
    assert_eq!(added["plan"]["command"], "npx -y @someone/weather@1.2.3 --units metric");
    assert_eq!(added["plan"]["secrets"], json!(["WEATHER_WEATHER_KEY"]));
    let text = home.read(".config/mgp/servers.toml");
    assert!(text.contains("package = \"io.github.someone/weather@1.2.3\""), "{text}");
    assert!(text.contains("${secret:WEATHER_WEATHER_KEY}") && text.contains("metric"), "{text}");
    let again = home.run(INSTALL.into_iter().chain(["--yes"]));
    assert!(again.code == Some(1) && again.err.contains("already"), "{again:?}");
}

#[test]
fn a_registry_is_named_in_the_configuration_and_what_it_lacks_is_said() {
    let home = Home::with_state();
    home.write("mirror/one.json", &json!({"servers": [{"server": weather("1.2.3")}]}).to_string());
    home.write("mirror/other.json", &json!({"name": "a.b/weather", "remotes": []}).to_string());
    home.configure(&format!("[downloads]\nregistry = {:?}\n", home.path("mirror").display().to_string()));
    let several = home.run(["install", "weather"]);
    assert!(several.code == Some(1) && several.err.contains("a.b/weather"), "{several:?}");
    let unknown = home.run(["install", "nothing"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("no server called nothing"), "{unknown:?}");
    let version = home.run(["install", "io.github.someone/weather@9.9.9"]);
    assert!(version.code == Some(1) && version.err.contains("no server called"), "{version:?}");
    home.write("mirror/broken.json", "{\"name\": 3}");
    let broken = home.run(["install", "nothing"]);
    assert!(broken.code == Some(1) && broken.err.contains("line 1"), "{broken:?}");
    let elsewhere = home.run(["install", "nothing", "--registry", "http://127.0.0.1:1"]);
    assert!(elsewhere.code == Some(4) && elsewhere.err.contains("gives no answer"), "{elsewhere:?}");
}

#[test]
fn a_name_that_looks_like_another_one_is_agreed_to_only_in_full() {
    let home = Home::new();
    let mut document = weather("1.2.3");
    document["packages"] =
        json!([{"registryType": "npm", "identifier": "mcp-server-fetsh", "version": "1.0.0"}]);
    home.write("server.json", &document.to_string());
    let short = home.run(["install", "weather", "--registry", "server.json", "--yes"]);
    assert!(short.code == Some(1) && short.err.contains("looks like `mcp-server-fetch`"), "{short:?}");
    home.done(["install", "io.github.someone/weather", "--registry", "server.json", "--yes"]);
}

#[test]
fn newer_versions_are_listed_and_an_upgrade_is_shown_before_it_is_made() {
    let home = Home::with_state();
    home.configure(&format!(
        "[downloads]\nregistry = {:?}\n",
        home.path("server.json").display().to_string()
    ));
    home.write("server.json", &weather("1.2.3").to_string());
    home.done(INSTALL.into_iter().chain(["--yes"]));
    assert_eq!(home.json(["outdated"])["servers"], json!([]));
    let upgrade = ["upgrade", "weather", "--answer", "units=metric"];
    assert_eq!(home.json(upgrade)["upgraded"], false);
    home.write("server.json", &weather("1.10.0").to_string());
    let listed = &home.json(["outdated"])["servers"][0];
    assert_eq!((&listed["newest"], &listed["version"]), (&json!("1.10.0"), &json!("1.2.3")));
    let alone = home.run(upgrade);
    assert!(alone.code == Some(1) && alone.err.contains("nobody agreed"), "{alone:?}");
    assert!(alone.err.contains("before: npx -y @someone/weather@1.2.3 --units metric"), "{alone:?}");
    assert!(alone.err.contains("reaches: npx -y @someone/weather@1.10.0 --units metric"), "{alone:?}");
    assert!(home.read("mgp.toml").contains("weather@1.2.3"));
    home.write("server.json", &weather("1.0.0").to_string());
    assert_eq!(home.json(upgrade)["upgraded"], false, "an older version is no upgrade");
    let other = home.run(["upgrade", "other"]);
    assert!(other.code == Some(1) && other.err.contains("no server `other`"), "{other:?}");
}

#[test]
fn an_image_is_pinned_to_what_its_tag_names_now() {
    let home = Home::new();
    let image = json!([{"registryType": "oci", "identifier": "ghcr.io/someone/weather:1.0"}]);
    let mut document = weather("1.2.3");
    document["packages"] = image;
    home.write("server.json", &document.to_string());
    let digest = format!("sha256:{}", "a1".repeat(32));
    home.write(
        "bin/docker",
        &format!("#!/bin/sh\n[ \"$6\" = ghcr.io/someone/weather:1.0 ] && echo {digest}\n"),
    );
    std::fs::set_permissions(home.path("bin/docker"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let install = ["install", "weather", "--registry", "server.json", "--yes"];
    let added = home.json_where(&[("PATH", &path)], install);
    let command = format!("docker run -i --rm ghcr.io/someone/weather:1.0@{digest}");
    assert_eq!(added["plan"]["command"], command.as_str(), "{added}");
}
