use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};

fn ended(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    None
}

/// A user with a server that wrote three lines.
fn with_talker() -> Home {
    let home = Home::with_state();
    let script = "for n in 1 2 3; do echo line $n >&2; done; exec cat >/dev/null";
    home.configure(&format!(
        "[[servers]]\nid = \"talker\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n\
         [servers.limits]\nstartup_timeout_ms = 60000\n"
    ));
    home
}

#[test]
fn what_is_followed_ends_when_nobody_reads_it() {
    let home = with_talker();
    let _kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    home.json(["access", "grant", "a", "fs", "--force"]);
    for arguments in [&["audit", "tail", "-f"][..], &["logs", "-f", "talker"]] {
        let mut command = home.command(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{arguments:?}");
        // Nothing more is written, and nobody would read it.
        drop(out);
        assert_eq!(ended(&mut child), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_log_that_is_followed_is_an_object_a_line_where_json_is_asked_for() {
    let home = with_talker();
    let _kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let mut command = home.command(["logs", "-f", "talker", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let lines: Vec<Value> =
        out.lines().take(3).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(lines, ["line 1", "line 2", "line 3"].map(|line| json!({"line": line})));
    assert_eq!(ended(&mut child), Some(0));
}

#[test]
fn what_is_written_to_files_is_reported_where_json_is_asked_for() {
    let home = Home::new();
    home.json(["access", "grant", "a", "fs", "--force"]);
    let report = home.json(["audit", "export", "--out", "record.jsonl"]);
    let lines = home.read("record.jsonl").lines().count();
    assert_eq!(report, json!({"events": lines, "file": "record.jsonl"}));
    assert!(lines > 0);
    let pages = home.json(["man", "--dir", "pages"]);
    assert!(pages["files"].as_array().unwrap().contains(&json!("pages/mgp-serve.1")), "{pages}");
    let table = home.run(["audit", "export", "--format", "csv", "--json"]);
    assert_eq!((table.code, table.out.as_str()), (Some(1), ""));
    home.done(["audit", "export", "--format", "csv", "--json", "--out", "record.csv"]);
}

#[test]
fn every_command_logs_as_it_is_told_to() {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    let quiet = home.run(["tools", "--json"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
    let verbose = home.run(["-vv", "tools", "--json"]);
    assert!(verbose.err.contains("mgp_"), "{verbose:?}");
    assert_eq!(verbose.out, quiet.out);
    let mut command = home.command(["tools", "--json"]);
    let output = command.env("MGP_LOG", "trace").output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("mgp_"));
    let mut text = String::new();
    output.stdout.as_slice().read_to_string(&mut text).unwrap();
    assert_eq!(text, quiet.out);
}

/// A session says its level while its server is still asked for its lists.
#[test]
fn a_level_of_logging_holds_from_the_first_call_on() {
    let script = r#"
level=none
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"l","version":"1"}}' ;;
    *'"method":"logging/setLevel"'*) level=debug; result='{}' ;;
    *'"method":"tools/list"'*)
      touch "$0.asked"
      until [ -e "$0.goes_on" ]; do sleep 0.05; done
      result='{"tools":[{"name":"read","description":"Reads.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      [ $level = none ] ||
        printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}\n'
      result='{"content":[]}' ;;
    *'"id":'*) continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    let home = Home::with_script("l", script, "", "");
    let (_kernel, mut talk) = Talk::begin(&home);
    until("the server is asked for its tools", || home.path("l.sh.asked").exists());
    talk.ask("logging/setLevel", &json!({"level": "debug"}));
    home.write("l.sh.goes_on", "");
    let answer = talk.ask("tools/call", &json!({"name": "l__read", "arguments": {}}));
    assert!(answer["result"]["content"].is_array(), "{answer}");
    assert_eq!(talk.times_heard("notifications/message"), 1, "{:?}", talk.heard);
}
