//! The end of a kernel, and the kernel that follows it in its process, as clients over HTTP and on standard input see them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, Talk, found, until};

/// Returns a call of a tool of the clock, as a request of HTTP on a connection that is kept.
fn request(tool: &str, arguments: &Value) -> String {
    let params = json!({"name": format!("clock.{tool}"), "arguments": arguments});
    let (headers, message) = http::stateless(&json!({}), "tools/call", params);
    let media = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let length = message.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n{media}{headers}\r\n{message}"
    )
}

/// Begins a call on a connection of its own.
fn begin(port: u16, tool: &str, arguments: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(request(tool, arguments).as_bytes()).unwrap();
    stream
}

/// Reads an answer: its head, in small letters, and its body. Returns `None` if the connection ends before the first byte.
fn answer(stream: &mut TcpStream) -> Option<(String, Value)> {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split_once("content-length: ").expect("the answer has a length").1;
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return Some((head, serde_json::from_str(body).unwrap()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) if read.is_empty() => return None,
            Ok(0) | Err(_) => panic!("an answer was cut off: {text}"),
            Ok(length) => read.extend_from_slice(&piece[..length]),
        }
    }
}

fn assert_answered(answer: &Value) {
    assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}

/// Makes a call on a connection of its own. Anything but an answer fails the test.
fn call(port: u16) {
    assert_answered(&answer(&mut begin(port, "now", &json!({}))).expect("the call is answered").1);
}

/// A client that keeps its connection. As HTTP clients do, it leaves when it is told to, and makes a call once more whose
/// connection, used before, was closed before the first byte of the answer.
struct KeepingClient {
    port: u16,
    stream: Option<TcpStream>,
}

impl KeepingClient {
    fn call(&mut self) {
        let (port, is_new) = (self.port, self.stream.is_none());
        let stream = self.stream.get_or_insert_with(|| TcpStream::connect(("127.0.0.1", port)).unwrap());
        // Whether it was written shows when it is answered.
        let _ = stream.write_all(request("now", &json!({})).as_bytes());
        let Some((head, body)) = answer(stream) else {
            assert!(!is_new, "a new connection was closed without an answer");
            self.stream = None;
            return self.call();
        };
        assert_answered(&body);
        if head.contains("connection: close") {
            self.stream = None;
        }
    }
}

fn since(home: &Home) -> Value {
    home.json(["status"])["since"].clone()
}

/// Starts a kernel whose clock answers.
fn with_clock() -> (Home, Kernel, u16) {
    let home = Home::with_clock();
    let (kernel, port) = Kernel::on_http(&home);
    call(port);
    (home, kernel, port)
}

#[test]
fn no_call_fails_while_kernels_follow_one_another() {
    let (home, mut kernel, port) = with_clock();
    let first = since(&home);
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        let on_new = || {
            while !is_over.load(Ordering::Relaxed) {
                call(port);
            }
        };
        let on_kept = || {
            let mut client = KeepingClient { port, stream: None };
            while !is_over.load(Ordering::Relaxed) {
                client.call();
            }
        };
        let calling = [threads.spawn(on_new), threads.spawn(on_new), threads.spawn(on_kept)];
        let restarts = threads.spawn(|| {
            kernel.signal("USR2");
            found("the next kernel answers", || {
                let ran = home.run(["status", "--json"]);
                let status: Value = serde_json::from_str(&ran.out).ok()?;
                (status["since"].is_string() && status["since"] != first).then_some(())
            });
            for _ in 0..2 {
                home.done(["restart"]);
            }
        });
        let restarted = restarts.join();
        is_over.store(true, Ordering::Relaxed);
        for calls in calling {
            calls.join().unwrap();
        }
        restarted.unwrap();
    });
    assert!(kernel.child.try_wait().unwrap().is_none(), "it is one process");
    assert_eq!(home.json(["audit", "verify"])["intact"], true);
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));
}

