//! Keys of calls over HTTP, and a kernel that is killed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::{Kernel, Talk};

/// A server that knows nothing of keys and counts its payments. A payment takes as long as there is a file `hold` beside it.
const BANK: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bank","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"pay","description":"Notes an amount.","inputSchema":{"type":"object","properties":{"note":{"type":"string"}}}}]}' ;;
    *'"method":"tools/call"'*)
      echo "$line" >> "$0.calls"
      while [ -e "$0.hold" ]; do sleep 0.05; done
      result='{"content":[{"type":"text","text":"payment '$(wc -l < "$0.calls" | tr -d ' ')'"}]}' ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A home with the server, where the kernel takes care of effects.
fn with_bank() -> Home {
    let home = Home::with_state();
    home.write("bank.sh", BANK);
    let script = home.path("bank.sh").display().to_string();
    let config = format!(
        "{}\n[effects]\nenabled = true\n[confirmation]\ndangerous = false\n[listen]\nagent = \"ada\"\n\
         [permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n\
         [[servers]]\nid = \"bank\"\ncommand = \"sh\"\nargs = [{script:?}]\n",
        home.read("mgp.toml")
    );
    home.write("mgp.toml", &config);
    home
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
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = Talk::open(&mut kernel);
    let first = talk.ask("tools/call", &pay("done"));
    assert_eq!(first["result"]["content"][0]["text"], "payment 1", "{first}");
    assert_eq!(first["result"]["_meta"]["was_replay"], false, "{first}");
    home.write("bank.sh.hold", "");
    talk.tell("tools/call", &pay("begun"));
    let end = Instant::now() + Duration::from_mins(1);
    while calls(&home).len() < 2 {
        assert!(Instant::now() < end, "the second payment does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    kernel.child.kill().unwrap();
    kernel.child.wait().unwrap();
    std::fs::remove_file(home.path("bank.sh.hold")).unwrap();

    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = Talk::open(&mut kernel);
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

/// Calls the tool with these lines in the head of the request and these members in `_meta`, and returns the answer.
fn post(port: u16, head: &str, further: &Value) -> String {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (name, value) in further.as_object().unwrap() {
        meta[name] = value.clone();
    }
    let params = json!({"name": "bank__pay", "arguments": {"note": "5"}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: bank__pay\r\n{head}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

// covers: EXT-05-01, EXT-05-02, EXT-05-07
#[test]
fn a_key_may_stand_in_the_head_of_an_http_request() {
    let home = with_bank();
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let port = kernel.port();
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
