//! Tests of plans from copies of a registry's documents.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;

/// Writes documents to a folder, and looks a name up in them.
async fn look_up(documents: &[serde_json::Value], request: InstallRequest) -> Result<InstallLookup> {
    let folder = tempfile::tempdir().unwrap();
    for (number, document) in documents.iter().enumerate() {
        fs::write(folder.path().join(format!("{number}.json")), document.to_string()).unwrap();
    }
    in_folder(folder.path(), request).await
}

async fn in_folder(folder: &Path, request: InstallRequest) -> Result<InstallLookup> {
    Installer::new(folder.to_str())?.look_up(&request, &[]).await
}

fn named(name: &str) -> InstallRequest {
    InstallRequest { name: name.to_owned(), ..InstallRequest::default() }
}

fn package(name: &str, package: &serde_json::Value) -> serde_json::Value {
    json!({ "name": name, "version": "1.2.3", "packages": [package] })
}

fn npm(identifier: &str) -> serde_json::Value {
    json!({ "registryType": "npm", "identifier": identifier, "version": "1.2.3" })
}

async fn refused(document: serde_json::Value) -> String {
    match look_up(&[document], named("weather")).await {
        Ok(lookup) => panic!("it is planned: {}", lookup.plan.map_or_else(String::new, |plan| plan.command)),
        Err(failure) => failure.message().to_owned(),
    }
}

#[tokio::test]
async fn a_plan_shows_all_that_would_be_started_and_pins_the_version() {
    let document = package("io.github.x/weather", &npm("@x/weather"));
    let lookup =
        look_up(&[document.clone(), package("a.b/mail", &npm("mail"))], named("weather")).await.unwrap();
    let plan = lookup.plan.unwrap();
    assert_eq!((plan.command.as_str(), plan.server_id.as_str()), ("npx -y @x/weather@1.2.3", "weather"));
    assert_eq!(plan.config.package.as_deref(), Some("io.github.x/weather@1.2.3"));
    let confinement = plan.config.confinement;
    assert_eq!(confinement.is_some(), support().confines_by_port().is_ok());
    assert!(confinement.is_none_or(|open| open.write.is_empty() && open.read.is_empty()));
    let unconfined = InstallRequest { unconfined: true, ..named("weather") };
    let plan = look_up(&[document], unconfined).await.unwrap().plan.unwrap();
    assert!(plan.config.confinement.is_none() && plan.notes.iter().any(|note| note.contains("unconfined")));
}

#[tokio::test]
async fn several_servers_of_a_name_are_told_and_none_is_planned() {
    let documents = [package("a.b/weather", &npm("one")), package("c.d/weather", &npm("two"))];
    let lookup = look_up(&documents, named("weather")).await.unwrap();
    let names: Vec<_> = lookup.found.iter().map(|(name, ..)| name.as_str()).collect();
    assert!(names == ["a.b/weather", "c.d/weather"] && lookup.plan.is_none());
    assert!(look_up(&documents, named("c.d/weather")).await.unwrap().plan.is_some());
}

#[tokio::test]
async fn values_that_are_needed_are_told_and_an_upgrade_keeps_those_that_there_are() {
    let mut asking = npm("weather");
    asking["environmentVariables"] = json!([{ "name": "UNITS", "isRequired": true, "description": "Which" }]);
    let document = package("a.b/weather", &asking);
    let lookup = look_up(std::slice::from_ref(&document), named("weather")).await.unwrap();
    assert!(lookup.plan.is_none() && lookup.needed[0].name == "UNITS");
    let answers = vec![("UNITS".to_owned(), "metric".to_owned())];
    let mut plan =
        look_up(&[document], InstallRequest { answers, ..named("weather") }).await.unwrap().plan.unwrap();
    let mut old = ServerConfig::default();
    old.id = "mine".to_owned();
    old.env.insert("UNITS".to_owned(), "imperial".to_owned());
    plan.upgrade(&old);
    assert_eq!((plan.config.id.as_str(), plan.config.env["UNITS"].as_str()), ("mine", "imperial"));
}