#[test]
fn a_kernel_that_ends_answers_until_its_calls_are_done_and_says_that_it_is_not_ready() {
    let (home, mut kernel, port) = with_clock();
    let mut waiting = begin(port, "wait", &json!({"seconds": 4}));
    until("the call is in work", || home.json(["stats"])["calls"][0]["in_work"] == 1);
    kernel.signal("TERM");
    let get = |path| http::send(port, "GET", path, "", "");
    until("it is not ready", || get("/readyz").status == 503);
    assert!(get("/readyz").body.contains("draining"));
    assert_eq!(get("/healthz").status, 200);
    assert_eq!(home.run(["status"]).code, Some(4));
    let (head, body) = answer(&mut begin(port, "now", &json!({}))).unwrap();
    assert_answered(&body);
    assert!(head.contains("connection: close"), "{head}");
    assert_answered(&answer(&mut waiting).unwrap().1);
    assert_eq!(kernel.ended(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_second_signal_ends_a_kernel_whose_calls_take_long() {
    let (home, mut kernel, port) = with_clock();
    let _waiting = begin(port, "wait", &json!({"seconds": 25}));
    until("the call is in work", || home.json(["stats"])["calls"][0]["in_work"] == 1);
    kernel.signal("TERM");
    until("it is not ready", || http::send(port, "GET", "/readyz", "", "").status == 503);
    kernel.signal("TERM");
    let began = tokio::time::Instant::now();
    assert_eq!(kernel.ended(), Some(0));
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
}

#[test]
fn a_client_of_a_kernel_in_the_background_notices_nothing_but_a_wait() {
    let home = Home::with_clock();
    let mut client = Kernel::in_background(&home);
    let mut talk = Talk::open(&mut client);
    let now = json!({"name": "clock.now", "arguments": {}});
    assert_answered(&talk.ask("tools/call", &now));
    let (pid, first) = (home.json(["status"])["pid"].clone(), since(&home));
    talk.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 1}}));
    let waiting = json!(talk.last_id());
    // What comes after the call on the same way is answered when that is in work.
    talk.ask("ping", &json!({}));
    home.done(["restart"]);
    assert_answered(&talk.ask("tools/call", &now));
    let earlier = talk.heard.iter().find(|message| message["id"] == waiting).expect("it is answered");
    assert_answered(earlier);
    assert!(talk.heard.iter().all(|message| message["error"].is_null()), "{:?}", talk.heard);
    let told = talk.heard.iter().any(|message| message["method"] == "kernel/restarting");
    assert!(!told, "{:?}", talk.heard);
    let status = home.json(["status"]);
    assert_eq!(status["pid"], pid, "{status}");
    assert_ne!(status["since"], first, "{status}");
}

/// A command that runs `program` as a kernel of this home.
fn as_program(home: &Home, program: &str, arguments: &[&str]) -> Command {
    let own = home.command(["serve"]);
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(own.get_current_dir().unwrap());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

const ON_HTTP: [&str; 5] = ["serve", "--foreground", "--http", "127.0.0.1:0", "--no-stdio"];

#[test]
fn a_kernel_goes_on_if_nothing_can_follow_it() {
    let home = Home::with_clock();
    let program = home.path("mgp");
    symlink(env!("CARGO_BIN_EXE_mgp"), &program).unwrap();
    let kernel = Kernel::of(&home, as_program(&home, program.to_str().unwrap(), &ON_HTTP));
    let port = kernel.port();
    let first = since(&home);
    for replaced in ["exit 1", "echo another program"] {
        std::fs::remove_file(&program).unwrap();
        home.write("mgp", &format!("#!/bin/sh\n{replaced}\n"));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ran = home.run(["restart"]);
        assert!(ran.code != Some(0) && ran.err.contains("cannot follow it"), "{ran:?}");
        call(port);
    }
    std::fs::remove_file(&program).unwrap();
    let ran = home.run(["restart"]);
    assert!(ran.code != Some(0) && ran.err.contains("cannot follow it"), "{ran:?}");
    assert_eq!(since(&home), first);
    symlink(env!("CARGO_BIN_EXE_mgp"), &program).unwrap();
    home.done(["restart"]);
    call(port);
}

#[test]
fn a_kernel_that_ends_with_its_client_does_not_restart() {
    let home = Home::with_state();
    let (_kernel, _talk) = Talk::begin(&home);
    let ran = home.run(["restart"]);
    assert!(ran.code != Some(0) && ran.err.contains("ends with the client that started it"), "{ran:?}");
}
