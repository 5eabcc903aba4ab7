use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_client_sdk::{Client, PlainStack};
use mgp_transport::Wire;
use mgp_types::mgp::{Extension, Offer, Timestamp, method};
use mgp_types::{Object, Params};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::retention::Retention;
use super::writer::EventWriter;
use super::{open, server};

/// An audit service, and a client that tells it of events.
struct Fixture {
    client: Client<PlainStack<Wire>>,
    writer: EventWriter,
    folder: TempDir,
}

impl Fixture {
    async fn new(retention: Retention) -> Self {
        Self::open(tempfile::tempdir().unwrap(), retention).await
    }

    async fn open(folder: TempDir, retention: Retention) -> Self {
        let (service, writer) = open(&store_in(folder.path()), retention).unwrap();
        let builder = Client::builder("kernel", "1.0.0").mgp(Offer::new(Extension::Audit)).caching(false);
        let client = builder.in_process(server(service).accept().unwrap()).await.unwrap();
        Self { client, writer, folder }
    }

    async fn tell(&self, event: &Value) {
        let params = Params::from(Object::from_value(event).unwrap());
        self.client.notify(method::AUDIT, params).await.unwrap();
    }

    /// Returns what a tool says.
    async fn ask(&self, tool: &str, arguments: Value) -> Value {
        let result = self.client.call_tool(tool, arguments).await.unwrap();
        assert!(!result.is_error(), "{result:?}");
        result.structured_content.unwrap().to().unwrap()
    }

    /// Returns the numbers of the events that a query finds.
    async fn found(&self, arguments: Value) -> Vec<u64> {
        numbers(&self.ask("query_audit_log", arguments).await["events"])
    }

    /// Ends the service, and returns the folder of its store.
    async fn end(self) -> TempDir {
        self.client.close().await.unwrap();
        self.writer.end();
        self.folder
    }
}

fn store_in(folder: &Path) -> PathBuf {
    folder.join("events.db")
}

fn numbers(events: &Value) -> Vec<u64> {
    events.as_array().unwrap().iter().map(|event| event["_mgp"]["seq"].as_u64().unwrap()).collect()
}

/// The event with this number; each is a minute after the one before.
fn event(seq: u64) -> Value {
    let time = Timestamp::from_millis(1_772_193_600_000).unwrap();
    let time = time.saturating_add(Duration::from_mins(seq));
    json!({
        "timestamp": time, "trace_id": format!("00000000-0000-4000-8000-{seq:012}"),
        "event_type": "TOOL_EXECUTED", "actor": {"type": "agent", "id": "agent.one"},
        "target": {"server_id": "files", "tool_name": "read"}, "result": "SUCCESS",
        "details": {"duration_ms": 3}, "_mgp": {"seq": seq},
    })
}

/// An event that differs from [`event`] in these members.
fn event_with(seq: u64, members: &Value) -> Value {
    let mut event = event(seq);
    for (pointer, value) in members.as_object().unwrap() {
        *event.pointer_mut(pointer).unwrap() = value.clone();
    }
    event
}

// covers: P-4-01
#[tokio::test]
async fn an_event_that_a_kernel_tells_is_found_as_it_was_told() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    let agreed = fixture.client.session().unwrap();
    assert!(agreed.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Audit)));
    fixture.tell(&event(1)).await;
    fixture.tell(&json!({"event_type": "TOOL_EXECUTED"})).await;
    let found = fixture.ask("query_audit_log", json!({})).await;
    assert_eq!(found, json!({"events": [event(1)]}));
}

