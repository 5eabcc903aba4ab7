//! The steps of `docs/patterns/audit.md`.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Client, Pattern};
use crate::process;

pub(super) fn steps(pattern: &mut Pattern) {
    pattern.step("an event of a call is found", |pattern| {
        let mut client = pattern.client("audit.get_audit_stats")?;
        client.call("audit.get_audit_stats", &json!({}))?;
        let of_this_call = json!({"server_id": "audit", "event_type": "TOOL_EXECUTED", "result": "SUCCESS"});
        let mut found = Value::Null;
        process::until("the event", || {
            found = client.call("audit.query_audit_log", &of_this_call)?["events"].take();
            Ok(found.as_array().is_some_and(|events| {
                events.iter().any(|event| event["target"]["tool_name"] == "get_audit_stats")
            }))
        })?;
        let counted = client.call("audit.get_audit_stats", &json!({"group_by": "server_id"}))?;
        ensure!(counted["breakdown"]["audit"].as_u64() > Some(0), "{counted}");
        Ok(found[0]["timestamp"].as_str().unwrap_or_default().to_owned())
    });
    pattern.step("the commands of the page", |pattern| {
        let commands = pattern.commands();
        for command in &commands {
            pattern.home.run(command)?;
        }
        ensure!(commands.len() == 3, "there are {commands:?}");
        Ok("each ends with 0".into())
    });
    pattern.step("no event is missing after the server and the kernel were started again", |pattern| {
        let before = event_numbers(&mut pattern.client("audit.export_audit")?)?;
        pattern.home.run(&["restart", "audit"])?;
        pattern.home.run(&["stop"])?;
        let mut client = pattern.client("audit.export_audit")?;
        client.call("audit.get_audit_stats", &json!({}))?;
        let mut after = Vec::new();
        // What follows on what was there first has to come, too.
        process::until("what happened meanwhile", || {
            after = event_numbers(&mut client)?;
            Ok(after.len() >= before.len() + 4)
        })?;
        let first = after[0];
        let all: Vec<u64> = (first..).take(after.len()).collect();
        ensure!(after == all, "the kernel's numbers of the events are {after:?}");
        Ok(format!("{} events, then {}", before.len(), after.len()))
    });
    pattern.step("a rule without its number is refused", |pattern| {
        let refused =
            pattern.home.ended(&mut pattern.home.mgp(&["server", "audit", "--retention", "time_based"]))?;
        ensure!(refused.code != Some(0) && refused.errors.contains("--keep-days"), "{refused:?}");
        Ok("--keep-days is named".into())
    });
}

/// The numbers of all events that the service was told, in its order.
fn event_numbers(client: &mut Client) -> Result<Vec<u64>> {
    let mut page = client.call("audit.export_audit", &json!({"format": "jsonl"}))?;
    let mut numbers = Vec::new();
    loop {
        for line in page["data"].as_str().context("there is no data")?.lines() {
            let event: Value = serde_json::from_str(line)?;
            numbers.push(event["_mgp"]["seq"].as_u64().context("an event has no number")?);
        }
        if page["next_cursor"].is_null() {
            return Ok(numbers);
        }
        let next = json!({"format": "jsonl", "cursor": page["next_cursor"]});
        page = client.call("audit.export_audit", &next)?;
    }
}
