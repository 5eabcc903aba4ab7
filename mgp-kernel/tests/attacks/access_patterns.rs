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
    what_is_for_a_server_is_not_for_one_whose_id_goes_on,
    a_key_does_not_follow_a_tool_to_its_fallback,
    a_key_for_nothing_that_can_be_meant_is_not_issued,
    a_denial_by_a_pattern_holds_under_opt_out_and_after_a_restart,
    an_exact_entry_decides_before_a_pattern_and_a_tool_before_its_server,
    a_denial_that_stands_for_nothing_is_refused_unless_it_is_forced,
    an_operator_of_the_protocol_is_refused_the_same,
    a_name_with_dots_is_a_server_or_a_tool_and_never_guessed,
    a_rule_of_the_configuration_that_stands_for_nothing_is_told,
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
    serving_by("opt-out", home, servers)
}

fn serving_by(default: &str, home: &Home, servers: &[(&str, &str)]) -> (Kernel, u16) {
    let access = format!("[access]\ndefault = {default:?}\n[listen]\nrequire_keys = true\n");
    server::configure(home, &access, servers);
    Kernel::on_http(home)
}

async fn what_is_for_a_server_is_not_for_one_whose_id_goes_on() {
    // By a key, and by an entry.
    for (default, allowed, granted) in
        [("opt-out", &["see:one.*", "call:one.*"][..], None), ("opt-in", &["call:*"], Some("one.*"))]
    {
        let home = Home::with_state();
        let (_kernel, port) = serving_by(default, &home, &[("one", ""), ("one.admin", "")]);
        let client = client(port, &home.key("agent", allowed)).await;
        if let Some(granted) = granted {
            home.json(["access", "grant", "agent", granted]);
        }
        assert!(calls(&client, "one.echo").await);
        for tool in ["one.admin.echo", "one.admin/echo", "one_admin_echo", "one.admin__echo"] {
            assert!(!calls(&client, tool).await, "{tool}");
        }
        if granted.is_some() {
            home.json(["access", "grant", "agent", "on*", "read_*"]);
            assert!(!calls(&client, "one.admin.echo").await);
        } else {
            let tools = client.list_tools().await.unwrap();
            let seen: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
            assert!(seen.iter().any(|name| name == "one__echo"), "{seen:?}");
            assert!(!seen.iter().any(|name| name.contains("admin")), "{seen:?}");
        }
        assert!(server::calls(&home, "one.admin").is_empty());
    }
}

