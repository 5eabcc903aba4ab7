//! What commands say when something is lacking: each message once, with the command or the key that changes it.

use crate::home::Home;
use crate::kernel::Kernel;

#[test]
fn a_misspelled_permission_is_refused_with_the_command_that_is_meant() {
    let home = Home::with_clock();
    for (verb, whose, written, meant) in [
        ("approve", " --all-agents", "filesystem.raed", "filesystem.read"),
        ("deny", "", "network.outbond", "network.outbound"),
    ] {
        let mut args = vec!["permissions", verb, "clock", written];
        args.extend(whose.split_whitespace());
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let command = format!("did you mean `mgp permissions {verb} clock {meant}{whose}`?");
        assert!(ran.err.contains(&command), "{ran:?}");
        assert_eq!(ran.err.matches("did you mean").count(), 1, "{ran:?}");
        home.done(args.iter().chain(&["--force"]));
    }
    home.done(["permissions", "approve", "clock", "filesystem.read", "--all-agents"]);
    // What a server may need that is not connected is its own affair.
    home.done(["permissions", "approve", "clock", "vendor.billing", "--all-agents"]);
}

#[test]
fn what_is_meant_is_said_once() {
    let home = Home::with_clock();
    for (args, meant) in [
        (&["access", "grant", "ada", "clokc"][..], "did you mean"),
        (&["access", "deny", "ada", "clokc"], "did you mean"),
        (&["keys", "new", "ada", "--allow", "call:clokc.*"], "did you mean"),
        (&["keys", "new", "ada", "--allow", "raed"], "did you mean read?"),
        (&["call", "clock.nwo"], "did you mean"),
        (&["logs", "clokc"], "did you mean"),
        (&["permissions", "show", "clokc"], "`mgp permissions pending`"),
        (&["secrets", "remove", "X"], "X"),
        (&["call", "clock.time_between", "strt=a", "end=b"], "`strt` is not an argument"),
        (&["call", "clock", "now"], "`mgp tools clock` lists its tools"),
        (&["add", "x", "npx", "-y", "some-server"], "did you mean `mgp add x -- npx -y some-server`?"),
        (&["add", "x"], "mgp add <NAME> -- <CMD>..."),
        (&["add", "x", "--nonsense"], "--nonsense"),
        (&["export", "--to", "cursor", "--rollback"], "there is nothing to undo"),
        (&["export", "--to", "cursor", "--url", "nonsense", "--yes"], "not an address of http"),
        (&["export", "--to", "cursor", "--url", "ftp://x", "--yes"], "not an address of http"),
    ] {
        let ran = home.run(args);
        assert!(ran.code == Some(1) && ran.err.contains(meant), "{args:?}: {ran:?}");
        assert!(ran.err.matches("did you mean").count() <= 1, "{args:?}: {ran:?}");
        assert!(!ran.err.contains("is probably meant") && !ran.err.contains("os error"), "{args:?}: {ran:?}");
    }
    let ran = home.run(["call", "clock.time_between", "--args", r#"{"strt": "a", "end": "b"}"#]);
    assert!(ran.err.contains("`strt` is not an argument: did you mean `start`?"), "{ran:?}");
    let json = home.run(["add", "x", "npx", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json.err).is_ok(), "{json:?}");
}

#[test]
fn a_broken_configuration_is_an_error_once_and_names_the_key_that_was_meant() {
    let home = Home::new();
    home.write("mgp.toml", "[[servers]]\nid = \"a\"\ncommandd = \"x\"\n");
    for args in [&["servers"][..], &["trust", "."], &["add", "b", "--", "x"], &["remove", "a"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!ran.err.contains("error: error:"), "{ran:?}");
        assert_eq!(ran.err.contains("`mgp config reference`"), args[0] != "trust", "{ran:?}");
        assert_eq!(ran.err.matches("did you mean `command`?").count(), 1, "{ran:?}");
    }
    home.write("mgp.toml", "[kernel]\npass_env = [\"X\"]\n");
    let checked = home.run(["config", "check"]);
    assert!(checked.out.contains("above the first `[section]`"), "{checked:?}");
}

#[test]
fn a_server_that_never_ran_says_why() {
    let home = Home::new();
    home.json(["add", "lost", "--", "no-such-program-anywhere", "--flag"]);
    let why = "no program `no-such-program-anywhere` in PATH (tried: `no-such-program-anywhere --flag`)";
    let log = home.run(["log", "lost"]);
    assert!(log.code == Some(0) && log.out.is_empty(), "{log:?}");
    assert!(log.err.contains("lost is") && log.err.contains(why), "{log:?}");
    let shown = home.json(["logs", "lost"]);
    assert!(shown["reason"].as_str().unwrap().contains(why), "{shown}");
    let call = home.run(["call", "lost.tool"]);
    assert!(
        call.code == Some(4) && call.err.contains(why) && call.err.contains("[servers.env] PATH"),
        "{call:?}"
    );
    let quiet = Home::with_clock().run(["logs", "clock"]);
    assert!(quiet.err.contains("clock is connected and has written nothing"), "{quiet:?}");
}

#[cfg(unix)]
#[test]
fn a_program_that_is_not_there_or_lacks_its_interpreter_is_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    home.write("script", "#!/nowhere/python -u\n");
    std::fs::set_permissions(home.path("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = home.path("script").display().to_string();
    for (id, program, why) in [
        ("gone", "/nowhere/.venv/bin/python", "there is no file `/nowhere/.venv/bin/python`"),
        ("script", &script, "the interpreter that the first line of"),
    ] {
        home.json(["add", id, "--", program]);
        let log = home.run(["log", id]);
        assert!(log.code == Some(0) && log.err.contains(why), "{log:?}");
    }
}

#[test]
fn a_server_that_does_not_come_is_told_with_what_became_of_it() {
    let home = Home::new();
    let dies = "echo one >&2; echo two >&2; echo three >&2; \
                echo \"ModuleNotFoundError: No module named 'x' key=sk-live-abcdefghijklmnop1234567890\" >&2; exit 3";
    let greets = "echo Welcome to the server; echo again; read -r line; exit 1";
    let server = |id: &str, script: &str| {
        format!("[[servers]]\nid = {id:?}\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n")
    };
    let servers = [server("dies", dies), server("greets", greets), server("slow", "sleep 60")].concat();
    home.write("mgp.toml", &format!("{servers}[servers.limits]\nstartup_timeout_ms = 200\n"));
    let ran = home.run(["doctor"]);
    for part in [
        "exit status: 3",
        "last lines: `two` `three` `ModuleNotFoundError: No module named 'x' key=***`",
        "its Python lacks this module",
        "wrote `Welcome to the server` to its standard output",
        "it may take 0.2 s to start: raise `startup_timeout_ms` in its `[servers.limits]`",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    assert!(!home.run(["logs", "dies"]).out.contains("sk-live"), "secrets are hidden from the log as well");
    let log = home.run(["logs", "greets"]);
    assert!(log.out.contains("(standard output) Welcome to the server"), "{log:?}");
    home.write("mgp.toml", &format!("{servers}startup_timeout_ms = 200\n"));
    let ran = home.run(["servers", "--no-start"]);
    assert!(ran.code == Some(0) && ran.err.contains("belongs in `[servers.limits]`"), "{ran:?}");
    let checked = home.run(["config", "check"]);
    assert!(checked.out.contains("`startup_timeout_ms` belongs in `[servers.limits]`"), "{checked:?}");
}

#[test]
fn a_greeting_before_the_first_message_does_no_harm() {
    let home = Home::new();
    let [program, file] = home.clock();
    home.json(["add", "clock", "--", "sh", "-c", &format!("echo Welcome; exec {program} {file}")]);
    let ran = home.run(["call", "clock.now"]);
    assert!(ran.code == Some(0) && ran.err.is_empty(), "{ran:?}");
}

#[test]
fn an_address_that_nobody_serves_is_told_with_the_address_and_no_log() {
    let home = Home::new();
    home.json(["add", "web", "--url", "http://127.0.0.1:9/mcp"]);
    let ran = home.run(["doctor"]);
    assert!(ran.out.contains("http://127.0.0.1:9/mcp: the server cannot be reached"), "{ran:?}");
    assert!(ran.out.contains("start the server, or correct its `url`"), "{ran:?}");
    assert!(!ran.out.contains("mgp logs"), "a server on the network has no output here: {ran:?}");
}

#[test]
fn a_key_without_effect_is_told_by_every_command_that_runs_servers() {
    let home = Home::with_clock();
    home.configure("timeout = 3\n");
    for command in [&["servers"][..], &["tools"], &["call", "clock.now"]] {
        let ran = home.run(command);
        assert!(ran.code == Some(0), "{ran:?}");
        assert!(ran.err.contains("warning: `timeout` is not a known key here and has no effect"), "{ran:?}");
        assert!(ran.err.contains("mgp.toml:"), "{ran:?}");
    }
}

#[test]
fn a_call_without_an_answer_names_the_tool_and_the_time_or_what_the_server_wrote() {
    let home = Home::new();
    home.write("slow.py", SLOW_SERVER);
    home.json(["add", "slow", "--", "python3", &home.path("slow.py").display().to_string()]);
    let ran = home.run(["call", "slow.wait", "--timeout", "300ms"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("slow.wait did not answer within 0.3 s"), "{ran:?}");
    assert!(ran.err.contains("`--timeout 10m` waits longer"), "{ran:?}");
    let ran = home.run(["call", "slow.check"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("slow did not answer the call"), "{ran:?}");
    assert!(ran.err.contains("`Fatal: out of cheese`") && ran.err.contains("mgp logs slow"), "{ran:?}");
    let file = home.path(".config/mgp/servers.toml");
    let limited =
        format!("{}\n[servers.limits]\ntimeout_ms = 200\n", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, limited).unwrap();
    let ran = home.run(["call", "slow.wait"]);
    assert!(
        ran.err.contains("slow did not answer within 0.2 s; `timeout_ms` of its `[servers.limits]`"),
        "{ran:?}"
    );
}

/// A server with a tool that never answers, and one that ends it.
const SLOW_SERVER: &str = r#"
import sys, json, os
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    tool = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "wait", **tool}, {"name": "check", **tool}]},
    }
    if asked["method"] == "tools/call":
        if asked["params"]["name"] == "wait": continue
        print("Fatal: out of cheese", file=sys.stderr, flush=True)
        os._exit(7)
    result = results.get(asked["method"])
    answer = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"#;

#[test]
fn common_mistakes_in_the_file_are_told_with_what_to_write() {
    let home = Home::new();
    for (text, help) in [
        ("{ \"mcpServers\": {} }", "`mgp import FILE` reads the JSON"),
        ("[[servers]]\nid = \"a\",\n", "such as a comma"),
        ("[[servers]]\nid: \"a\"\n", "write `key = value`"),
        ("[[servers]]\nid = \"a\"\ncommand = \"C:\\Users\\me\"\n", "in single quotes"),
        ("[[servers]]\nid = \"a\"\ncommand = node\n", "in double quotes"),
    ] {
        home.write("mgp.toml", text);
        let ran = home.run(["servers"]);
        assert!(ran.code == Some(1) && ran.err.contains(help), "{text}: {ran:?}");
    }
}

#[test]
fn a_busy_address_is_told_once_with_the_option_that_names_another() {
    let home = Home::with_clock();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ran = home.run(["serve", "--http", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.err.matches("Address already in use").count(), 1, "{ran:?}");
    assert!(ran.err.contains("`--http ADDR` or `[listen] http`"), "{ran:?}");
}

#[test]
fn a_client_that_starts_a_server_itself_is_told_of_replace() {
    let home = Home::new();
    home.write(".cursor/mcp.json", r#"{"mcpServers": {"clock": {"command": "clock-server"}}}"#);
    home.json(["import", "cursor"]);
    let exported = home.run(["export", "--to", "cursor", "--yes"]);
    assert!(exported.code == Some(0), "{exported:?}");
    assert!(
        exported.err.contains("clock") && exported.err.contains("mgp export --to cursor --replace"),
        "{exported:?}"
    );
    home.json(["export", "--to", "cursor", "--replace", "--yes"]);
    assert!(!home.run(["export", "--to", "cursor", "--yes"]).err.contains("--replace"));
}

#[test]
fn a_kernel_that_no_client_can_reach_says_what_is_lacking() {
    let home = Home::with_clock();
    let kernel = Kernel::spawn(&home, &["--http", "0.0.0.0:0"]);
    kernel.tells("run `mgp keys new AGENT --allow list --allow 'call:*'`");
    kernel.tells("run `mgp access grant AGENT SERVER`");
    kernel.tells("allowed_hosts");
}

#[test]
fn keys_allow_what_their_words_say_and_older_words_are_understood() {
    let home = Home::with_clock();
    for word in ["read", "admin:read", "register", "admin:write"] {
        home.done(["keys", "new", "ada", "--allow", word]);
    }
    let listed = home.run(["keys", "list"]);
    assert!(listed.out.contains("register") && !listed.out.contains("admin"), "{listed:?}");
}
