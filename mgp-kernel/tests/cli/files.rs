//! The files in which servers are declared (§15.2).

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::home::{Home, Ran};
use crate::kernel::{Talk, found, until};

/// `[[servers]]` with a server that writes its variable `TOKEN` to a file, and has the tools `count` and `crash`.
fn counting(home: &Home, id: &str) -> String {
    let mark = home.path("token");
    let [program, file] = home.counter();
    let script = format!("printf %s \"$TOKEN\" >'{}'; exec {program} \"$0\"", mark.display());
    let args = json!(["-c", script, file]);
    format!("[[servers]]\nid = \"{id}\"\ncommand = \"sh\"\nargs = {args}\ntransport = \"stdio\"\n")
}

/// What the file says of MGP.
const OF_MGP: &str = "[servers.mgp]\nextensions = [\"security\", \"com.example.later\"]\n\
    permissions_required = [\"memory.read\"]\ntrust_level = \"standard\"\nrestart_policy = \"never\"\n";

/// What a tool of the kernel answers.
fn ask(talk: &mut Talk, tool: &str, arguments: &Value) -> Value {
    let answer = talk.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
    answer["result"]["structuredContent"].clone()
}

fn servers(talk: &mut Talk, filter: &Value) -> Vec<Value> {
    ask(talk, "mgp.discovery.list", &json!({"filter": filter}))["servers"].as_array().unwrap().clone()
}

/// Calls the tool `count` of a server, once it is there.
fn counts(talk: &mut Talk, server: &str) -> String {
    found("the call is answered", || {
        let call = json!({"name": format!("{server}.count"), "arguments": {}});
        let result = talk.ask("tools/call", &call)["result"].take();
        let text = result["content"][0]["text"].as_str().filter(|_| result["isError"] != true)?;
        Some(text.to_owned())
    })
}

// covers: MGP-15.2-05..08, MGP-15.2-10..14
#[test]
fn a_server_is_what_the_keys_of_the_file_say() {
    let home = Home::with_state();
    let server = format!("{}backoff_base_ms = 20\n", counting(&home, "mind.counts"));
    // What the file declares can only lower what the operator grants.
    let trusted = "[servers.security]\ntrust_level = \"trusted\"\n";
    let env = "[servers.env]\nTOKEN = \"${OWN_TOKEN:-none} and more\"\n";
    let quiet = "[permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n";
    home.configure(&format!("{server}{OF_MGP}{trusted}{env}{quiet}"));
    let (_kernel, mut talk) = Talk::begin(&home);
    assert_eq!(counts(&mut talk, "mind.counts"), "1");
    assert_eq!(home.read("token"), "none and more");

    let declared = json!({"extensions": ["security", "com.example.later"], "permissions": ["memory.read"]});
    let found = servers(&mut talk, &declared);
    assert_eq!((&found[0]["id"], &found[0]["trust_level"]), (&json!("mind.counts"), &json!("standard")));
    assert!(servers(&mut talk, &json!({"permissions": ["camera"]})).is_empty());
    let row = home.json(["servers"])["servers"][0].clone();
    assert_eq!(row["transport"], "stdio");

    // It is not started again.
    talk.ask("tools/call", &json!({"name": "mind.counts.crash", "arguments": {}}));
    until("it has ended", || servers(&mut talk, &json!({}))[0]["status"] == "error");
    // Another policy would have done so within the pause of the file.
    std::thread::sleep(Duration::from_millis(500));
    let row = home.json(["servers"])["servers"][0].clone();
    assert_eq!((&row["state"], &row["restarts"]), (&json!("error"), &json!(0)), "{row}");
}

// covers: MGP-15.2-09, MGP-15.2-15
#[test]
fn what_the_file_says_of_mgp_is_in_a_table_of_its_own_that_may_be_left_out() {
    for of_mgp in ["", OF_MGP] {
        let home = Home::with_state();
        let server = counting(&home, "counts");
        let quiet = "[permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n";
        home.configure(&format!("{server}{of_mgp}{quiet}"));
        // What a client that only knows MCP reads is there, whatever else is.
        let text = home.read("mgp.toml");
        let (_, table) = text.split_once("[[servers]]\n").unwrap();
        let keys: Vec<_> = table.lines().take_while(|line| !line.starts_with('[')).collect();
        let names: Vec<_> = keys.iter().map(|line| line.split(" = ").next().unwrap()).collect();
        assert_eq!(names, ["id", "command", "args", "transport"]);
        let (_kernel, mut talk) = Talk::begin(&home);
        assert_eq!(counts(&mut talk, "counts"), "1");
        let found = servers(&mut talk, &json!({}));
        assert_eq!(found[0].get("mgp_version"), None, "it is a server of MCP: {found:?}");
        assert_eq!(found[0]["extensions"] != json!([]), !of_mgp.is_empty(), "{found:?}");
    }
}

/// Runs a command in a folder, with the configuration that follows from that.
fn within(home: &Home, folder: &str, named: Option<&str>, args: &[&str]) -> Ran {
    let mut command: Command = home.command(args);
    command.current_dir(home.path(folder)).env_remove("MGP_CONFIG_PATH");
    if let Some(named) = named {
        command.env("MGP_CONFIG_PATH", home.path(named));
    }
    Home::ran(command, "")
}

// covers: MGP-15.1-01, MGP-15.2-01..04
#[test]
fn servers_are_found_in_the_folder_at_home_and_where_the_environment_points() {
    let home = Home::new();
    let one = |id: &str| format!("[[servers]]\nid = \"{id}\"\ncommand = \"no-such-program\"\n");
    home.write("project/mgp.toml", &one("folders"));
    home.write(".config/mgp/servers.toml", &one("users"));
    home.write("elsewhere.toml", &one("named"));
    let trusted = within(&home, "project", None, &["trust"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let ids = |folder: &str, named: Option<&str>| {
        let listed = within(&home, folder, named, &["servers", "--no-start", "--json"]);
        let listed: Value = serde_json::from_str(&listed.out).unwrap_or_else(|_| panic!("{listed:?}"));
        let servers = listed["servers"].as_array().unwrap().iter();
        servers.map(|server| server["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("project", None), ["folders", "users"]);
    assert_eq!(ids("", None), ["users"]);
    assert_eq!(ids("project", Some("elsewhere.toml")), ["named"]);
}
