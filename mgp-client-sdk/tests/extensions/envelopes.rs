//! Results in envelopes, as the client reads them.

use mgp_client_sdk::types::ext::{ErrorType, ExtensionId, ResultStatus, ToolResult};
use mgp_client_sdk::{Error, Revision};
use mgp_server_sdk::{Object, Server, Tool, ToolError};
use mgp_types::Origin;
use serde_json::{Value, json};

use crate::peer::{ERAS, Peer, builder};
use crate::servers::{MODES, connect, declaring};

/// Calls a tool of a server that answers with this envelope.
async fn read_in(era: Revision, version: &str, envelope: Value) -> Result<ToolResult, Error> {
    let meta = json!({ ExtensionId::Envelopes.id(): {"version": version} });
    let result = json!({
        "resultType": "complete", "content": [], "structuredContent": envelope, "_meta": meta,
    });
    let (peer, client) = Peer::connect(era, builder(), move |_, _| result.clone()).await;
    let outcome = client.call_tool("sync", ()).in_envelope().await;
    let asked = &peer.params("tools/call")[0]["_meta"][ExtensionId::Envelopes.id()];
    assert_eq!(*asked, json!({"envelope": true, "version": "1.0.0"}));
    outcome
}

async fn read(envelope: Value) -> Result<ToolResult, Error> {
    read_in(Revision::LATEST, "1.0.0", envelope).await
}

// covers: ENV-3.2-05, ENV-3.2-09, ENV-3.2-10, ENV-3.2-13, ENV-8.2-02
#[tokio::test]
async fn a_result_says_in_a_word_what_became_of_the_call() {
    let least = read(json!({"status": "success"})).await.unwrap();
    assert_eq!((least.status(), least.data(), least.error()), (ResultStatus::Success, None, None));
    let nulls = json!({"status": "success", "data": {"n": 1}, "error": null, "explanation": null});
    let nulls = read(nulls).await.unwrap();
    assert_eq!((nulls.error(), nulls.explanation()), (None, None));
    assert_eq!(nulls.to_raw().as_bytes(), br#"{"status":"success","data":{"n":1}}"#, "null is not written");
    let same = json!({"status": "no_change_needed", "data": {"n": 1}, "explanation": "it was so already"});
    let same = read(same).await.unwrap();
    assert_eq!((same.status(), same.error()), (ResultStatus::NoChangeNeeded, None));
    assert_eq!(same.explanation(), Some("it was so already"));
    let error = json!({"error_type": "TimeoutError", "error_message": "two of three were copied"});
    let part = json!({"status": "partial_success", "data": {"copied": 2}, "error": error});
    let part = read(part).await.unwrap();
    assert_eq!(part.status(), ResultStatus::PartialSuccess);
    assert_eq!(part.data().unwrap().get("copied").unwrap().as_bytes(), b"2");
    assert_eq!(part.error().unwrap().error_type, ErrorType::TimeoutError);
}

#[tokio::test]
async fn an_envelope_that_breaks_a_rule_is_an_error_of_the_server() {
    let error = json!({"error_type": "ValidationError", "error_message": "no"});
    for (wrong, member) in [
        (json!({"data": {}}), "status"),
        (json!({"status": "done"}), "status"),
        (json!({"status": "success", "data": [1]}), "data"),
        (json!({"status": "success", "explanation": 7}), "explanation"),
        (json!({"status": "failure", "error": null}), "error"),
        (json!({"status": "failure", "error": error, "data": {}}), "data"),
        (json!([]), "envelope"),
    ] {
        let fault = read(wrong.clone()).await.unwrap_err();
        assert_eq!(fault.origin(), Origin::Misbehaved, "{wrong}: {fault}");
        assert!(fault.message().contains(member), "{wrong}: {fault}");
    }
}

// covers: ENV-5.3-01
#[tokio::test]
async fn envelopes_of_one_major_version_are_read_and_others_are_refused() {
    for era in ERAS {
        for version in ["1.0.0", "1.4.2"] {
            let result = read_in(era, version, json!({"status": "success"})).await;
            assert_eq!(result.unwrap().status(), ResultStatus::Success, "{version}");
        }
        for version in ["2.0.0", "0.9.0", "x"] {
            let fault = read_in(era, version, json!({"status": "success"})).await.unwrap_err();
            let message = format!("speaks version {version} of envelopes, and this side 1.0.0");
            assert!(fault.message().contains(&message), "{fault}");
        }
    }
}

fn server() -> Server {
    Server::new("calc", "1.0.0")
        .tool(Tool::new("echo", "Returns its arguments."), async |arguments: Object| {
            Ok::<_, ToolError>(mgp_server_sdk::Json(arguments.to_raw().to::<Value>()?))
        })
        .tool(Tool::new("fail", "Fails."), async || Err::<String, _>(ToolError::new("the disk is full")))
}

#[tokio::test]
async fn a_server_without_envelopes_answers_all_the_same() {
    for mode in MODES {
        let plain = connect(server(), declaring(&[]), mode).await;
        let wrapped = connect(server().envelopes(), declaring(&[]), mode).await;
        for client in [plain, wrapped] {
            let done = client.call_tool("echo", json!({"n": 1})).in_envelope().await.unwrap();
            assert_eq!(done.to_raw().as_bytes(), br#"{"status":"success","data":{"n":1}}"#);
            let failed = client.call_tool("fail", ()).in_envelope().await.unwrap();
            assert_eq!((failed.status(), failed.data()), (ResultStatus::Failure, None));
            assert_eq!(&*failed.error().unwrap().error_message, "the disk is full");
        }
    }
}