#[tokio::test]
async fn every_variable_is_shown_and_servers_that_are_not_public_are_refused_unless_they_are_wanted() {
    let mut asking = npm("weather");
    asking["environmentVariables"] = json!([
        { "name": "UNITS", "value": "metric" }, { "name": "KEY", "isSecret": true, "isRequired": true },
        { "name": "NODE_OPTIONS", "value": "--require /x.js" },
    ]);
    let plan = look_up(&[package("a.b/weather", &asking)], named("weather")).await.unwrap().plan.unwrap();
    assert_eq!(plan.variables, ["KEY=${secret:WEATHER_KEY}", "UNITS=metric"]);
    let shown = TextWriter::text_of(&plan);
    assert!(shown.contains("with UNITS=metric") && shown.contains("`NODE_OPTIONS` is left out"), "{shown}");

    let remote =
        |url: &str| json!({ "name": "a.b/weather", "remotes": [{ "type": "streamable-http", "url": url }] });
    let mut foreign = npm("weather");
    foreign["registryBaseUrl"] = json!("https://evil.example");
    let image = json!({ "registryType": "oci", "identifier": "10.0.0.7:5000/x/w:1" });
    for (document, why) in [
        (remote("http://127.0.0.1:9/mcp"), "no public https address"),
        (remote("https://127.0.0.1:9/mcp"), "no public https address"),
        (remote("https://169.254.169.254/mcp"), "no public https address"),
        (remote("https://[fe80::1]/mcp"), "no public https address"),
        (remote("https://192.168.1.5/mcp"), "no public https address"),
        (remote("https://printer.local/mcp"), "no public https address"),
        (remote("http://weather.example/mcp"), "no public https address"),
        (package("a.b/weather", &foreign), "not from the public registry"),
        (package("a.b/weather", &image), "no public https address"),
    ] {
        let refused = refused(document.clone()).await;
        assert!(refused.contains(why) && refused.contains("`--private` accepts it"), "{refused}");
        let private = InstallRequest { private: true, ..named("weather") };
        assert!(look_up(&[document], private).await.unwrap().plan.is_some());
    }
    assert!(
        look_up(&[remote("https://weather.example/mcp")], named("weather")).await.unwrap().plan.is_some()
    );
}

#[tokio::test]
async fn names_that_look_like_others_are_told_of_or_refused() {
    let document = package("a.b/weather", &npm("@modelcontextprotocol/server-f1lesystem"));
    let plan = look_up(&[document], named("weather")).await.unwrap().plan.unwrap();
    assert!(
        plan.warnings[0].contains("looks like `@modelcontextprotocol/server-filesystem`"),
        "{:?}",
        plan.warnings
    );
    let refused = refused(package("a.b\u{430}/weather", &npm("weather"))).await;
    assert!(refused.contains("plain letters"), "{refused}");
}

#[tokio::test]
async fn hostile_packages_are_refused_with_the_reason() {
    let container = |words: serde_json::Value| {
        let words: Vec<_> = words
            .as_array()
            .unwrap()
            .iter()
            .map(|word| json!({ "type": "positional", "value": word }))
            .collect();
        package(
            "a.b/weather",
            &json!({ "registryType": "oci", "identifier": "x/w:1", "runtimeArguments": words }),
        )
    };
    for (document, why) in [
        (package("a.b/weather", &npm("weather; rm -rf ~")), "is no name of a package"),
        (package("a.b/weather", &npm("--call=x")), "is no name of a package"),
        (container(json!(["--privileged"])), "opens the machine"),
        (container(json!(["-v", "/:/host"])), "opens the machine"),
        (container(json!(["-v", "/var/run/docker.sock:/s"])), "opens the machine"),
        (container(json!(["--network=host"])), "opens the machine"),
        (json!({ "name": "a.b/weather", "packages": [{ "registryType": 7 }] }), "line 1"),
        (json!({ "name": "a.b/weather" }), "no such way"),
        (
            package("a.b/weather", &json!({ "registryType": "mcpb", "identifier": "https://x/w.mcpb" })),
            "fileSha256",
        ),
    ] {
        let refused = refused(document).await;
        assert!(refused.contains(why), "{refused}");
    }
}

#[cfg(feature = "bundles")]
#[tokio::test]
async fn a_bundle_is_unpacked_when_it_is_the_published_one_and_not_before() {
    use sha2::{Digest as _, Sha256};

    let folder = tempfile::tempdir().unwrap();
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.start_file("manifest.json", zip::write::SimpleFileOptions::default()).unwrap();
    writer
        .write_all(br#"{"server": {"type": "node", "mcp_config": {"command": "node", "args": ["s.js"]}}}"#)
        .unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    fs::write(folder.path().join("w.mcpb"), &bytes).unwrap();
    let digits = mgp_types::hex::<64>(&Sha256::digest(&bytes));
    let bundle = |sha256: &str| {
        let bundle =
            json!({ "registryType": "mcpb", "identifier": "https://h.example/w.mcpb", "fileSha256": sha256 });
        fs::write(folder.path().join("w.json"), package("a.b/weather", &bundle).to_string()).unwrap();
    };
    bundle(&"0".repeat(64));
    let wrong = in_folder(folder.path(), named("weather")).await.map(drop).unwrap_err();
    assert!(wrong.message().contains("not the published one"), "{}", wrong.message());
    bundle(&String::from_utf8_lossy(&digits));
    let mut plan = in_folder(folder.path(), named("weather")).await.unwrap().plan.unwrap();
    assert_eq!(plan.command, "node s.js");
    let own = folder.path().join("unpacked");
    if let Some(bundle) = &mut plan.bundle {
        bundle.folder = own.clone();
    }
    let mut file = ConfigFile::open(folder.path().join("mgp.toml")).unwrap();
    plan.write_to(&mut file).unwrap();
    assert!(
        own.join("manifest.json").is_file() && file.text().contains("a.b/weather@1.2.3"),
        "{}",
        file.text()
    );
}
