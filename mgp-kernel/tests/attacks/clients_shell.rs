//! An agent decides in place of a person, by its client's shell. The client is this program, whose children are the agent's.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::approves_itself::script_output;
use crate::home::{Home, Ran};
use crate::kernel::{Kernel, Talk, hello, until};
use crate::questions::question;
use crate::runner::tests;
use crate::server;

tests![
    what_a_client_starts_decides_nothing,
    what_a_client_starts_decides_nothing_at_a_kernel_in_the_background,
    what_a_client_leaves_behind_decides_nothing,
    what_outlives_its_client_and_the_kernel_decides_nothing,
    what_only_takes_away_needs_no_proof,
    a_call_from_the_command_line_leaves_the_proof_to_be_set_up,
    a_client_decides_nothing_by_calling_as_an_operator,
    a_client_decides_nothing_at_a_terminal_that_it_makes,
    the_agents_second_client_does_not_answer_for_a_human,
    with_a_passphrase_a_decision_takes_it,
    with_a_passphrase_a_client_lets_its_person_answer_once_an_operator_trusts_it,
    a_stopped_kernel_takes_the_passphrase_as_well,
    only_a_login_sets_the_first_passphrase_once_a_client_was_connected,
    a_changed_configuration_loosens_nothing_until_it_is_taken_with_the_passphrase,
    commands_use_nothing_of_a_configuration_that_waits,
    a_changed_secret_reaches_no_server_until_it_is_taken_with_the_passphrase,
    a_changed_secret_signs_no_webhook_until_it_is_taken_with_the_passphrase,
    no_kernel_listens_beyond_this_machine_until_that_is_taken_with_the_passphrase,
];

fn home() -> Home {
    let home = Home::with_state();
    let server = server::configured(&home, "honest", "");
    home.configure(&server);
    home
}

/// Runs a command as the agent does.
fn run(home: &Home, args: &[&str]) -> Ran {
    run_with(home, args, None, "")
}

/// Runs a command as whoever has this token, and types this.
fn run_with(home: &Home, args: &[&str], token: Option<&str>, input: &str) -> Ran {
    let mut command = home.command(args);
    command.env_remove("MGP_OPERATORS_TOKEN");
    if let Some(token) = token {
        command.env("MGP_OPERATORS_TOKEN", token);
    }
    Home::ran(command, input)
}

/// Another program, in the environment of the home and without the token of a person.
fn in_home(home: &Home, program: &str) -> Command {
    let of_home = home.command(["--version"]);
    let mut command = Command::new(program);
    command.env_clear().current_dir(home.path(""));
    command.envs(of_home.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("MGP_OPERATORS_TOKEN");
    command
}

/// How many refusals for want of the passphrase were recorded.
fn refusals(home: &Home) -> usize {
    let events = home.json(["audit", "query", "--type", "PERMISSION_DENIED"]);
    let is_it = |row: &&Value| row["event"]["details"]["reason"] == "no operator passphrase";
    events["events"].as_array().unwrap_or_else(|| panic!("{events}")).iter().filter(is_it).count()
}

const PASSPHRASE: &[&str] = &["operators", "passphrase", "--stdin"];
const NEW_TOKEN: &[&str] = &["operators", "token", "--stdin", "--until", "1h"];

const DECISIONS: [&[&str]; 9] = [
    &["keys", "new", "attacker", "--operator"],
    &["access", "grant", "attacker", "honest"],
    &["permissions", "approve", "honest", "shell.execute", "--all-agents"],
    &["reload"],
    &["restart", "honest"],
    &["trust", "--yes"],
    &["operators", "passphrase", "--without-proof"],
    &["open", "state", "--everywhere"],
    &["ask", "never", "*"],
];

/// None of these decisions is taken.
fn decides_nothing(home: &Home, decisions: impl IntoIterator<Item = &'static [&'static str]>) {
    for decision in decisions {
        let ran = run(home, decision);
        assert_eq!(ran.code, Some(3), "{decision:?}: {ran:?}");
        assert!(ran.err.contains("operator passphrase"), "{decision:?}: {ran:?}");
    }
}