// covers: P-4-02, P-4-03
#[tokio::test]
async fn each_parameter_of_a_query_narrows_it_and_all_do_together() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    fixture.tell(&event(1)).await;
    fixture.tell(&event_with(2, &json!({"/event_type": "TOOL_BLOCKED", "/result": "BLOCKED"}))).await;
    fixture.tell(&event_with(3, &json!({"/actor/id": "agent.two"}))).await;
    fixture.tell(&event_with(4, &json!({"/target/server_id": "mail", "/result": "FAILURE"}))).await;
    fixture.tell(&event_with(5, &json!({"/actor/type": "operator"}))).await;
    let (second, fourth) = (event(2)["timestamp"].clone(), event(4)["timestamp"].clone());
    for (arguments, found) in [
        (json!({}), vec![5, 4, 3, 2, 1]),
        (json!({"event_type": "TOOL_BLOCKED"}), vec![2]),
        (json!({"agent_id": "agent.one"}), vec![4, 2, 1]),
        (json!({"server_id": "mail"}), vec![4]),
        (json!({"result": "SUCCESS"}), vec![5, 3, 1]),
        (json!({"since": second}), vec![5, 4, 3, 2]),
        (json!({"until": fourth}), vec![3, 2, 1]),
        (json!({"trace_id": event(3)["trace_id"]}), vec![3]),
        (json!({"trace_id": event(3)["trace_id"], "result": "BLOCKED"}), vec![]),
        (json!({"agent_id": "agent.one", "result": "SUCCESS", "since": second}), vec![]),
        (json!({"agent_id": "agent.one", "since": second, "until": fourth}), vec![2]),
    ] {
        assert_eq!(fixture.found(arguments.clone()).await, found, "{arguments}");
    }
}

// covers: P-4-04
#[tokio::test]
async fn a_query_returns_fifty_events_and_a_cursor_for_the_others() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    // More than one block of the index.
    let all = 2_500;
    for seq in 1..=all {
        fixture.tell(&event(seq)).await;
    }
    let first = fixture.ask("query_audit_log", json!({})).await;
    assert_eq!(numbers(&first["events"]), (all - 49..=all).rev().collect::<Vec<_>>());
    let mut seen = numbers(&first["events"]);
    let mut cursor = first["next_cursor"].clone();
    while !cursor.is_null() {
        let page = fixture.ask("query_audit_log", json!({"limit": 777, "cursor": cursor})).await;
        seen.extend(numbers(&page["events"]));
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(seen, (1..=all).rev().collect::<Vec<_>>());
}

// covers: P-4-05
#[tokio::test]
async fn a_parameter_that_nobody_knows_and_a_word_that_is_none_are_refused() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    for (tool, arguments) in [
        ("query_audit_log", json!({"agent": "agent.one"})),
        ("query_audit_log", json!({"result": "MAYBE"})),
        ("query_audit_log", json!({"limit": 1001})),
        ("query_audit_log", json!({"limit": 0})),
        ("query_audit_log", json!({"since": "yesterday"})),
        ("get_audit_stats", json!({"group_by": "tool"})),
        ("export_audit", json!({})),
        ("export_audit", json!({"format": "xml"})),
    ] {
        let result = fixture.client.call_tool(tool, arguments.clone()).await.unwrap();
        assert!(result.is_error(), "{tool} {arguments}: {result:?}");
    }
}

// covers: P-4-06, P-4-07
#[tokio::test]
async fn events_are_counted_by_each_property_in_whole_hours_and_parts_of_them() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    // Three hours from noon on.
    for seq in 0..180 {
        let agent = if seq % 3 == 0 { "agent.two" } else { "agent.one" };
        let result = if seq >= 170 { "FAILURE" } else { "SUCCESS" };
        fixture.tell(&event_with(seq, &json!({"/actor/id": agent, "/result": result}))).await;
    }
    fixture.tell(&event_with(180, &json!({"/actor/type": "kernel", "/target/server_id": null}))).await;
    let stats = async |arguments: Value| fixture.ask("get_audit_stats", arguments).await;
    let all = stats(json!({})).await;
    assert_eq!(
        all,
        json!({
            "period": {"since": null, "until": null}, "total_events": 181, "breakdown": {"TOOL_EXECUTED": 181},
        })
    );
    for (group_by, breakdown) in [
        ("event_type", json!({"TOOL_EXECUTED": 181})),
        ("agent_id", json!({"agent.one": 120, "agent.two": 60})),
        ("server_id", json!({"files": 180})),
        ("result", json!({"SUCCESS": 171, "FAILURE": 10})),
        (
            "hour",
            json!({
                "2026-02-27T12:00:00.000Z": 60, "2026-02-27T13:00:00.000Z": 60,
                "2026-02-27T14:00:00.000Z": 60, "2026-02-27T15:00:00.000Z": 1,
            }),
        ),
    ] {
        let answer = stats(json!({"group_by": group_by})).await;
        assert_eq!((&answer["breakdown"], &answer["total_events"]), (&breakdown, &json!(181)), "{group_by}");
    }
    // The end is not part of the period.
    let (since, until) = (event(30)["timestamp"].clone(), event(175)["timestamp"].clone());
    let part = stats(json!({"since": since, "until": until, "group_by": "result"})).await;
    assert_eq!(part["period"], json!({"since": since, "until": until}));
    assert_eq!(part["breakdown"], json!({"SUCCESS": 140, "FAILURE": 5}));
    let hours = stats(json!({"since": since, "until": until, "group_by": "hour"})).await;
    assert_eq!(
        hours["breakdown"],
        json!({
            "2026-02-27T12:00:00.000Z": 30, "2026-02-27T13:00:00.000Z": 60, "2026-02-27T14:00:00.000Z": 55,
        })
    );
    let within_one = stats(json!({"since": event(61)["timestamp"], "until": event(64)["timestamp"]})).await;
    assert_eq!(within_one["total_events"], 3);
}

