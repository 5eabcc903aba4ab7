//! The steps of `docs/patterns/federation.md`, with a second kernel on this machine.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Pattern;
use crate::process::{self, Background};
use crate::walk::home::Home;

pub(super) fn steps(pattern: &mut Pattern) {
    let mut elsewhere = None;
    pattern.step("a kernel elsewhere, with a key for this one", |pattern| {
        let home = pattern.home.beside("federation-elsewhere")?;
        home.run(&["add", "office", "--", "mgp", "demo-server", "office"])?;
        let allowed = ["--allow", "list", "--allow", "read", "--allow", "call:*"];
        let key: Value = home.json(&[&["keys", "new", "agent.lab"][..], &allowed].concat())?;
        home.run(&["access", "grant", "agent.lab", "office"])?;
        let secret = key["secret"].as_str().context("no key is shown")?;
        pattern.home.run_with(&["secrets", "set", "LAB_KEY"], secret)?;
        let kernel = serve(&home)?;
        elsewhere = Some((home, kernel));
        Ok(format!("listens at {PORT}"))
    });
    pattern.step("a tool elsewhere is found", |pattern| {
        let mut found = String::new();
        // Tools are searched a moment after they are listed.
        process::until("the calendar", || {
            found =
                pattern.home.run(&["call", "federation.federated_discover", "query=when is free time"])?;
            Ok(found.contains(r#""tool_name":"find_free_time""#))
        })?;
        ensure!(found.contains(r#""instance":"lab""#), "{found}");
        Ok("as `find_free_time` of `office` at `lab`".into())
    });
    pattern.step("it is called, once a person has said yes", |pattern| {
        let free = called(&pattern.home)?;
        ensure!(free.starts_with("08:00"), "no hours are told: {free}");
        Ok(free.trim().into())
    });
    pattern.step("the record names the instance", |pattern| {
        let events: Value =
            pattern.home.json(&["audit", "query", "--server", "federation", "--result", "success"])?;
        let is_named = |row: &Value| row["event"]["target"]["arguments"]["instance"] == "lab";
        ensure!(events["events"].as_array().is_some_and(|rows| rows.iter().any(is_named)), "{events}");
        Ok("in the target".into())
    });
    pattern.step("a kernel that was killed is called again when it is back", |pattern| {
        let (home, kernel) = elsewhere.take().context("there is no kernel elsewhere")?;
        drop(kernel);
        let call = pattern.home.ended(&mut pattern.home.mgp(&DISCOVER))?;
        ensure!(call.code != Some(0) && format!("{}{}", call.out, call.errors).contains("`lab`"), "{call:?}");
        let kernel = serve(&home)?;
        pattern.home.run(&DISCOVER)?;
        elsewhere = Some((home, kernel));
        Ok("unavailable meanwhile".into())
    });
}

fn serve(home: &Home) -> Result<Background> {
    let address = format!("127.0.0.1:{PORT}");
    let mut command = home.mgp(&["serve", "--http", &address, "--foreground", "--no-stdio"]);
    Background::start(&mut command, PORT, &home.folder().join("log.txt"))
}

/// Calls the tool as the page does, and approves the call where it waits for a person.
fn called(home: &Home) -> Result<String> {
    let arguments = r#"{"instance":"lab","server_id":"office","tool_name":"find_free_time","arguments":{"day":"2026-07-28"}}"#;
    let call = ["call", "federation.federated_call", "--args", arguments];
    let ended = home.ended(&mut home.mgp(&call))?;
    ensure!(ended.code == Some(6), "nobody was asked: {ended:?}");
    let id = ended.word_after("mgp permissions approve ").context("no command is named")?;
    home.run(&["permissions", "approve", &id])?;
    home.run(&call)
}

const DISCOVER: [&str; 3] = ["call", "federation.federated_discover", "query=free time"];

/// The port of the page.
const PORT: u16 = 7440;
