//! A kernel in the background, which several clients share and none of them ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, Talk, found};

/// A user with a server, whose kernel ends with the last client.
fn with_clock(home: Home) -> Home {
    home.add_server("clock", &home.clock());
    home
}

fn call(talk: &mut Talk) -> Value {
    talk.ask("tools/call", &json!({"name": "clock.now", "arguments": {}}))
}

fn assert_works(talk: &mut Talk) {
    let called = call(talk);
    assert!(called["result"]["content"][0]["text"].is_string(), "{called}");
    assert_ne!(called["result"]["isError"], true, "{called}");
}

/// A client of the kernel in the background, whose calls are answered.
fn working(home: &Home) -> (Kernel, Talk) {
    let mut client = Kernel::in_background(home);
    let mut talk = Talk::open(&mut client);
    assert_works(&mut talk);
    (client, talk)
}

fn until_gone(home: &Home) {
    found("the kernel is gone", || {
        let ran = home.run(["status", "--json"]);
        (ran.code == Some(4) && ran.out.contains("\"running\":false")).then_some(())
    });
}

fn kill(pid: &Value) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_client_that_is_killed_does_not_disturb_the_others_and_the_last_one_ends_the_kernel() {
    let home = with_clock(Home::without_linger());
    let (mut first, mut second) = (Kernel::in_background(&home), Kernel::in_background(&home));
    let (mut one, mut other) = (Talk::open(&mut first), Talk::open(&mut second));
    assert_works(&mut one);
    assert_works(&mut other);
    let status = home.json(["status"]);
    assert_eq!(status["clients"].as_array().unwrap().len(), 2, "{status}");
    assert_eq!((&status["linger_secs"], &status["running"]), (&json!(0), &json!(true)), "{status}");
    let instances = |status: &Value| status["servers"][0]["instances"].as_array().unwrap().clone();
    let programs =
        |status: &Value| instances(status).into_iter().map(|it| it["pid"].clone()).collect::<Vec<_>>();
    let server = programs(&status)[1].clone();
    assert!(server.is_number(), "{status}");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    found("one client is left", || {
        (home.json(["status"])["clients"].as_array().unwrap().len() == 1).then_some(())
    });
    assert_works(&mut other);
    let status = home.json(["status"]);
    assert!(programs(&status).contains(&server), "the program of the second client is left alone: {status}");
    assert_eq!(call(&mut other)["error"], Value::Null);
    drop((one, other));
    assert_eq!(second.ended(), Some(0));
    until_gone(&home);
}

#[test]
fn clients_that_start_at_once_share_one_kernel() {
    let home = with_clock(Home::without_linger());
    let mut clients: Vec<_> = (0..10).map(|_| Kernel::in_background(&home)).collect();
    let mut talks: Vec<_> = clients.iter_mut().map(Talk::open).collect();
    talks.iter_mut().for_each(assert_works);
    assert_eq!(home.json(["status"])["clients"].as_array().unwrap().len(), 10);
    let log = home.read("state/kernel.log");
    assert_eq!(log.matches("operators reach it at").count(), 1, "{log}");
    drop(talks);
    for client in &mut clients {
        assert_eq!(client.ended(), Some(0));
    }
    until_gone(&home);
}

#[test]
fn a_client_that_is_killed_while_it_starts_a_kernel_blocks_nobody() {
    let home = with_clock(Home::without_linger());
    for _ in 0..3 {
        // Wherever it is by then, what it leaves behind is a kernel or none.
        drop(Kernel::in_background(&home));
    }
    let (mut client, talk) = working(&home);
    found("one client is left", || {
        (home.json(["status"])["clients"].as_array().unwrap().len() == 1).then_some(())
    });
    drop(talk);
    assert_eq!(client.ended(), Some(0));
    until_gone(&home);
}

#[test]
fn a_kernel_that_is_killed_is_replaced_and_the_session_goes_on() {
    let home = with_clock(Home::without_linger());
    let mut clients = [Kernel::in_background(&home), Kernel::in_background(&home)];
    let mut talks: Vec<_> = clients.iter_mut().map(Talk::open).collect();
    for talk in &mut talks {
        assert_works(talk);
        talk.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 10}}));
        // What comes after the call on the same way is answered when that is in work.
        talk.ask("ping", &json!({}));
    }
    let killed = home.json(["status"])["pid"].clone();
    kill(&killed);
    for talk in &mut talks {
        // What reaches the old kernel to the last is answered by an error, too.
        found("calls are answered again", || call(talk)["result"].is_object().then_some(()));
        let lost = talk.heard.iter().find(|message| message["error"].is_object());
        let lost = lost.unwrap_or_else(|| panic!("the call is not answered: {:?}", talk.heard));
        assert!(lost["error"]["message"].as_str().unwrap().contains("another one has taken over"), "{lost}");
        assert!(talk.times_heard("notifications/tools/list_changed") > 0, "{:?}", talk.heard);
    }
    let status = home.json(["status"]);
    assert_ne!(status["pid"], killed, "{status}");
    assert_eq!(status["clients"].as_array().unwrap().len(), 2, "{status}");
    drop(talks);
    until_gone(&home);
}

