//! The metrics of a kernel, the files that show and judge them, and the log and the load for those on call.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, until};
use crate::operators::metrics;

/// A kernel with a server, whose record nobody takes.
fn observed() -> (Home, Kernel, u16) {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    home.configure("[telemetry]\nmetrics = true\n[audit.push]\nurl = 'https://127.0.0.1:1/v1/logs'\n");
    let (kernel, port) = Kernel::on_http(&home);
    until("the clock is connected", || home.json(["servers"])["servers"][0]["state"] == "connected");
    (home, kernel, port)
}

/// Returns the metrics that an expression names.
fn named(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let metrics = words
        .filter(|word| ["mgp_", "mcp_server_", "process_"].iter().any(|prefix| word.starts_with(prefix)));
    metrics.map(str::to_owned).collect()
}

/// Returns the expressions of a dashboard.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(text) if ["expr", "query"].contains(&name.as_str()) => found.push(text.clone()),
            value => expressions(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

fn contrib(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join("contrib").join(file)).unwrap()
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_the_kernel_has() {
    let mut shown = Vec::new();
    expressions(&serde_json::from_str(&contrib("grafana/mgp.json")).unwrap(), &mut shown);
    assert!(shown.len() > 30, "{shown:?}");
    // Texts of the rules name metrics as well, and those have to be right, too.
    shown.push(contrib("prometheus/alerts.yml"));
    let wanted: BTreeSet<_> = shown.iter().flat_map(|expression| named(expression)).collect();
    let (_home, _kernel, port) = observed();
    let page = metrics(port);
    let printed: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .flat_map(|line| {
            let (name, kind) = line.split_once(' ').unwrap();
            let parts: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            parts.iter().map(|part| format!("{name}{part}")).collect::<Vec<_>>()
        })
        .collect();
    let unknown: Vec<_> = wanted.difference(&printed).collect();
    assert!(unknown.is_empty(), "{unknown:?} are in no page: {page}");
}

#[test]
fn calls_are_counted_by_tool_and_refusals_by_rule() {
    let (home, kernel, port) = observed();
    home.done(["call", "clock.now"]);
    let page = metrics(port);
    let labels = r#"{server="clock",mcp_method_name="tools/call",gen_ai_tool_name="now"}"#;
    assert!(page.contains(&format!("mcp_server_operation_duration_seconds_count{labels} 1\n")), "{page}");
    // A key that is for the tools of another server.
    let key =
        home.json(["keys", "new", "agent.ada", "--allow", "list", "--allow", "call:notes.*", "--force"]);
    let key = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
    let call = json!({"name": "clock__now", "arguments": {}});
    http::ask(port, &key, &json!({}), "tools/call", call);
    let page = metrics(port);
    assert!(page.contains(r#"mgp_refusals_total{section="auth",rule="#), "{page}");
    let line = kernel.tells("a request was refused");
    for part in ["auth", "agent.ada", "tools/call", "127.0.0.1"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn a_flood_of_failed_logins_is_counted_and_does_not_fill_the_log() {
    let (home, kernel, port) = observed();
    let wrong = "Authorization: Bearer mgp_0123_wrong\r\n";
    for _ in 0..200 {
        assert_eq!(http::send(port, "POST", "/mcp", wrong, "{}").status, 401);
    }
    let page = metrics(port);
    assert!(page.contains("mgp_failed_logins_total 200\n"), "{page}");
    let line = kernel.tells("a login failed");
    for part in ["unauthenticated", "127.0.0.1", "/mcp", "0123"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    // A new minute may have begun meanwhile.
    let lines = home.read("stderr").matches("a login failed").count();
    assert!((1..=120).contains(&lines), "{lines}");
}

#[test]
fn the_load_of_a_kernel_is_told_in_a_line_where_there_is_no_terminal() {
    let (home, _kernel, _) = observed();
    let mut watching = home.command(["status", "--watch"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let line = BufReader::new(watching.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    watching.kill().unwrap();
    watching.wait().unwrap();
    for part in ["servers 1 connected", "0.0 calls/s", "0 questions wait", "events to push", "MiB free"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains('\u{1b}'), "{line}");
    let status = home.json(["status"]);
    assert!(
        status["push"]["events"].as_u64().is_some() && status["disk"]["free"].as_u64() > Some(0),
        "{status}"
    );
}
