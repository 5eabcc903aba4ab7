//! What commands say when something is lacking: each message once, with the command or the key that changes it.

use crate::home::Home;
use crate::kernel::Kernel;

fn with_clock() -> Home {
    let home = Home::with_state();
    home.json(["add", "clock", "--", env!("CARGO_BIN_EXE_mgp"), "demo-server", "clock"]);
    home
}

#[test]
fn a_misspelled_permission_is_refused_with_the_command_that_is_meant() {
    let home = with_clock();
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
        assert_eq!(home.run(args.iter().chain(&["--force"])).code, Some(0));
    }
    assert_eq!(
        home.run(["permissions", "approve", "clock", "filesystem.read", "--all-agents"]).code,
        Some(0)
    );
    // What a server may need that is not connected is its own affair.
    assert_eq!(home.run(["permissions", "approve", "clock", "vendor.billing", "--all-agents"]).code, Some(0));
}

#[test]
fn what_is_meant_is_said_once() {
    let home = with_clock();
    for args in [
        &["access", "grant", "ada", "clokc"][..],
        &["access", "deny", "ada", "clokc"],
        &["keys", "new", "ada", "--allow", "call:clokc.*"],
        &["call", "clock.nwo"],
        &["logs", "clokc"],
        &["secrets", "remove", "X"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        let meant = usize::from(args[0] != "secrets");
        assert_eq!(ran.err.matches("did you mean").count(), meant, "{args:?}: {ran:?}");
        assert!(!ran.err.contains("is probably meant"), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_broken_configuration_is_an_error_once_and_names_the_key_that_was_meant() {
    let home = Home::new();
    home.write("mgp.toml", "[[servers]]\nid = \"a\"\ncommandd = \"x\"\n");
    for args in [&["servers"][..], &["trust", "."]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!ran.err.contains("error: error:"), "{ran:?}");
        assert_eq!(ran.err.matches("did you mean `command`?").count(), 1, "{ran:?}");
    }
    home.write("mgp.toml", "[kernel]\npass_env = [\"X\"]\n");
    let checked = home.run(["config", "check"]);
    assert!(checked.out.contains("above the first `[section]`"), "{checked:?}");
}

#[test]
fn a_server_that_never_ran_says_why() {
    let home = Home::new();
    home.json(["add", "lost", "--", "no-such-program-anywhere"]);
    let log = home.run(["log", "lost"]);
    assert!(log.code == Some(0) && log.out.is_empty(), "{log:?}");
    assert!(log.err.contains("lost is") && log.err.contains("No such file"), "{log:?}");
    let shown = home.json(["logs", "lost"]);
    assert!(shown["reason"].as_str().unwrap().contains("No such file"), "{shown}");
    let call = home.run(["call", "lost.tool"]);
    assert!(call.code == Some(4) && call.err.contains("No such file"), "{call:?}");
    let quiet = with_clock().run(["logs", "clock"]);
    assert!(quiet.err.contains("clock is connected and has written nothing"), "{quiet:?}");
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
    let home = with_clock();
    let kernel = Kernel::spawn(&home, &["--http", "0.0.0.0:0"]);
    kernel.tells("run `mgp keys new AGENT --allow list --allow 'call:*'`");
    kernel.tells("run `mgp access grant AGENT SERVER`");
    kernel.tells("allowed_hosts");
}

#[test]
fn keys_allow_what_their_words_say_and_older_words_are_understood() {
    let home = with_clock();
    for word in ["read", "admin:read", "register", "admin:write"] {
        assert_eq!(home.run(["keys", "new", "ada", "--allow", word]).code, Some(0), "{word}");
    }
    let listed = home.run(["keys", "list"]);
    assert!(listed.out.contains("register") && !listed.out.contains("admin"), "{listed:?}");
    let ran = home.run(["keys", "new", "ada", "--allow", "raed"]);
    assert!(ran.code == Some(1) && ran.err.contains("did you mean read?"), "{ran:?}");
}