/// The first message of a client without a session: a call that takes long.
fn first_call() -> String {
    let params = json!({"name": "clock.wait", "arguments": {"seconds": 10}});
    http::stateless(&json!({}), "tools/call", params).1
}

/// How often the server was asked to wait.
fn waits(home: &Home) -> usize {
    let heard = std::fs::read_to_string(home.path("clock.sh.heard")).unwrap_or_default();
    heard.matches("\"seconds\"").count()
}

#[test]
fn a_first_call_that_is_in_work_when_the_input_ends_is_made_once() {
    let home = with_clock(Home::without_linger());
    let (_client, _talk) = working(&home);
    let ran = home.run_with(["serve"], &format!("{}\n", first_call()));
    assert!(ran.code == Some(0) && !ran.out.contains("error"), "{ran:?}");
    assert!(waits(&home) <= 1, "{}", home.read("clock.sh.heard"));
}

#[test]
fn what_was_refused_is_not_answered_again_when_the_input_ends() {
    let home = with_clock(Home::without_linger());
    let (mut client, mut talk) = working(&home);
    talk.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 10}}));
    writeln!(talk.input, r#"{{"jsonrpc":"2.0","id":5.5,"method":"ping"}}"#).unwrap();
    writeln!(talk.input, r#"{{"jsonrpc":"2.0","id":8,"method":"ping","params":{{"x":"\ud800"}}}}"#).unwrap();
    talk.ask("ping", &json!({}));
    let Talk { input, lines, .. } = talk;
    drop(input);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!rest.iter().any(|line| line.contains("taken over")), "{rest:?}");
    assert_eq!(client.ended(), Some(0));
}

#[test]
fn a_first_call_whose_kernel_is_killed_is_made_once_and_answered_by_an_error() {
    let home = with_clock(Home::without_linger());
    let mut client = Kernel::in_background(&home);
    let mut input = client.child.stdin.take().unwrap();
    writeln!(input, "{}", first_call()).unwrap();
    found("the call is in work", || (waits(&home) > 0).then_some(()));
    kill(&home.json(["status"])["pid"]);
    let mut lines = BufReader::new(client.child.stdout.take().unwrap()).lines();
    let answer = lines.next().unwrap().unwrap();
    assert!(answer.contains("another one has taken over"), "{answer}");
    let (_, listing) = http::stateless(&json!({}), "tools/list", json!({}));
    writeln!(input, "{listing}").unwrap();
    let answer = lines.next().unwrap().unwrap();
    assert!(answer.contains("\"result\""), "{answer}");
    assert_eq!(waits(&home), 1);
}

#[test]
fn a_kernel_stays_when_its_client_is_gone_until_it_is_stopped() {
    let home = with_clock(Home::with_state());
    let (mut client, talk) = working(&home);
    let running = home.json(["status"]);
    drop(talk);
    assert_eq!(client.ended(), Some(0));
    let status = found("the client has left", || {
        Some(home.json(["status"])).filter(|status| status["clients"] == json!([]))
    });
    assert_eq!((&status["pid"], &status["linger_secs"]), (&running["pid"], &json!(300)), "{status}");
    assert!(home.run(["status"]).out.contains("ends: in 5 min unless a client connects"));
    assert!(home.run(["tools"]).out.contains("clock.now"));
    home.done(["call", "clock.now"]);
    // The next client finds the same kernel.
    let (_client, _talk) = working(&home);
    assert_eq!(home.json(["status"])["pid"], running["pid"]);
    let stopped = home.done(["stop"]);
    assert!(stopped.out.contains("1 client stays connected"), "{stopped:?}");
    assert_eq!(home.run(["status"]).code, Some(4));
}

