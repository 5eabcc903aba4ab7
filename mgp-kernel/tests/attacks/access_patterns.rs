//! Patterns that stand for more than they say, or for nothing.

use http::HeaderValue;
use http::header::AUTHORIZATION;
use mgp_client_sdk::Client;
use mgp_types::RpcService;
use serde_json::json;

use crate::home::Home;
use crate::kernel::Kernel;
use crate::runner::tests;
use crate::server;

tests![
    a_key_for_a_server_is_not_for_one_whose_id_goes_on,
    a_key_does_not_follow_a_tool_to_its_fallback,
    a_key_for_nothing_that_can_be_meant_is_not_issued,
];

/// A client without MGP, with a key.
async fn client(port: u16, key: &str) -> Client<impl RpcService> {
    let key = HeaderValue::try_from(format!("Bearer {key}")).unwrap();
    let builder = Client::builder("tests", "1.0.0").mgp(None);
    let http = format!("http://127.0.0.1:{port}/mcp");
    builder.connect_http_with(&http, |http| http.header(AUTHORIZATION, key.clone())).await.unwrap()
}

/// Calls a tool, and returns whether the answer is no refusal.
async fn calls(client: &Client<impl RpcService>, tool: &str) -> bool {
    let called = client.call_tool(tool, json!({"text": "hello"})).await;
    called.is_ok_and(|result| result.is_error != Some(true))
}

fn serving(home: &Home, servers: &[(&str, &str)]) -> (Kernel, u16) {
    let servers: String = servers.iter().map(|(id, lines)| server::configured(home, id, lines)).collect();
    let access = "[access]\ndefault = \"opt-out\"\n[listen]\nrequire_keys = true\n";
    home.write("mgp.toml", &format!("{}{access}{servers}", home.read("mgp.toml")));
    let kernel = Kernel::start(home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let port = kernel.port();
    (kernel, port)
}

fn key(home: &Home, owner: &str, allowed: &[&str]) -> String {
    let allowed = allowed.iter().flat_map(|what| ["--allow", what]);
    home.json(["keys", "new", owner].into_iter().chain(allowed))["secret"].as_str().unwrap().to_owned()
}

async fn a_key_for_a_server_is_not_for_one_whose_id_goes_on() {
    let home = Home::with_state();
    let (_kernel, port) = serving(&home, &[("one", ""), ("one.admin", "")]);
    let client = client(port, &key(&home, "agent", &["see:one.*", "call:one.*"])).await;
    assert!(calls(&client, "one.echo").await);
    for tool in ["one.admin.echo", "one.admin/echo", "one_admin_echo", "one.admin__echo"] {
        assert!(!calls(&client, tool).await, "{tool}");
    }
    assert!(server::calls(&home, "one.admin").is_empty());
    let seen: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(seen.iter().any(|name| name == "one.echo"), "{seen:?}");
    assert!(!seen.iter().any(|name| name.contains("admin")), "{seen:?}");
}

async fn a_key_does_not_follow_a_tool_to_its_fallback() {
    let home = Home::with_state();
    let fallback =
        "[servers.tools.no_such]\nfallback = \"other.echo\"\n[servers.tools.fail]\nfallback = \"other.echo\"";
    let (_kernel, port) = serving(&home, &[("one", fallback), ("other", "")]);
    let client = client(port, &key(&home, "agent", &["call:one.*"])).await;
    assert!(calls(&client, "one.echo").await);
    assert!(!calls(&client, "other.echo").await);
    assert!(!calls(&client, "one.fail").await);
    assert!(server::calls(&home, "one").contains(&"fail".to_owned()));
    assert!(server::calls(&home, "other").is_empty());
    let whole = self::client(port, &key(&home, "agent", &["call:*"])).await;
    assert!(calls(&whole, "one.fail").await, "what a key allows is called");
    assert!(!server::calls(&home, "other").is_empty());
}

async fn a_key_for_nothing_that_can_be_meant_is_not_issued() {
    let home = Home::with_state();
    for (what, said) in [("call:one", "`one.*`"), ("call:", "`server.tool`"), ("see:one two.x", "no server")]
    {
        let refused = home.run(["keys", "new", "agent", "--allow", what]);
        assert!(refused.code == Some(1) && refused.err.contains(said), "{what}: {refused:?}");
    }
    assert!(home.json(["keys", "list"])["keys"].as_array().unwrap().is_empty());
}