/// How many of the decisions are refused where requests come in; the passphrase is refused where it is set.
const PASSED_GATE: usize = DECISIONS.len() - 1;

async fn what_a_client_starts_decides_nothing() {
    let home = home();
    let (_kernel, _talk) = Talk::begin(&home);
    decides_nothing(&home, DECISIONS);
    // It may look, and learns how a decision becomes possible; but it does not set the passphrase itself.
    assert_eq!(home.json(["keys", "list"])["keys"], json!([]));
    assert_eq!(home.json(["access", "list"])["entries"], json!([]));
    assert_eq!(refusals(&home), PASSED_GATE);
    let own = run_with(&home, PASSPHRASE, None, "the attacker's\n");
    assert_eq!(own.code, Some(3), "{own:?}");
}

async fn what_a_client_starts_decides_nothing_at_a_kernel_in_the_background() {
    let home = Home::without_linger();
    let server = server::configured(&home, "honest", "");
    home.configure(&server);
    // The kernel outlives the client that it was started for, and knows the next one as well.
    let mut first = Kernel::in_background(&home);
    let one = Talk::open(&mut first);
    let mut second = Kernel::in_background(&home);
    let _other = Talk::open(&mut second);
    drop(one);
    assert_eq!(first.ended(), Some(0));
    decides_nothing(&home, DECISIONS);
    assert_eq!(refusals(&home), PASSED_GATE);
}

async fn what_a_client_leaves_behind_decides_nothing() {
    let home = home();
    assert!(Command::new("mkfifo").arg(home.path("go")).status().unwrap().success());
    let (_kernel, _talk) = Talk::begin(&home);
    let script = format!(
        "setsid sh -c '(read -r _ < go; {} keys new attacker > told 2>&1; echo ended $? >> told) &' > /dev/null 2>&1",
        env!("CARGO_BIN_EXE_mgp")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.path("")).env("HOME", home.path(""));
    shell.env("MGP_CONFIG_PATH", home.path("mgp.toml"));
    assert!(shell.status().unwrap().success());
    home.write("go", "go\n");
    let output = script_output(&home);
    assert!(output.contains("ended 3"), "{output}");
    assert_eq!(home.json(["keys", "list"])["keys"], json!([]));
}

async fn what_outlives_its_client_and_the_kernel_decides_nothing() {
    let home = home();
    let (mut kernel, mut talk) = Talk::begin(&home);
    talk.ask("tools/list", &json!({}));
    kernel.child.kill().unwrap();
    kernel.child.wait().unwrap();
    drop(talk);
    let without_kernel =
        DECISIONS.into_iter().filter(|decision| !matches!(decision[0], "reload" | "restart"));
    decides_nothing(&home, without_kernel);
    assert_eq!(run_with(&home, PASSPHRASE, None, "the attacker's\n").code, Some(3));
    assert_eq!(home.json(["keys", "list"])["keys"], json!([]));
}

async fn what_only_takes_away_needs_no_proof() {
    let home = home();
    let (_kernel, mut talk) = Talk::begin(&home);
    talk.ask("tools/list", &json!({}));
    for command in [&["permissions", "deny", "honest", "shell.execute"][..], &["stop", "honest"], &["stop"]] {
        let ran = run(&home, command);
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
    }
}

async fn a_call_from_the_command_line_leaves_the_proof_to_be_set_up() {
    let home = home();
    assert_eq!(run(&home, &["call", "honest.echo", "text=hello"]).code, Some(0));
    let set = run_with(&home, PASSPHRASE, None, "correct horse\n");
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(run(&home, &["stop"]).code, Some(0));
}