async fn a_key_does_not_follow_a_tool_to_its_fallback() {
    let home = Home::with_state();
    let fallback =
        "[servers.tools.no_such]\nfallback = \"other.echo\"\n[servers.tools.fail]\nfallback = \"other.echo\"";
    let (_kernel, port) = serving(&home, &[("one", fallback), ("other", "")]);
    let client = client(port, &home.key("agent", &["call:one.*"])).await;
    assert!(calls(&client, "one.echo").await);
    assert!(!calls(&client, "other.echo").await);
    assert!(!calls(&client, "one.fail").await);
    assert!(server::calls(&home, "one").contains(&"fail".to_owned()));
    assert!(server::calls(&home, "other").is_empty());
    let whole = self::client(port, &home.key("agent", &["call:*"])).await;
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

async fn a_denial_by_a_pattern_holds_under_opt_out_and_after_a_restart() {
    let home = Home::with_state();
    let (mut kernel, port) = serving(&home, &[("files", ""), ("other", "")]);
    let secret = home.key("agent", &["call:*"]);
    let first = client(port, &secret).await;
    assert!(calls(&first, "files.echo").await && calls(&first, "other.echo").await);
    home.done(["access", "deny", "agent", "*.ec*"]);
    home.done(["access", "deny", "agent", "o*"]);
    assert!(!calls(&first, "files.echo").await && !calls(&first, "other.echo").await);
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let second = client(kernel.port(), &secret).await;
    assert!(!calls(&second, "files.echo").await && !calls(&second, "other.echo").await);
    let entries = home.json(["access", "list", "--server", "other"])["entries"].to_string();
    assert!(entries.contains("ec*") && entries.contains("o*"), "{entries}");
    let recorded = home.json(["audit", "tail", "--type", "ACCESS_GRANTED"]).to_string();
    assert!(recorded.contains("ec*"), "{recorded}");
    home.json(["access", "revoke", "agent", "*.ec*"]);
    assert!(calls(&second, "files.echo").await && !calls(&second, "other.echo").await);
}

async fn an_exact_entry_decides_before_a_pattern_and_a_tool_before_its_server() {
    let home = Home::with_state();
    let (_kernel, port) = serving(&home, &[("files", ""), ("other", "")]);
    let client = client(port, &home.key("agent", &["call:*"])).await;
    home.json(["access", "deny", "agent", "*", "e*"]);
    assert!(!calls(&client, "files.echo").await && !calls(&client, "other.echo").await);
    home.json(["access", "grant", "agent", "files", "echo"]);
    assert!(calls(&client, "files.echo").await && !calls(&client, "other.echo").await);
    home.json(["access", "deny", "agent", "files"]);
    assert!(calls(&client, "files.echo").await, "an entry for the tool decides before one for its server");
    home.json(["access", "deny", "agent", "files", "echo"]);
    home.json(["access", "grant", "agent", "other", "ec*"]);
    assert!(!calls(&client, "files.echo").await);
    assert!(calls(&client, "other.echo").await, "the pattern with more letters decides");
}

async fn a_denial_that_stands_for_nothing_is_refused_unless_it_is_forced() {
    let home = Home::with_state();
    let (_kernel, port) = serving(&home, &[("files", "")]);
    let client = client(port, &home.key("agent", &["call:*"])).await;
    assert!(calls(&client, "files.echo").await);
    for (target, said) in [
        (&["fiels"][..], "`mgp access deny agent files`"),
        (&["delete_*"], "`mgp access deny agent '*.delete_*'`"),
        (&["remove_*"], "`mgp access deny agent '*.remove_*'`"),
        (&["files", "delete_everythin"], "`mgp access deny agent files.delete_everything`"),
        (&["fiels", "echo"], "`mgp access deny agent files.echo`"),
        (&["files.delete_everythin"], "`mgp access deny agent files.delete_everything`"),
        (&["files", "remove_*"], "would have no effect"),
        (&["git"], "would have no effect"),
        (&["*.remove_*"], "would have no effect"),
    ] {
        let denied = home.run(["access", "deny", "agent"].iter().chain(target));
        assert!(denied.code == Some(1) && denied.err.contains(said), "{target:?}: {denied:?}");
        assert!(denied.err.contains("force"), "{denied:?}");
    }
    assert!(home.json(["access", "list"])["entries"].as_array().unwrap().is_empty());
    for target in [&["delete_*"][..], &["later"], &["files", "remove_*"]] {
        home.done(["access", "deny", "agent", "--force"].iter().chain(target));
    }
    home.done(["access", "deny", "agent", "*.delete_*"]);
    assert!(!calls(&client, "files.delete_everything").await && calls(&client, "files.echo").await);
    for (command, said) in [
        (
            &["keys", "new", "other", "--allow", "call:fiels.*"][..],
            "mgp keys new other --allow 'call:files.*'",
        ),
        (
            &["permissions", "approve", "fiels", "shell.execute", "--all-agents"],
            "approve files shell.execute",
        ),
        (&["permissions", "deny", "filse", "shell.execute"], "`mgp permissions deny files shell.execute`"),
    ] {
        let refused = home.run(command);
        assert!(refused.code == Some(1) && refused.err.contains(said), "{command:?}: {refused:?}");
        home.done(command.iter().chain(&["--force"]));
    }
}

async fn an_operator_of_the_protocol_is_refused_the_same() {
    let home = Home::with_state();
    let (_kernel, port) = serving(&home, &[("files", "")]);
    let issued = home.json(["keys", "new", "admin", "--operator", "--allow", "call:mgp.access.grant"]);
    let client = client(port, issued["secret"].as_str().unwrap()).await;
    let grant = |server: &str, force: bool| {
        let entry = json!({"entry_type": "server_grant", "agent_id": "agent", "server_id": server,
            "permission": "deny", "force": force});
        client.call_tool("mgp.access.grant", entry)
    };
    let refused = format!("{:?}", grant("fiels", false).await);
    assert!(refused.contains("did you mean `files`"), "{refused}");
    assert!(home.json(["access", "list"])["entries"].as_array().unwrap().is_empty());
    assert!(grant("fiels", true).await.is_ok_and(|result| result.is_error != Some(true)));
    assert!(grant("files", false).await.is_ok_and(|result| result.is_error != Some(true)));
}

async fn a_name_with_dots_is_a_server_or_a_tool_and_never_guessed() {
    let home = Home::with_state();
    let (_kernel, port) = serving_by("opt-in", &home, &[("one", ""), ("one.admin", ""), ("one.echo", "")]);
    let client = client(port, &home.key("agent", &["call:*"])).await;
    home.json(["access", "grant", "agent", "one.admin"]);
    assert!(calls(&client, "one.admin.echo").await && !calls(&client, "one.echo").await);
    let both = home.run(["access", "grant", "agent", "one.echo"]);
    assert!(both.code == Some(1), "{both:?}");
    assert!(both.err.contains("`one.echo.*`") && both.err.contains("`one/echo`"), "{both:?}");
    home.json(["access", "grant", "agent", "one/echo"]);
    assert!(calls(&client, "one/echo").await && !calls(&client, "one.echo.echo").await);
}

async fn a_rule_of_the_configuration_that_stands_for_nothing_is_told() {
    let home = Home::with_state();
    let rule = |server: &str, tool: &str| {
        format!(
            "[[access.rules]]\nagent = \"agent\"\nserver = {server:?}\ntool = {tool:?}\npermission = \"deny\"\n"
        )
    };
    let rules = [rule("fiels", "echo"), rule("files", "delete_everythin"), rule("*", "delete_*")].concat();
    let off = "[servers.tools.\"write_*\"]\nenabled = false";
    let server = server::configured(&home, "files", off);
    home.configure(&format!("{rules}{server}"));
    let checked = home.run(["config", "check"]);
    assert!(checked.code == Some(0) && checked.out.contains("did you mean `files`"), "{checked:?}");
    let doctor = home.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:?}");
    for said in ["did you mean `files.echo`", "did you mean `files.delete_everything`"] {
        assert!(doctor.out.contains(said), "{said}: {doctor:?}");
    }
    assert!(!doctor.out.contains("delete_*"), "{doctor:?}");
    let tools = home.run(["tools"]).out;
    assert!(tools.contains("files.echo") && !tools.contains("files.write_file"), "{tools}");
}
