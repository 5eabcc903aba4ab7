//! Keys of calls over HTTP, and a kernel that is killed.

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, Talk, until};
use crate::shell_servers::shell_server;

/// The tool of a server that knows nothing of keys and counts its payments.
const TOOLS: &str = r#"[{"name":"pay","description":"Notes an amount.","inputSchema":{"type":"object","properties":{"note":{"type":"string"}}}}]"#;

/// A payment, which takes as long as there is a file `hold` beside the server.
const PAY: &str = r#"echo "$line" >> "$0.calls"
      while [ -e "$0.hold" ]; do sleep 0.05; done
      result='{"content":[{"type":"text","text":"payment '$(wc -l < "$0.calls" | tr -d ' ')'"}]}'"#;

/// A home with the server, where the kernel takes care of effects.
fn with_bank() -> Home {
    let settings = "[effects]\nenabled = true\n[confirmation]\ndangerous = false\n\
         [permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n";
    Home::with_script("bank", &shell_server(TOOLS, PAY), settings, "")
}

fn calls(home: &Home) -> Vec<String> {
    let calls = std::fs::read_to_string(home.path("bank.sh.calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

fn pay(key: &str) -> Value {
    json!({"name": "bank__pay", "arguments": {"note": "5"}, "_meta": {"idempotency_key": key}})
}

// covers: EXT-05-05
#[test]
fn a_key_outlives_a_kernel_that_is_killed_and_a_call_that_nobody_knows_the_end_of_is_not_made_again() {
    let home = with_bank();
    let (mut kernel, mut talk) = Talk::begin(&home);
    let first = talk.ask("tools/call", &pay("done"));
    assert_eq!(first["result"]["content"][0]["text"], "payment 1", "{first}");
    assert_eq!(first["result"]["_meta"]["was_replay"], false, "{first}");
    home.write("bank.sh.hold", "");
    talk.tell("tools/call", &pay("begun"));
    until("the second payment begins", || calls(&home).len() >= 2);
    kernel.child.kill().unwrap();
    kernel.child.wait().unwrap();
    std::fs::remove_file(home.path("bank.sh.hold")).unwrap();

    let (_kernel, mut talk) = Talk::begin(&home);
    let again = talk.ask("tools/call", &pay("done"));
    assert_eq!(again["result"]["_meta"]["was_replay"], true, "{again}");
    for member in ["idempotency_key", "original_timestamp"] {
        assert_eq!(again["result"]["_meta"][member], first["result"]["_meta"][member], "{again}");
    }
    assert_eq!(again["result"]["content"], first["result"]["content"]);
    let unknown = talk.ask("tools/call", &pay("begun")).to_string();
    assert!(unknown.contains("nobody knows how it ended"), "{unknown}");
    assert_eq!(calls(&home).len(), 2);
    let fresh = talk.ask("tools/call", &pay("fresh"));
    assert_eq!(fresh["result"]["content"][0]["text"], "payment 3", "{fresh}");
}

/// Pays over HTTP, with this in the head and in the metadata of the request.
fn post(port: u16, head: &str, meta: &Value) -> String {
    let params = json!({"name": "bank__pay", "arguments": {"note": "5"}, "_meta": meta});
    http::ask(port, head, &json!({}), "tools/call", params).body
}

// covers: EXT-05-07
#[test]
fn a_key_may_stand_in_the_head_of_an_http_request() {
    let home = with_bank();
    let (_kernel, port) = Kernel::on_http(&home);
    let header = "X-Idempotency-Key: order-7\r\n";
    let first = post(port, header, &json!({}));
    assert!(first.contains(r#""was_replay":false"#) && first.contains("payment 1"), "{first}");
    let again = post(port, header, &json!({"idempotency_key": "order-7"}));
    assert!(again.contains(r#""was_replay":true"#) && again.contains("payment 1"), "{again}");
    let differs = post(port, header, &json!({"idempotency_key": "order-8"}));
    assert!(differs.contains("differ"), "{differs}");
    let wrong = post(port, "X-Idempotency-Key: order/7\r\n", &json!({}));
    assert!(wrong.contains("1 to 128 letters"), "{wrong}");
    assert_eq!(calls(&home).len(), 1);
    assert!(!calls(&home)[0].contains("order-7"), "the server is told nothing of the key");
}