async fn a_client_decides_nothing_by_calling_as_an_operator() {
    let home = home();
    let (_kernel, _talk) = Talk::begin(&home);
    until("the tool is there", || home.run(["tools"]).out.contains("honest.echo"));
    // It is one more client of the user: what takes a decision waits for it.
    let ran = run(&home, &["call", "honest.delete_everything", "what=all"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert_eq!(server::calls(&home, "honest"), Vec::<String>::new());
    assert_eq!(run(&home, &["call", "honest.echo", "text=hello"]).code, Some(0));
    let events = home.json(["audit", "query", "--type", "TOOL_EXECUTED", "--agent", "local/mgp"]);
    assert_eq!(events["events"].as_array().map(Vec::len), Some(1), "{events}");
}

async fn a_client_decides_nothing_at_a_terminal_that_it_makes() {
    let home = home();
    let (_kernel, mut talk) = Talk::begin(&home);
    until("the tool is there", || home.run(["tools"]).out.contains("honest.delete_everything"));
    let call = json!({"name": "honest.delete_everything", "arguments": {"what": "all"}});
    talk.tell("tools/call", &call);
    let id = question(&home)["id"].as_str().unwrap().to_owned();
    let answer_question = format!("permissions approve {id}");
    for line in ["call honest.delete_everything what=all", "permissions watch", "watch", &*answer_question] {
        let mut script = in_home(&home, "script");
        // The end of what was typed may be thrown away with it; then the question waits for a person.
        let command = format!("timeout --foreground 20 {} {line}", env!("CARGO_BIN_EXE_mgp"));
        script.args(["-qec", &command, "/dev/null"]);
        let ran = Home::ran(script, "delete_everything\ndelete_everything\ny\n");
        // It approves nothing; a denial needs no passphrase.
        assert!(matches!(ran.code, Some(3 | 6 | 124)), "{line}: {ran:?}");
    }
    assert_eq!(server::calls(&home, "honest"), Vec::<String>::new());
    let decisions = home.json(["permissions", "list"]).to_string();
    assert!(!decisions.contains("approved"), "{decisions}");
}

async fn the_agents_second_client_does_not_answer_for_a_human() {
    let hello = hello("claude-code", &json!({"elicitation": {}}));
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "honest.delete_everything", "arguments": {"what": "all"},
    }});
    // What the agent has the shell of the first client run; it would say yes to whatever it is asked.
    for line in ["cat input | \"$0\" serve --foreground | cat", "exec \"$0\" serve --foreground < input"] {
        let home = home();
        let (_kernel, _talk) = Talk::begin(&home);
        assert!(Command::new("mkfifo").arg(home.path("input")).status().unwrap().success());
        let mut second = in_home(&home, "sh");
        second.args(["-c", line, env!("CARGO_BIN_EXE_mgp")]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut second = second.spawn().unwrap();
        let mut input = std::fs::File::options().write(true).open(home.path("input")).unwrap();
        for message in [&hello, &begun, &call] {
            std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
        }
        let asked = question(&home);
        assert_eq!(asked["server_id"], "honest", "{asked}");
        drop(input);
        let mut output = String::new();
        std::io::Read::read_to_string(&mut second.stdout.take().unwrap(), &mut output).unwrap();
        second.wait().unwrap();
        assert!(
            !output.contains("elicitation/create") && output.contains("nobody is asked"),
            "{line}: {output}"
        );
        assert_eq!(server::calls(&home, "honest"), Vec::<String>::new());
    }
}

