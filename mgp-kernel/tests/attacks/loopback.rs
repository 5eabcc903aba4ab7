//! Another user of the same machine is taken for the agent, where no key is required.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;
use crate::runner::tests;

tests![
    another_user_needs_a_key_on_the_loopback_address,
    a_failed_login_is_in_the_record_and_what_it_showed_is_not,
];

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// What the kernel answers to somebody who opens a session, as this user.
fn answer(port: u16, user: Option<u32>, headers: &str) -> String {
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{HELLO}",
        HELLO.len()
    );
    sent(port, user, &request)
}

fn sent(port: u16, user: Option<u32>, request: &str) -> String {
    let script = r#"exec 3<>"/dev/tcp/127.0.0.1/$0"; printf %s "$1" >&3; cat <&3"#;
    let mut command = Command::new("bash");
    command.args(["-c", script, &port.to_string(), request]).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

async fn another_user_needs_a_key_on_the_loopback_address() {
    let home = Home::with_state();
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let port = kernel.port();
    let own = answer(port, None, "");
    assert!(own.starts_with("HTTP/1.1 200"), "{own}");
    let user = Command::new("id").arg("-u").output().unwrap();
    if !cfg!(target_os = "linux") || user.stdout != b"0\n" {
        println!("only root can be another user here, and only Linux tells: the other half is not tested");
        return;
    }
    let other = answer(port, Some(NOBODY), "");
    assert!(other.starts_with("HTTP/1.1 401") && other.contains("mgp keys new"), "{other}");
    let health = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    assert!(sent(port, Some(NOBODY), health).starts_with("HTTP/1.1 200"));
    let key = home.key("agent.other", &[]);
    let with_key = answer(port, Some(NOBODY), &format!("Authorization: Bearer {key}\r\n"));
    assert!(with_key.starts_with("HTTP/1.1 200"), "{with_key}");
}

const NOBODY: u32 = 65_534;

async fn a_failed_login_is_in_the_record_and_what_it_showed_is_not() {
    let home = Home::with_state();
    let (_kernel, port) = Kernel::on_http(&home);
    let key = home.key("agent.other", &[]);
    let (id, secret) = key.strip_prefix("mgp_").unwrap().split_once('_').unwrap();
    let wrong = format!("mgp_{id}_{}", secret.chars().rev().collect::<String>());
    // {"iss":"https://id.example","sub":"ada"}
    let token = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJzdWIiOiJhZGEifQ.SIGNATURE";
    for credential in [&wrong, token] {
        let refused = http::post(port, &format!("Authorization: Bearer {credential}\r\n"), HELLO);
        assert_eq!(refused.status, 401, "{}", refused.head);
    }
    let events = home.json(["audit", "query", "--type", "dev.cloto.mgp.login_failed"]).to_string();
    for part in [id, "\"https://id.example\"", "\"ada\"", "\"/mcp\"", "\"127.0.0.1\"", "401"] {
        assert!(events.contains(part), "{part}: {events}");
    }
    assert!(!events.contains(&wrong[24..]) && !events.contains("SIGNATURE"), "{events}");
}
