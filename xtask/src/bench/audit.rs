//! The audit service with a million events: how fast it stores them, and how long a question takes.
//!
//! Everything goes over standard input and output of `mgp-patterns audit`, as behind a kernel.

use std::{
    fmt::Write as _,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::session::{Era, Session};
use crate::table::Table;
use crate::workspace::{Profile, Workspace};

/// Measures the audit service, and prints the figures below `head`. The names of those that are missed.
// covers: P-4-18
pub(super) fn run(workspace: &Workspace, quick: bool, head: &str) -> Result<Vec<String>> {
    let patterns = workspace.build_program("mgp-patterns", "mgp-patterns", Profile::Dist)?;
    let folder = workspace.target.join("bench/audit");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let events = if quick { 50_000 } else { 1_000_000 };
    let store = folder.join("events.db");
    let mut server = Command::new(patterns);
    server.args(["audit", "--store"]).arg(&store);
    let mut session = Session::start(&mut server, Era::Legacy)?;

    println!("storing {events} events");
    let rate = store_all(&mut session, events)?;
    println!("asking");
    let mut missed = Vec::new();
    let mut table = Table::new(["figure", "ours", "target", "verdict"]);
    let stored = format!("{rate:.0}");
    table.row(["events stored a second".into(), stored, "≥ 5000".into(), verdict(rate >= 5_000.0)]);
    for (name, tool, arguments) in questions(events) {
        let limit = if tool == "query_audit_log" { 50.0 } else { 200.0 };
        let ours = median_ms(&mut session, tool, &arguments)?;
        table.row([name.into(), format!("{ours:.2}"), format!("≤ {limit}"), verdict(ours <= limit)]);
        if ours > limit {
            missed.push(name.to_owned());
        }
    }
    drop(session);
    fs::remove_dir_all(&folder)?;
    println!("\n{head}");
    println!("{table}");
    Ok(missed)
}

fn verdict(is_reached: bool) -> String {
    if is_reached { "ok" } else { "MISSED" }.to_owned()
}

/// What is asked: what is found at once, and what is rare or not there at all.
fn questions(events: u64) -> Vec<(&'static str, &'static str, Value)> {
    let middle = timestamp(events / 2);
    vec![
        ("ms, the newest 50", "query_audit_log", json!({})),
        ("ms, the newest 1,000", "query_audit_log", json!({"limit": 1000})),
        ("ms, the last 50 of a month ago", "query_audit_log", json!({"until": timestamp(100)})),
        ("ms, one agent of many", "query_audit_log", json!({"agent_id": "agent.7"})),
        (
            "ms, one agent, one server, one result, one type, a period",
            "query_audit_log",
            json!({
                "agent_id": "agent.7", "server_id": "server.3", "result": "BLOCKED",
                "event_type": "TOOL_BLOCKED", "since": middle,
            }),
        ),
        ("ms, a rare agent", "query_audit_log", json!({"agent_id": "agent.rare"})),
        (
            "ms, two things that are frequent and never together",
            "query_audit_log",
            json!({"event_type": "TOOL_EXECUTED", "result": "BLOCKED"}),
        ),
        ("ms, a trace", "query_audit_log", json!({"trace_id": trace(events / 3)})),
        ("ms, statistics of all by type", "get_audit_stats", json!({})),
        ("ms, statistics of all by hour", "get_audit_stats", json!({"group_by": "hour"})),
        (
            "ms, statistics of a part by agent",
            "get_audit_stats",
            json!({"group_by": "agent_id", "since": timestamp(events / 3), "until": middle}),
        ),
        ("ms, a page of an export", "export_audit", json!({"format": "csv", "since": middle})),
    ]
}

/// Tells the service of all events. Returns how many it stores a second.
fn store_all(session: &mut Session, events: u64) -> Result<f64> {
    let began = Instant::now();
    let mut lines = String::new();
    for number in 0..events {
        write_event(&mut lines, number)?;
        if number % 1_000 == 999 || number + 1 == events {
            session.write(&lines)?;
            lines.clear();
        }
    }
    loop {
        let stats = ask(session, "get_audit_stats", &json!({}))?;
        if stats["total_events"] == events {
            break;
        }
        ensure!(began.elapsed() < LONGEST, "only {} events are stored", stats["total_events"]);
        std::thread::sleep(Duration::from_millis(100));
    }
    #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

/// Writes an event as a kernel does: those of a month, of twenty agents and twelve servers.
fn write_event(lines: &mut String, number: u64) -> Result<()> {
    let agent = match number {
        _ if number % 100_000 == 77 => "rare".to_owned(),
        _ => (number % 20).to_string(),
    };
    let (kind, result) = match number % 100 {
        0..4 => ("TOOL_BLOCKED", "BLOCKED"),
        4..7 => ("TOOL_EXECUTED", "FAILURE"),
        7 => ("PERMISSION_GRANTED", "SUCCESS"),
        _ => ("TOOL_EXECUTED", "SUCCESS"),
    };
    writeln!(
        lines,
        concat!(
            r#"{{"jsonrpc":"2.0","method":"notifications/mgp.audit","params":{{"timestamp":"{}","trace_id":"{}","#,
            r#""event_type":"{}","actor":{{"type":"agent","id":"agent.{}"}},"#,
            r#""target":{{"server_id":"server.{}","tool_name":"tool_{}"}},"result":"{}","#,
            r#""details":{{"risk_level":"moderate","duration_ms":{},"arguments_digest":"{:064x}"}},"_mgp":{{"seq":{}}}}}}}"#
        ),
        timestamp(number),
        trace(number),
        kind,
        agent,
        number / 7 % 12,
        number % 40,
        result,
        number % 900,
        number,
        number + 1,
    )?;
    Ok(())
}

/// The time of an event: one in each 2.592 s, a million in a month.
fn timestamp(number: u64) -> String {
    let millis = number * 2_592;
    let (day, rest) = (1 + millis / 86_400_000, millis % 86_400_000);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("2026-03-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1_000)
}

fn trace(number: u64) -> String {
    // Spread, as random ids are.
    let high = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{:08x}-{:04x}-4000-8000-{number:012x}", high >> 32, high >> 16 & 0xffff)
}

/// The median time of a question, in milliseconds, once it was asked before.
fn median_ms(session: &mut Session, tool: &str, arguments: &Value) -> Result<f64> {
    ask(session, tool, arguments)?;
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let began = Instant::now();
        ask(session, tool, arguments)?;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[TIMES / 2])
}

fn ask(session: &mut Session, tool: &str, arguments: &Value) -> Result<Value> {
    let line = session.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
    let answer: Value = serde_json::from_str(&line)?;
    ensure!(answer["result"]["isError"] != true, "{tool} answers {line}");
    answer["result"].get("structuredContent").cloned().with_context(|| format!("{tool} answers {line}"))
}

const TIMES: usize = 21;
const LONGEST: Duration = Duration::from_mins(30);
