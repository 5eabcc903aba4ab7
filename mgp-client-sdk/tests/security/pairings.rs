//! The four pairings of clients and servers with and without MGP, with all layers between them.

use mgp_types::Revision;
use mgp_types::mgp::{ExtensionSet, Offer, Permission};
use serde_json::{Value, json};

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup};
use crate::upstream::{self, Reached};

/// Returns the stack between a client that offers MGP or not, and a server that does or not.
async fn pairing(reached: &Reached, revision: Revision, at_client: bool, at_server: bool) -> Kernel {
    let offer = at_client.then(|| Offer::new(ExtensionSet::standard()));
    let setup = Setup { offer, ..Setup::default() };
    let server = if at_server { upstream::mgp(reached) } else { upstream::plain(reached) };
    let kernel = Kernel::before(server.accept().unwrap(), revision, setup).await;
    kernel.permit(Permission::ShellExecute).await;
    kernel
}

/// Returns the content of a request, without the client's description of itself.
fn said(mut params: Value) -> String {
    if let Some(meta) = params.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove("io.modelcontextprotocol/clientCapabilities");
    }
    params.to_string()
}

// covers: MGP-1.3-02..04
#[tokio::test]
async fn members_of_mgp_reach_a_server_only_where_both_sides_speak_it() {
    for revision in ERAS {
        for (at_client, at_server) in [(false, false), (false, true), (true, false), (true, true)] {
            let reached = Reached::default();
            let kernel = pairing(&reached, revision, at_client, at_server).await;
            let mut client = Raw::open(&kernel, AGENT, revision, true).await;
            client.call("tools/list", "{}").await;
            for (tool, arguments) in [
                ("echo", json!({"text": "x"})),
                ("run", json!({"command": "ls"})),
                ("fetch", json!({"url": ""})),
            ] {
                // A trace of its own, and grants that it makes up, like a client of a gateway that speaks MGP.
                let params = json!({
                    "name": tool,
                    "arguments": arguments,
                    "trace_id": "550e8400-e29b-41d4-a716-446655440000",
                    "_mgp": {"trace_id": "550e8400-e29b-41d4-a716-446655440000"},
                });
                let answer = client.call("tools/call", &params.to_string()).await;
                assert!(answer.get("result").is_some(), "{at_client} {at_server} {tool}: {answer}");
            }
            let requests = reached.take();
            assert!(requests.iter().filter(|(method, _)| method == "tools/call").count() == 3);
            // How the connection begins is for both to say.
            for (method, params) in requests.into_iter().filter(|(method, _)| method != "server/discover") {
                let said = said(params.clone());
                if at_client && at_server {
                    let own = method.starts_with("mgp/") || params["trace_id"].is_string();
                    assert!(
                        own || method == "tools/list" || !method.starts_with("tools"),
                        "{method}: {said}"
                    );
                    let attached = params["_meta"]["dev.cloto/mgp/grants"].is_object();
                    assert_eq!(attached, revision.is_stateless() && method == "tools/call", "{said}");
                    continue;
                }
                assert!(!method.starts_with("mgp/"), "{method}");
                for word in ["mgp", "trace_id", "grants"] {
                    assert!(!said.contains(word), "{at_client} {at_server} {method}: {said}");
                }
            }
            if !at_client {
                assert!(!kernel.sent.text().contains("mgp"), "{}", kernel.sent.text());
            }
        }
    }
}

/// What a server without MGP does not say of its tools is taken from their definitions (§8.2).
// covers: MGP-1.2-04, MGP-1.3-03
#[tokio::test]
async fn the_tools_of_a_plain_server_are_checked_all_the_same() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = pairing(&reached, revision, true, false).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for (tool, arguments, code) in [
            ("run", json!({"command": "rm -rf /"}), 1010),
            ("fetch", json!({"url": "http://169.254.169.254/latest/meta-data"}), 1010),
            ("evaluate", json!({"code": "import subprocess\nsubprocess.run(['id'])"}), 1011),
            ("echo", json!({"text": 7}), 4000),
            ("secret", json!({"text": "x"}), 1001),
        ] {
            let answer = client.tool(tool, arguments).await;
            assert_eq!(answer["error"]["code"], code, "{tool}: {answer}");
        }
        assert!(reached.tools().is_empty());
    }
}

// covers: MGP-6.5-01
#[tokio::test]
async fn one_trace_leads_from_the_client_through_the_log_to_the_server() {
    const TRACE: &str = "550e8400-e29b-41d4-a716-446655440000";
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = pairing(&reached, revision, true, true).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let before = kernel.events().len();
        let params = json!({"name": "echo", "arguments": {"text": "x"}, "trace_id": TRACE});
        client.call("tools/call", &params.to_string()).await;
        let params = json!({"name": "secret", "arguments": {"text": "x"}, "trace_id": TRACE});
        client.call("tools/call", &params.to_string()).await;
        let events = &kernel.events()[before..];
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|event| event.trace_id.to_string() == TRACE));
        let sent = reached.take().into_iter().rfind(|(method, _)| method == "tools/call").unwrap().1;
        assert_eq!(sent["trace_id"], TRACE);
    }
}
