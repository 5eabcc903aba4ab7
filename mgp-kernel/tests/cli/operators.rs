//! Tests of the rights that operators have whatever holds for agents, and of what they are told of servers.

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;
use crate::page::{asked, with_passphrase};

fn with_clock(further: &str) -> Home {
    let home = Home::with_clock();
    home.configure(further);
    home
}

#[test]
fn an_operator_revokes_keys_however_few_calls_agents_may_make() {
    let home = Home::with_state();
    let limits = "[limits]\nagent_calls_per_minute = 2\nagent_calls_per_day = 3\n";
    home.configure(limits);
    let _kernel = Kernel::start(&home, &["--no-stdio"]);
    for _ in 0..4 {
        let issued = home.json(["keys", "new", "agent.ada", "--allow", "list"]);
        home.done(["keys", "revoke", issued["id"].as_str().unwrap()]);
    }
}

#[test]
fn a_decision_with_a_token_is_recorded_without_a_refusal() {
    let home = Home::with_state();
    home.done(["access", "grant", "ada", "fs", "--force"]);
    let events = home.json(["audit", "query"]).to_string();
    assert_eq!(events.matches("operator_proved").count(), 1, "{events}");
    assert!(!events.contains("PERMISSION_DENIED") && !events.contains("request_blocked"), "{events}");
}

// covers: MGP-1.2-05
#[test]
fn each_use_of_the_proof_that_a_person_is_there_is_recorded() {
    let home = Home::with_state();
    let _kernel = Kernel::start(&home, &["--no-stdio"]);
    home.done(["access", "grant", "ada", "fs", "--force"]);
    let mut unproved = home.command(["access", "deny", "ada", "fs", "--force"]);
    unproved.env("MGP_OPERATORS_TOKEN", "mgp_operators_of_nobody");
    assert_ne!(Home::ran(unproved, "").code, Some(0));
    with_passphrase(&home);
    let token = home.run_with(["operators", "token", "--stdin"], "correct horse\n");
    assert_eq!(token.code, Some(0), "{token:?}");
    let events = home.json(["audit", "query"]);
    for what in ["proved", "not_proved", "passphrase_set", "token_asked"] {
        let kind = format!("dev.cloto.mgp.operator_{what}");
        let mut of_kind = events["events"].as_array().unwrap().iter().map(|row| &row["event"]);
        let event = of_kind.find(|event| event["event_type"] == kind.as_str());
        let event = event.unwrap_or_else(|| panic!("{kind} is not in {events}"));
        assert_eq!(event["actor"]["type"], "operator", "{event}");
    }
    for secret in ["correct horse", token.out.trim()] {
        assert!(!events.to_string().contains(secret));
    }
}

#[test]
fn an_operator_finds_and_calls_tools_to_which_no_agent_has_access() {
    let home = with_clock("\n[access]\ndefault = \"opt-in\"\n");
    let _kernel = Kernel::start(&home, &["--no-stdio"]);
    while home.json(["servers"])["servers"][0]["state"] != "connected" {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    home.done(["call", "clock.now"]);
    let found = home.json(["search", "what time is it"]).to_string();
    assert!(found.contains("clock.now"), "{found}");
    let agent = home.run(["access", "query", "agent.ada", "clock", "now"]);
    assert!(agent.code == Some(3) && agent.out.contains("deny"), "{agent:?}");
}

pub(crate) fn metrics(port: u16) -> String {
    http::send(port, "GET", "/metrics", "", "").body
}

#[test]
fn the_crash_of_a_server_is_logged_with_its_exit_and_counted_and_so_is_that_it_is_given_up() {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    let config = home.read("mgp.toml").replace("[[servers]]\n", "[[servers]]\nmax_restarts = 1\n");
    home.write("mgp.toml", &format!("{config}\n[telemetry]\nmetrics = true\n"));
    let (kernel, port) = Kernel::on_http(&home);
    for crash in 1..=2 {
        let pid = loop {
            let servers: Value = home.json(["servers"]);
            if let Some(pid) = servers["servers"][0]["pid"].as_u64() {
                break pid.to_string();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert!(std::process::Command::new("kill").args(["-s", "KILL", &pid]).status().unwrap().success());
        let line = format!("mgp_server_ends_total{{server=\"clock\"}} {crash}\n");
        while !metrics(port).contains(&line) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    let crash = kernel.tells("a server ended by itself");
    assert!(crash.contains("SIGKILL") && crash.contains("clock"), "{crash}");
    let given_up = kernel.tells("a server is given up");
    assert!(given_up.contains("mgp restart") && given_up.contains("clock"), "{given_up}");
    let after = metrics(port);
    assert!(after.contains("mgp_server_given_up_total{server=\"clock\"} 1\n"), "{after}");
    assert!(after.contains("mgp_server_state{server=\"clock\",state=\"error\"} 1\n"), "{after}");
}

#[test]
fn without_a_terminal_a_failure_names_the_step_that_leads_on() {
    let (home, _kernel, id) = asked();
    let told = |args: &[&str]| {
        let mut command = std::process::Command::new("setsid");
        command.arg(env!("CARGO_BIN_EXE_mgp")).args(args).env_clear().current_dir(home.path(""));
        let of_home = home.command(["--version"]);
        command.envs(of_home.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("MGP_OPERATORS_TOKEN");
        Home::ran(command, "").err
    };
    let unknown = home.run(["permissions", "approve", "nothing"]);
    assert!(unknown.err.contains("PERMISSION --agent"), "{unknown:?}");
    let unset = told(&["operators", "passphrase"]);
    assert!(unset.contains("--stdin") && !unset.contains("operators token"), "{unset}");
    with_passphrase(&home);
    let token = told(&["operators", "token"]);
    assert!(token.contains("--stdin") && !token.contains("operators token"), "{token}");
    let unproved = told(&["permissions", "approve", &id]);
    assert!(
        unproved.contains("mgp operators token") && !unproved.contains("PERMISSION --agent"),
        "{unproved}"
    );
}

#[test]
fn with_a_passphrase_the_file_that_sets_each_key_is_still_known() {
    let home = Home::with_state();
    with_passphrase(&home);
    let _kernel = Kernel::start(&home, &["--no-stdio"]);
    let shown = home.json(["config", "show"]);
    let place = shown["set_at"]["kernel.state"].as_str().unwrap_or_else(|| panic!("{shown}"));
    assert!(place.ends_with("mgp.toml:2"), "{shown}");
}

#[test]
fn whoever_sets_the_first_passphrase_hears_at_once_that_an_agent_could_have() {
    let home = Home::with_state();
    home.write("state/operators.json", "{}");
    let (_kernel, port) = Kernel::on_http(&home);
    http::ask(port, "", &json!({}), "tools/list", json!({}));
    let ran = home.run(["operators", "passphrase"]);
    assert!(ran.code == Some(3) && !ran.err.contains("ew operator passphrase"), "{ran:?}");
    for way in ["an agent may have sent this command", "over ssh", "docker exec -it"] {
        assert!(ran.err.contains(way), "{way}: {ran:?}");
    }
    let denied = home.run(["permissions", "deny", "clock", "shell.execute", "--force"]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
}