async fn with_a_passphrase_a_decision_takes_it() {
    let home = home();
    // Set while no client is connected.
    let set = run_with(&home, PASSPHRASE, None, "correct horse\n");
    assert_eq!(set.code, Some(0), "{set:?}");
    let (_kernel, _talk) = Talk::begin(&home);
    let grant = ["access", "grant", "agent.one", "honest"];
    let ran = run(&home, &grant);
    assert!(ran.code == Some(3) && ran.err.contains("mgp operators token"), "{ran:?}");
    let wrong = run_with(&home, NEW_TOKEN, None, "correct house\n");
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
    let made = run_with(&home, NEW_TOKEN, None, "correct horse\n");
    assert_eq!(made.code, Some(0), "{made:?}");
    let ran = run_with(&home, &grant, Some(made.out.trim()), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(run_with(&home, &grant, Some("mgp_operators_1"), "").code, Some(3));
    // Another passphrase takes the one there is, and the old tokens are worth nothing.
    assert_eq!(run_with(&home, PASSPHRASE, None, "wrong horse\nanother horse\n").code, Some(3));
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\nanother horse\n").code, Some(0));
    assert_eq!(run_with(&home, &grant, Some(made.out.trim()), "").code, Some(3));
}

async fn with_a_passphrase_a_client_lets_its_person_answer_once_an_operator_trusts_it() {
    let home = home();
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = Talk::open_with(&mut kernel, &json!({"elicitation": {}}));
    let call = json!({"name": "honest.delete_everything", "arguments": {"what": "all"}});
    // The name of a client that asks its person is free for all.
    let waits = talk.ask("tools/call", &call);
    assert!(waits.to_string().contains("`mgp clients trust`"), "{waits}");
    assert_eq!(talk.times_heard("elicitation/create"), 0);
    assert_eq!(run(&home, &["clients", "trust"]).code, Some(3));
    let token = run_with(&home, NEW_TOKEN, None, "correct horse\n").out;
    let unknown = run_with(&home, &["clients", "trust", "1"], Some(token.trim()), "");
    assert!(unknown.code == Some(1) && unknown.err.contains("`mgp status`"), "{unknown:?}");
    let trusted = run_with(&home, &["clients", "trust"], Some(token.trim()), "");
    assert!(trusted.code == Some(0) && trusted.out.contains("claude-code 1"), "{trusted:?}");
    talk.tell("tools/call", &call);
    let asked = loop {
        let message: Value = serde_json::from_str(&talk.lines.next().unwrap().unwrap()).unwrap();
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    assert_eq!(server::calls(&home, "honest"), Vec::<String>::new());
    let id = talk.last_id();
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes});
    std::io::Write::write_all(&mut talk.input, format!("{answer}\n").as_bytes()).unwrap();
    talk.answer_to(&json!(id));
    assert_eq!(server::calls(&home, "honest").len(), 1);
}

async fn a_stopped_kernel_takes_the_passphrase_as_well() {
    let home = home();
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    assert_eq!(run(&home, &["keys", "new", "attacker"]).code, Some(3));
    let made = run_with(&home, NEW_TOKEN, None, "correct horse\n");
    assert_eq!(run_with(&home, &["keys", "new", "agent.one"], Some(made.out.trim()), "").code, Some(0));
    assert_eq!(home.json(["keys", "list"])["keys"].as_array().unwrap().len(), 1);
}

/// A container: a namespace of processes, which others enter from outside as with `docker exec`.
struct Container(std::process::Child);

impl Container {
    /// Returns `None` where this user may not make one.
    fn start() -> Option<Self> {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "echo up; sleep 600; :"]);
        let mut child = unshare.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut up = [0; 3];
        let is_up = std::io::Read::read_exact(child.stdout.as_mut()?, &mut up).is_ok();
        is_up.then_some(Self(child))
    }

    /// Runs a script from outside in a shell in the container, which types a passphrase.
    fn run(&self, home: &Home, script: &str) -> Ran {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id())).unwrap();
        let first = children.split_ascii_whitespace().next().unwrap();
        let mut enter = in_home(home, "nsenter");
        let command = script.replace("MGP", env!("CARGO_BIN_EXE_mgp"));
        enter.args(["--target", first, "--pid", "--mount", "--", "sh", "-c", &command]);
        Home::ran(enter, "correct horse\n")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn only_a_login_sets_the_first_passphrase_once_a_client_was_connected() {
    let Some(container) = Container::start() else {
        eprintln!("left out: a login from outside a container, for this user makes none");
        return;
    };
    let home = home();
    home.write("state/operators.json", "{}");
    let (mut kernel, mut talk) = Talk::begin(&home);
    talk.ask("tools/list", &json!({}));
    let doctor = run(&home, &["doctor"]);
    let fault = "error: operators: no operator passphrase is set, so nobody can approve calls. Set one: mgp operators passphrase";
    assert!(doctor.code == Some(5) && doctor.out.contains(fault), "{doctor:?}");
    assert!(doctor.out.contains("docker exec -it"), "{doctor:?}");
    assert!(run(&home, &["status"]).out.contains("nobody can approve calls"));
    kernel.child.kill().unwrap();
    kernel.child.wait().unwrap();
    drop(talk);
    // A client in the container, and what it leaves behind.
    for agents in [
        "timeout 60 MGP operators passphrase --stdin; exit $?",
        "(while kill -0 $$ 2> /dev/null; do :; done; MGP operators passphrase --stdin) &",
    ] {
        let ran = container.run(&home, agents);
        assert!(ran.err.contains("an agent may have sent this command"), "{agents}: {ran:?}");
    }
    let ran = container.run(&home, "MGP operators passphrase --stdin; exit $?");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_kernel, _talk) = Talk::begin(&home);
    let grant = ["access", "grant", "agent.one", "honest"];
    assert!(run(&home, &grant).err.contains("this needs the operator passphrase"));
    let made = run_with(&home, NEW_TOKEN, None, "correct horse\n");
    assert_eq!(run_with(&home, &grant, Some(made.out.trim()), "").code, Some(0), "{made:?}");
}

