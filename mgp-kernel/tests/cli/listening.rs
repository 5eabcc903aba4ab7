use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::time::Duration;

use serde_json::json;

use crate::home::Home;
use crate::kernel::{Kernel, Talk};

/// A user whose configuration names an address.
fn with_address() -> Home {
    let home = Home::with_state();
    let config = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{config}\n[listen]\nhttp = \"127.0.0.1:0\"\n"));
    home
}

#[test]
fn an_address_in_the_file_stands_beside_standard_input_and_output() {
    let home = with_address();
    let (mut kernel, mut talk) = Talk::begin(&home);
    assert!(talk.ask("tools/list", &json!({}))["result"]["tools"].is_array());
    assert!(home.read("stderr").contains("listening at http://127.0.0.1:"), "{}", home.read("stderr"));
    // Whoever started it wanted it for as long as it talks to it.
    drop(talk);
    assert_eq!(kernel.ended(), Some(0));
}

#[test]
fn an_address_on_the_command_line_stands_alone() {
    for arguments in [&["--http", "127.0.0.1:0"][..], &["--no-stdio"]] {
        let home = with_address();
        let mut kernel = Kernel::start(&home, arguments);
        drop(kernel.child.stdin.take());
        std::thread::sleep(Duration::from_millis(500));
        assert!(kernel.child.try_wait().unwrap().is_none(), "{arguments:?}: {}", home.read("stderr"));
    }
    let home = with_address();
    let mut kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--stdio"]);
    drop(Talk::open(&mut kernel));
    std::thread::sleep(Duration::from_millis(500));
    assert!(kernel.child.try_wait().unwrap().is_none(), "HTTP was asked for");
}

#[test]
fn a_kernel_is_found_whatever_the_environment_of_whoever_started_it() {
    let home = Home::new();
    fs::DirBuilder::new().mode(0o700).create(home.path("run")).unwrap();
    // As clients start it, with little more than HOME.
    let mut kernel = Kernel::spawn(&home, &[]);
    let _talk = Talk::open(&mut kernel);
    // As a terminal looks for it.
    let mut command = home.command(["logs", "nobody"]);
    let ran = command.env("XDG_RUNTIME_DIR", home.path("run")).output().unwrap();
    let error_text = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{error_text}");
    assert!(error_text.contains("there is no server `nobody`"), "{error_text}");
}

#[test]
fn a_kernel_whose_state_lies_deep_is_found_too() {
    let home = Home::new();
    let state = home.path(&"deep/".repeat(20));
    let state = state.to_str().unwrap();
    let mut kernel = Kernel::spawn(&home, &["--state", state]);
    let _talk = Talk::open(&mut kernel);
    assert_eq!(home.run(["--state", state, "logs", "nobody"]).code, Some(1));
}
