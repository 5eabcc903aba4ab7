//! `mgp demo`, as people and programs run it.

#![cfg(unix)]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs `mgp`, which looks for other programs in the folder `path`.
fn mgp(arguments: &[&str], path: &str) -> Output {
    let mut mgp = Command::new(env!("CARGO_BIN_EXE_mgp"));
    mgp.args(arguments).env("PATH", path).output().expect("cargo built the program")
}

#[test]
fn the_demo_ends_with_a_verified_record() {
    // As in a container without other programs.
    let output = mgp(&["demo", "--json"], "/nowhere");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let steps: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(steps.len(), 9);
    assert!(steps.iter().all(|step| step["ok"] == true));
    let facts = |step: usize| &steps[step]["facts"];
    assert!(facts(1)["tokens_listed"].as_u64() < facts(1)["tokens_of_all_tools"].as_u64());
    assert_eq!(facts(7)["restarts"], 1);
    assert!(facts(8)["events"].as_u64().unwrap() > 20);
    assert_eq!(facts(8)["head"].as_str().unwrap().len(), 64);
}

#[test]
fn no_server_of_the_demo_has_another_name() {
    let output = mgp(&["demo-server", "nobody"], "/nowhere");
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no server `nobody`"));
}