#[test]
fn a_client_stays_when_its_kernel_is_stopped_and_its_next_request_starts_another_one() {
    let home = with_clock(Home::with_state());
    let mut clients = [Kernel::in_background(&home), Kernel::in_background(&home)];
    let mut talks: Vec<_> = clients.iter_mut().map(Talk::open).collect();
    talks.iter_mut().for_each(assert_works);
    let first = home.json(["status"])["pid"].clone();
    home.done(["stop"]);
    assert_eq!(home.run(["status"]).code, Some(4), "clients that say nothing need no kernel");
    let [one, other] = &mut *talks else { unreachable!() };
    assert_works(one);
    assert!(one.times_heard("notifications/tools/list_changed") > 0, "{:?}", one.heard);
    let second = home.json(["status"])["pid"].clone();
    assert_ne!(first, second);
    assert_works(other);
    assert_eq!(home.json(["status"])["pid"], second, "the second client finds the kernel of the first one");
    // The end of a client ends its way, whether a kernel runs or not.
    home.done(["stop"]);
    drop(talks);
    for client in &mut clients {
        assert_eq!(client.ended(), Some(0));
    }
    assert_eq!(home.run(["status"]).code, Some(4));
}

#[test]
fn a_call_that_a_stopped_kernel_does_not_wait_for_is_answered_with_the_reason() {
    let home = with_clock(Home::with_state());
    home.write(
        "mgp.toml",
        &format!("[kernel]\ndrain_secs = 0\n{}", home.read("mgp.toml").replace("[kernel]", "")),
    );
    let (_client, mut talk) = working(&home);
    talk.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 10}}));
    let call = talk.last_id();
    talk.ask("ping", &json!({}));
    home.done(["stop"]);
    assert_works(&mut talk);
    let answer = talk.heard.iter().find(|message| message["id"] == call).unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("was stopped"), "{answer}");
}

#[test]
fn why_a_kernel_does_not_start_is_told_to_the_client() {
    let home = Home::without_linger();
    home.write("state/operators.json", "no JSON");
    let ran = home.run(["serve"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("operators.json") && ran.out.is_empty(), "{ran:?}");
}

#[test]
fn an_address_that_another_program_has_keeps_no_client_out_and_is_tried_again() {
    let home = with_clock(Home::without_linger());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    home.configure(&format!("[listen]\nhttp = \"{address}\"\n"));
    let (_client, mut talk) = working(&home);
    let status = home.run(["status"]);
    assert!(status.out.contains(&format!("http: does not listen at {address} yet")), "{status:?}");
    let doctor = home.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:?}");
    assert!(
        doctor.out.contains(&format!("error: http: the kernel does not listen at {address}")),
        "{doctor:?}"
    );
    assert!(home.read("state/kernel.log").contains(&address.to_string()));
    // Whoever asks for the address itself is told at once.
    let other = Home::with_state();
    let ran = other.run(["serve", "--http", &address.to_string()]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.err.matches("in use").count(), 1, "{ran:?}");
    drop(taken);
    found("the kernel listens", || {
        home.run(["status"]).out.contains(&format!("http: listens at {address}")).then_some(())
    });
    assert!(std::net::TcpStream::connect(address).is_ok());
    assert_works(&mut talk);
}

#[test]
fn servers_keep_the_environment_of_the_first_client_and_others_are_told() {
    let home = Home::without_linger();
    let [program, file] = home.clock();
    let server = format!(
        "[[servers]]\nid = \"clock\"\ncommand = {program:?}\nargs = [{file:?}]\n\
         env = {{ TOKEN = \"${{TOKEN:-none}}\" }}\n"
    );
    home.configure(&server);
    let mut first = Kernel::in_background(&home);
    let _talk = Talk::open(&mut first);
    let mut command = home.command(["serve"]);
    command.env("TOKEN", "secret");
    let ran = Home::ran(command, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("servers keep the TOKEN"), "{ran:?}");
    assert!(!home.read("state/kernel.json").contains("secret"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_kernel_in_the_background_descends_from_no_client_and_has_no_terminal() {
    let home = Home::without_linger();
    let mut client = Kernel::in_background(&home);
    let _talk = Talk::open(&mut client);
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // What follows the name: state, parent, group, session, terminal.
    let fields = |stat: String| -> Vec<String> {
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        rest.split(' ').take(5).map(str::to_owned).collect()
    };
    let mut line = fields(stat(&home.json(["status"])["pid"].to_string()));
    let own = fields(stat("self"));
    assert_ne!(line[3], own[3], "the session");
    assert_eq!(line[4], "0", "the terminal");
    let (client, test) = (client.child.id().to_string(), std::process::id().to_string());
    while line[1] != "0" {
        assert!(line[1] != client && line[1] != test, "{line:?}");
        line = fields(stat(&line[1]));
    }
}