async fn a_changed_configuration_loosens_nothing_until_it_is_taken_with_the_passphrase() {
    let home = home();
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let token = run_with(&home, NEW_TOKEN, None, "correct horse\n").out;
    let accepted = home.read("mgp.toml");
    let waiting = |home: &Home| home.json(["status"])["waiting"].to_string();
    let has = |home: &Home, id: &str| {
        let servers = home.json(["status"])["servers"].clone();
        servers.as_array().unwrap().iter().any(|server| server["id"] == id && server["waiting"] != "server")
    };
    let kernel = Kernel::start(&home, &["--watch"]);
    let evil = server::configured(&home, "evil", "");
    home.write("mgp.toml", &format!("{accepted}{evil}[confirmation]\ndangerous = false\n"));
    until("what waits is as wanted", || waiting(&home).contains("servers.evil"));
    assert!(waiting(&home).contains("confirmation.dangerous") && !has(&home, "evil"));
    let added = run(&home, &["add", "worse", "--", "sh"]);
    assert!(added.code == Some(0) && added.err.contains("mgp reload"), "{added:?}");
    until("what waits is as wanted", || waiting(&home).contains("servers.worse"));
    assert_eq!(run(&home, &["reload"]).code, Some(3));
    assert_eq!(run(&home, &["service", "install"]).code, Some(3));
    assert!(home.run(["doctor"]).out.contains("changes wait for your operator passphrase"));
    // Neither does a start take it.
    drop(kernel);
    let kernel = Kernel::start(&home, &["--watch"]);
    assert!(waiting(&home).contains("servers.worse") && has(&home, "honest") && !has(&home, "worse"));
    let reloaded = run_with(&home, &["reload"], Some(token.trim()), "");
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    assert!(waiting(&home) == "null" && has(&home, "worse") && has(&home, "evil"));
    // A change by a command that gives the proof is taken, and nothing else with it.
    let added = run_with(&home, &["add", "third", "--", "sh"], Some(token.trim()), "");
    assert!(added.code == Some(0) && !added.err.contains("waits"), "{added:?}");
    assert!(waiting(&home) == "null" && has(&home, "third"));
    let removed = home.read("mgp.toml");
    home.write(
        "mgp.toml",
        &removed.replace("dangerous = false", "dangerous = false\n[permissions]\npatience_secs = 7"),
    );
    until("what waits is as wanted", || waiting(&home).contains("permissions.patience_secs"));
    let added = run_with(&home, &["add", "fourth", "--", "sh"], Some(token.trim()), "");
    assert!(added.err.contains("other changes waited before"), "{added:?}");
    // What is taken out is gone at once.
    home.write("mgp.toml", &accepted);
    until("what waits is as wanted", || !has(&home, "evil") && !has(&home, "worse"));
    // What was accepted while no kernel ran holds for the next one.
    drop(kernel);
    home.write("mgp.toml", &format!("{accepted}{evil}"));
    assert_eq!(run_with(&home, &["reload"], Some(token.trim()), "").code, Some(0));
    let _kernel = Kernel::start(&home, &[]);
    assert!(waiting(&home) == "null" && has(&home, "evil"));
}

