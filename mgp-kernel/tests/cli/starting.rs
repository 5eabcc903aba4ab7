//! The starts of many servers: how many there are at the same time, how long each may take, and how they are waited for.
//! Servers are held by a file that is not there yet, and not by time.

use serde_json::Value;

use crate::home::Home;
use crate::kernel::{Talk, found, until};

/// A user with so many servers, each of which notes its start and goes on when there is a file `go`, or one with its number.
fn with_held_servers(servers: usize, further: &str) -> Home {
    let home = Home::with_state();
    let [program, file] = home.clock();
    let server = |number: usize| {
        let script = format!(
            "cd {}; touch began.{number}; until [ -e go ] || [ -e go.{number} ]; do sleep 0.05; done; exec {program} {file}",
            home.path("").display()
        );
        format!("[[servers]]\nid = \"s{number}\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n")
    };
    let servers: String = (0..servers).map(server).collect();
    home.configure(&format!("{servers}{further}"));
    home
}

fn began(home: &Home, servers: usize) -> Vec<usize> {
    (0..servers).filter(|number| home.path(&format!("began.{number}")).exists()).collect()
}

fn in_queue(home: &Home) -> usize {
    let listed = home.json(["servers", "--no-start"]);
    let is_queued = |row: &&Value| row["delay"].as_str().is_some_and(|delay| delay.contains("in the queue"));
    listed["servers"].as_array().unwrap().iter().filter(is_queued).count()
}

#[test]
fn a_few_more_servers_than_cores_start_at_the_same_time_and_the_others_wait_in_a_queue() {
    let places = std::thread::available_parallelism().unwrap().get() + 2;
    let servers = places + 2;
    // One that waits in the queue does not use up its time.
    let home = with_held_servers(servers, "[limits]\nstartup_timeout_ms = 600000\n");
    let (_kernel, _talk) = Talk::begin(&home);
    until("as many start as may", || began(&home, servers).len() == places);
    until("the others wait", || in_queue(&home) == 2);
    let first = began(&home, servers);
    assert_eq!(first.len(), places);
    home.write(&format!("go.{}", first[0]), "");
    until("the next one starts", || began(&home, servers).len() == places + 1);
    until("one is left", || in_queue(&home) == 1);
    home.write("go", "");
    let waited = home.run(["servers", "--wait"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert_eq!(waited.out.matches(" connected ").count(), servers, "{waited:?}");
}

#[test]
fn one_key_says_how_long_servers_may_take_to_start_and_a_command_that_waits_tells_the_truth() {
    let further = "[servers.limits]\nstartup_timeout_ms = 600000\n[[servers]]\nid = \"slow\"\ncommand = \"sleep\"\n\
                   args = [\"60\"]\nmax_restarts = 0\n[limits]\nstartup_timeout_ms = 100\n";
    let home = with_held_servers(1, further);
    home.run(["servers"]);
    let why = found("the slow one has failed", || {
        let listed = home.json(["servers"]);
        let slow = listed["servers"].as_array().unwrap().iter().find(|row| row["id"] == "slow")?.clone();
        slow["last_error"].as_str().map(str::to_owned)
    });
    assert!(why.contains("it may take 0.1 s to start") && why.contains("`[limits]`"), "{why}");
    let waited = home.run(["servers", "--wait", "--timeout", "50ms"]);
    assert_eq!(waited.code, Some(4), "{waited:?}");
    assert!(waited.err.contains("still starting after 0.05 s: s0"), "{waited:?}");
    assert!(waited.err.contains("not connected: slow"), "{waited:?}");
    home.write("go", "");
    let waited = home.run(["servers", "--wait"]);
    assert!(waited.code == Some(4) && !waited.err.contains("still starting"), "{waited:?}");
    assert!(waited.out.contains(" connected ") && waited.err.contains("not connected: slow"), "{waited:?}");
    home.json(["remove", "slow"]);
    assert_eq!(home.run(["servers", "--wait"]).code, Some(0));
}
