//! Addresses that a server's table opens to it, and what stays closed whatever stands there.

use serde_json::{Value, json};

use crate::home::Home;
use crate::runner::tests;
use crate::server;

tests![
    a_refusal_names_the_line_that_opens_the_address_to_that_server_and_no_other,
    a_browser_opens_pages_of_this_machine_and_nothing_private,
    a_pattern_that_is_none_is_refused_and_named,
    an_address_of_this_network_is_told_to_no_tool_whatever_it_is_called,
];

/// A kernel with the servers `web` and `other`, of which `web` has lines in its table.
struct Scene(server::Scene);

/// Writes that configuration. Both servers have a tool that opens a page.
fn written(home: &Home, lines: &str) {
    server::configure(home, SETTINGS, &[("web", lines), ("other", "")]);
    for id in ["web", "other"] {
        let tool = r#"{"name":"echo","description":"Opens a page.","inputSchema":{"type":"object","properties":{"url":{"type":"string","format":"uri"}}}}"#;
        server::answers(home, id, "tools/list", None, &format!(r#"{{"tools":[{tool}]}}"#));
    }
}

const SETTINGS: &str = "[confirmation]\ndangerous = false\n[permissions]\npolicy = \"config_only\"\n\
    grants = [{ permission = \"network.outbound\" }]\n";

impl Scene {
    fn new(lines: &str) -> Self {
        let home = Home::with_state();
        written(&home, lines);
        Self(server::Scene::in_home(home, "", &[]))
    }

    fn open(&mut self, server: &str, url: &str) -> Value {
        self.0.call(&format!("{server}.echo"), &json!({"url": url}))
    }

    fn passes(&mut self, server: &str, url: &str) {
        let answer = self.open(server, url);
        assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{url}: {answer}");
    }

    fn refusal(&mut self, server: &str, url: &str) -> String {
        let answer = self.open(server, url);
        assert!(!answer["error"].is_null() || answer["result"]["isError"] == true, "{url}: {answer}");
        answer.to_string().replace("\\\"", "\"")
    }
}

async fn a_refusal_names_the_line_that_opens_the_address_to_that_server_and_no_other() {
    let mut closed = Scene::new("");
    let line = r#"[servers.network] allow = ["localhost:3000"]"#;
    let refusal = closed.refusal("web", "http://localhost:3000/a");
    assert!(refusal.contains(line) && refusal.contains("of the server `web`"), "{refusal}");

    let mut open =
        Scene::new("[servers.network]\nallow = [\"localhost:3000\", \"*.internal:8443\", \"10.0.0.0/8\"]\n");
    for url in ["http://localhost:3000/a", "localhost:3000", "https://db.internal:8443/", "http://10.1.2.3/"]
    {
        open.passes("web", url);
        let refusal = open.refusal("other", url);
        assert!(refusal.contains("of the server `other`"), "{refusal}");
    }
    for url in ["http://localhost:3001/", "http://192.168.0.1/", "https://metadata.google.internal:8443/"] {
        open.refusal("web", url);
    }
}

async fn a_browser_opens_pages_of_this_machine_and_nothing_private() {
    let mut scene = Scene::new("[servers.network]\npreset = \"browser\"\n");
    for url in [
        "http://localhost:3000/", "http://127.0.0.1:8080/a", "http://[::1]:5173/", "about:blank",
        "data:text/html,<h1>Hi</h1>",
    ] {
        scene.passes("web", url);
    }
    for url in [
        "http://[::ffff:a9fe:a9fe]/",
        "http://nas.local/",
        "file:///etc/passwd",
        "data:text/html,<img src=http://169.254.169.254/>",
    ] {
        scene.refusal("web", url);
    }
}

async fn a_pattern_that_is_none_is_refused_and_named() {
    let home = Home::with_state();
    written(&home, "[servers.network]\nallow = [\"http://localhost:3000\"]\n");
    let checked = home.run(["config", "check"]);
    assert_ne!(checked.code, Some(0), "{checked:?}");
    for part in ["servers.network.allow", "`web`", "http://localhost:3000", "localhost:3000"] {
        assert!(checked.err.contains(part), "{part}: {checked:?}");
    }
}

async fn an_address_of_this_network_is_told_to_no_tool_whatever_it_is_called() {
    let names = ["http_post", "save_page", "set_avatar", "create_webhook", "add_feed", "note"];
    let tools: Vec<Value> = names
        .iter()
        .map(|name| {
            let members = json!({"url": {"type": "string"}, "body": {"type": "string"}, "all": {"type": "array"}});
            json!({"name": name, "description": "Writes.", "inputSchema": {"type": "object", "properties": members}})
        })
        .collect();
    let home = Home::with_state();
    written(&home, "");
    server::answers(&home, "web", "tools/list", None, &json!({"tools": tools}).to_string());
    let mut scene = server::Scene::in_home(home, "", &[]);
    let mut call = |name: &str, arguments: Value| scene.call(&format!("web.{name}"), &arguments).to_string();
    for name in names {
        for inward in
            ["http://169.254.169.254/latest/", "http://127.0.0.1:6379/", "http://[::1]:22/", "10.0.0.1"]
        {
            for arguments in [json!({"url": inward}), json!({"body": inward}), json!({"all": ["x", inward]})]
            {
                let answer = call(name, arguments);
                assert!(answer.contains("is blocked ("), "{name}: {answer}");
            }
        }
        let answer = call(name, json!({"body": "The server listens at http://127.0.0.1:6379/ here."}));
        assert!(!answer.contains("is blocked"), "{name}: {answer}");
    }
}