async fn commands_use_nothing_of_a_configuration_that_waits() {
    let home = home();
    let accepted = home.read("mgp.toml");
    home.configure("[downloads]\nregistry = 'honest'\n");
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let token = run_with(&home, NEW_TOKEN, None, "correct horse\n").out;
    let _kernel = Kernel::start(&home, &[]);
    let evil = "[downloads]\nreleases = 'evil'\n[[servers]]\nid = 'web'\nurl = 'http://127.0.0.1:1/'\n";
    home.write("mgp.toml", &format!("{accepted}{evil}"));
    let says = |words: &[&str], what: &str| {
        let ran = run_with(&home, words, Some(token.trim()), "");
        assert!(ran.code != Some(0) && ran.err.contains(what), "{words:?}: {ran:?}");
    };
    let updates = |what: &str| cfg!(feature = "self-update").then(|| says(&["self", "check"], what));
    updates("no list of versions is configured");
    says(&["login", "web"], "there is no server web");
    says(&["install", "notes"], "honest");
    assert_eq!(run_with(&home, &["reload"], Some(token.trim()), "").code, Some(0));
    updates("releases_key");
}

async fn a_changed_secret_reaches_no_server_until_it_is_taken_with_the_passphrase() {
    let home = home();
    let honest = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{honest}[servers.env]\nTOKEN = \"${{secret:TOKEN}}\"\n"));
    let set = |token: Option<&str>, value: &str| {
        let set = run_with(&home, &["secrets", "set", "TOKEN", "--file"], token, value);
        assert_eq!(set.code, Some(0), "{set:?}");
        set.err
    };
    set(None, "first\n");
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let token = run_with(&home, NEW_TOKEN, None, "correct horse\n").out;
    let token = Some(token.trim());
    let _kernel = Kernel::start(&home, &[]);
    let waiting = || home.json(["status"])["waiting"].to_string();
    let restarted = || run_with(&home, &["restart", "honest"], token, "");
    assert_eq!((restarted().code, waiting().as_str()), (Some(0), "null"));
    assert!(set(None, "evil\n").contains("mgp reload"));
    assert!(waiting().contains("secrets.TOKEN"), "{}", waiting());
    assert_eq!(restarted().code, Some(4));
    assert_eq!(run_with(&home, &["reload"], token, "").code, Some(0));
    assert_eq!((restarted().code, waiting().as_str()), (Some(0), "null"));
    // A change by a command that gives the proof is taken.
    assert!(!set(token, "third\n").contains("waits"));
    assert_eq!((restarted().code, waiting().as_str()), (Some(0), "null"));
}

async fn a_changed_secret_signs_no_webhook_until_it_is_taken_with_the_passphrase() {
    let home = home();
    home.configure("[[approvals.notify]]\nwebhook = 'http://127.0.0.1:1/'\nsecret = '${secret:HOOK}'\n");
    let set = |value: &str| run_with(&home, &["secrets", "set", "HOOK", "--file"], None, value);
    set("whsec_Z29vZA==\n");
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let (kernel, mut talk) = Talk::begin(&home);
    set("whsec_ZXZpbA==\n");
    assert!(home.json(["status"])["waiting"].to_string().contains("secrets.HOOK"));
    talk.tell("tools/call", &json!({"name": "honest.delete_everything", "arguments": {"what": "all"}}));
    kernel.tells("the secret HOOK was changed without the operator passphrase");
}

async fn no_kernel_listens_beyond_this_machine_until_that_is_taken_with_the_passphrase() {
    let home = home();
    assert_eq!(run_with(&home, PASSPHRASE, None, "correct horse\n").code, Some(0));
    let token = run_with(&home, NEW_TOKEN, None, "correct horse\n").out;
    drop(Kernel::start(&home, &[]));
    home.configure("[listen]\nhttp = \"0.0.0.0:0\"\n");
    let kernel = Kernel::start(&home, &[]);
    kernel.tells("operators reach it at");
    assert!(!home.read("stderr").contains("listening at"), "{}", home.read("stderr"));
    assert_eq!(home.json(["status"])["waiting"], json!(["listen.http"]));
    drop(kernel);
    assert_eq!(run_with(&home, &["reload"], Some(token.trim()), "").code, Some(0));
    Kernel::start(&home, &[]).tells("listening at http://0.0.0.0:");
}