// covers: P-4-08, P-4-09
#[tokio::test]
async fn an_export_goes_on_where_its_page_ended_in_each_format() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    let all = 2_300;
    for seq in 1..=all {
        let kind = if seq % 2 == 0 { "TOOL_BLOCKED" } else { "TOOL_EXECUTED" };
        fixture.tell(&event_with(seq, &json!({"/event_type": kind}))).await;
    }
    for format in ["json", "csv", "jsonl"] {
        let (mut cursor, mut data, mut events, mut pages) = (Value::Null, Vec::new(), 0, 0);
        loop {
            let mut arguments = json!({"format": format});
            if !cursor.is_null() {
                arguments["cursor"] = cursor;
            }
            let page = fixture.ask("export_audit", arguments).await;
            assert_eq!(page["format"], format);
            data.push(page["data"].as_str().unwrap().to_owned());
            events += page["events"].as_u64().unwrap();
            pages += 1;
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!((events, pages), (all, 3), "{format}");
        let seen: Vec<u64> = match format {
            "json" => data.iter().flat_map(|page| numbers(&serde_json::from_str(page).unwrap())).collect(),
            "jsonl" => {
                let lines = data.concat();
                lines
                    .lines()
                    .map(|line| serde_json::from_str::<Value>(line).unwrap())
                    .map(|event| event["_mgp"]["seq"].as_u64().unwrap())
                    .collect()
            }
            _ => {
                let table = data.concat();
                let rows = table.lines().skip(1);
                rows.map(|row| row.rsplit('"').nth(1).unwrap().parse().unwrap()).collect()
            }
        };
        assert_eq!(seen, (1..=all).collect::<Vec<_>>(), "{format}");
    }
    let some = json!({"format": "jsonl", "event_types": ["TOOL_BLOCKED"], "until": event(6)["timestamp"]});
    assert_eq!(fixture.ask("export_audit", some).await["events"], 2);
}

// covers: P-4-14
#[tokio::test]
async fn a_table_has_no_formulas_and_no_cells_that_end_early() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    for (seq, id) in [(1, r#"=HYPERLINK("http://a")"#), (2, r#"a",=1"#), (3, "@SUM(A1)")] {
        fixture.tell(&event_with(seq, &json!({"/actor/id": id}))).await;
    }
    let table = fixture.ask("export_audit", json!({"format": "csv"})).await["data"].clone();
    let table = table.as_str().unwrap();
    for cell in [r#","'=HYPERLINK(""http://a"")","#, r#","a"",=1","#, r#","'@SUM(A1)","#] {
        assert!(table.contains(cell), "{cell}: {table}");
    }
}

// covers: P-4-15
#[tokio::test]
async fn an_event_that_comes_twice_is_stored_once_and_one_without_a_number_each_time() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    for sent in [event(1), event(2), event(1), event(2)] {
        fixture.tell(&sent).await;
    }
    // Another record begins with the same number.
    fixture.tell(&event_with(1, &json!({"/timestamp": event(9)["timestamp"]}))).await;
    assert_eq!(fixture.found(json!({})).await, [1, 2, 1]);
    let mut without = event(3);
    without.as_object_mut().unwrap().remove("_mgp");
    fixture.tell(&without).await;
    fixture.tell(&without).await;
    let stats = fixture.ask("get_audit_stats", json!({})).await;
    assert_eq!(stats["total_events"], 5);
}

