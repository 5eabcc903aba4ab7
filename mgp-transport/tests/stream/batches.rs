//! Batches are part of revision 2025-03-26, of both sides of its sessions, and of no other.

use mgp_transport::ConnectionLimits;
use mgp_types::{Method, Params, RawJson, Request, Response};

use crate::support::*;

const BATCH: &str =
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]"#;
const ANSWERED: &str = r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#;

fn initialized(revision: &str) -> String {
    format!(r#"{{"protocolVersion":"{revision}"}}"#)
}

fn is_refused(answer: &str) -> bool {
    answer.contains(r#""code":-32600"#) && answer.contains("batches are not part")
}

#[tokio::test(start_paused = true)]
async fn who_asked_for_the_session_takes_them_too() {
    for revision in ["2025-03-26", "2025-06-18"] {
        let (service, mut requests) = handed();
        let (wire, mut peer) = connected(service, ConnectionLimits::default());
        let opening = start(&wire, Request::call(Method::INITIALIZE, Params::new()));
        let id = peer.asked("initialize").await;
        let initialized = initialized(revision);
        peer.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{initialized}}}"#)).await;
        opening.await.unwrap().unwrap();
        peer.send(BATCH).await;
        if revision == "2025-06-18" {
            assert!(is_refused(&peer.line().await));
            continue;
        }
        requests.next().await.answer("{}");
        assert_eq!(peer.line().await, ANSWERED);
        let call = start(&wire, Request::call("ping", Params::new()));
        let id = peer.asked("ping").await;
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        peer.send(&format!(r#"[{{"jsonrpc":"2.0","method":"notifications/x"}},{reply}]"#)).await;
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_a_while_to_open_has_them_as_well() {
    for later in [false, true] {
        let service = Does(move |request: Request| async move {
            if later {
                tokio::task::yield_now().await;
            }
            let text =
                if request.method == Method::INITIALIZE { initialized("2025-03-26") } else { "{}".into() };
            Ok(Response::plain(RawJson::parse(text).unwrap()))
        });
        let (_wire, mut peer) = connected(service, ConnectionLimits::default());
        peer.send(BATCH).await;
        assert!(is_refused(&peer.line().await));
        peer.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#).await;
        assert!(peer.line().await.contains("2025-03-26"));
        peer.send(BATCH).await;
        assert_eq!(peer.line().await, ANSWERED);
    }
}