// covers: P-4-16
#[tokio::test]
async fn what_was_told_before_the_end_is_there_after_it() {
    let fixture = Fixture::new(Retention::KeepAll).await;
    for seq in 1..=100 {
        fixture.tell(&event(seq)).await;
    }
    // Notifications are taken in order, so that an answer tells that all before it were.
    fixture.client.ping().await.unwrap();
    let folder = fixture.end().await;
    let again = Fixture::open(folder, Retention::KeepAll).await;
    let found = again.found(json!({"limit": 1000})).await;
    assert_eq!(found, (1..=100).rev().collect::<Vec<_>>());
    let error = open(&store_in(again.folder.path()), Retention::KeepAll).unwrap_err();
    assert!(format!("{error:#}").contains("another mgp has the store open"), "{error:#}");
}

/// Waits until the events of a query are these.
async fn until_found(fixture: &Fixture, found: &[u64]) {
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let now = fixture.found(json!({"limit": 1000})).await;
        if now == found {
            return;
        }
        assert!(tokio::time::Instant::now() < end, "{now:?} are found, not {found:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// An event that is `days` old.
fn aged(seq: u64, days: u64) -> Value {
    let millis = Timestamp::now().as_millis() - i64::try_from(days * 86_400_000).unwrap();
    event_with(seq, &json!({"/timestamp": Timestamp::from_millis(millis).unwrap()}))
}

// covers: P-4-10, P-4-11
#[tokio::test]
async fn events_are_kept_for_ever_or_for_days() {
    let kept = Fixture::new(Retention::KeepAll).await;
    let fixture = Fixture::new(Retention::TimeBased(Duration::from_hours(24 * 30))).await;
    for (seq, days) in [(1, 400), (2, 31), (3, 29), (4, 0)] {
        kept.tell(&aged(seq, days)).await;
        fixture.tell(&aged(seq, days)).await;
    }
    until_found(&fixture, &[4, 3]).await;
    assert_eq!(fixture.ask("get_audit_stats", json!({})).await["total_events"], 2);
    assert_eq!(kept.found(json!({})).await, [4, 3, 2, 1]);
}

#[tokio::test]
async fn a_clock_that_is_ahead_empties_no_store() {
    let fixture = Fixture::new(Retention::TimeBased(Duration::from_hours(24))).await;
    // All of them are years old for the clock of the machine.
    fixture.tell(&aged(1, 1_000)).await;
    fixture.tell(&aged(2, 996)).await;
    until_found(&fixture, &[2]).await;
}

// covers: P-4-12
#[tokio::test]
async fn a_store_that_is_too_large_loses_its_oldest_events() {
    let most = 1_u64 << 20;
    let fixture = Fixture::new(Retention::SizeBased(most)).await;
    let all = 4_000;
    for seq in 1..=all {
        fixture.tell(&event_with(seq, &json!({"/details": {"note": "x".repeat(1_000)}}))).await;
    }
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    let left = loop {
        let stats = fixture.ask("get_audit_stats", json!({})).await;
        let left = stats["total_events"].as_u64().unwrap();
        if left < 1_000 {
            break left;
        }
        assert!(tokio::time::Instant::now() < end, "{left} are left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(left > 100, "only {left} are left");
    assert_eq!(fixture.found(json!({"limit": 3})).await, [all, all - 1, all - 2]);
    let folder = fixture.end().await;
    let size = std::fs::metadata(store_in(folder.path())).unwrap().len();
    assert!(size < 8 * most, "the file has {size} bytes");
}

// covers: P-4-13
#[tokio::test]
async fn old_events_are_moved_to_the_files_of_their_months() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("events.archive");
    let retention = Retention::Tiered(Duration::from_hours(24 * 30), archive.clone());
    let fixture = Fixture::open(folder, retention).await;
    let old = [event(1), event(2)];
    for sent in old.iter().chain([&aged(3, 1)]) {
        fixture.tell(sent).await;
    }
    until_found(&fixture, &[3]).await;
    let lines = std::fs::read_to_string(archive.join("2026-02.jsonl")).unwrap();
    let archived: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(archived, old);
}
