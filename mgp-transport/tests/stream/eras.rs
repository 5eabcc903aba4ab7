//! The answers of a server on one connection in each era.

use mgp_transport::era::{ServerEraGate, ServerIdentity, VersionMismatch};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Gate as _, RawJson, Response, Revision};

use crate::support::*;

fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"peer","version":"1"}}}}}}"#
    )
}

fn identity() -> ServerIdentity {
    ServerIdentity::new(Implementation::new("stub", "1.0.0"))
}

fn offering(extensions: ExtensionSet) -> ServerIdentity {
    let mut identity = identity();
    identity.mgp = Some(Offer::new(extensions));
    identity
}

// covers: BASE-08, BASE-12, BASE-20
#[tokio::test]
async fn a_session_opens_in_every_revision_that_has_sessions() {
    for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_stateless()) {
        let mut peer = Peer::of(&server());
        let answer = peer.round_trip(&initialize(revision.as_str(), "{}")).await;
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"stub","version":"1.0.0"}},"instructions":"be kind"}}}}"#
        );
        assert_eq!(answer, expected);
    }
}

// covers: BASE-21, BASE-22, BASE-29
#[tokio::test]
async fn an_unknown_revision_gets_the_newest_or_a_refusal() {
    for requested in ["1999-01-01", "2026-07-28", "1.0.0"] {
        let mut peer = Peer::of(&server());
        let answer = peer.round_trip(&initialize(requested, "{}")).await;
        assert!(answer.contains(r#""protocolVersion":"2025-11-25""#), "{answer}");
    }
    let mut old = identity().with_revisions([Revision::V2024_11_05]);
    old.mismatch = VersionMismatch::Refuse;
    let mut peer = Peer::of(&server_with(old));
    let answer = peer.round_trip(&initialize("1.0.0", "{}")).await;
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"],"requested":"1.0.0"}}}"#
    );
}

// covers: BASE-30
#[tokio::test]
async fn a_server_without_sessions_names_its_revisions() {
    let mut peer = Peer::of(&server_with(identity().with_revisions([Revision::V2026_07_28])));
    let answer = peer.round_trip(&initialize("2025-11-25", "{}")).await;
    assert!(
        answer.contains(r#""code":-32022"#) && answer.contains(r#""supported":["2026-07-28"]"#),
        "{answer}"
    );
}

// covers: BASE-02, BASE-15
#[tokio::test]
async fn before_the_session_only_ping_is_answered() {
    let mut peer = Peer::of(&server());
    let ping = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    assert_eq!(ping, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let list = peer.round_trip(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert!(list.contains(r#""code":-32600"#) && list.contains("initialize"), "{list}");
}

// covers: BASE-09
#[tokio::test]
async fn initialize_without_its_members_is_refused() {
    for missing in ["protocolVersion", "capabilities", "clientInfo"] {
        let mut peer = Peer::of(&server());
        let line = initialize("2025-11-25", "{}").replace(missing, "other");
        let answer = peer.round_trip(&line).await;
        assert!(answer.contains(r#""code":-32602"#) && answer.contains(missing), "{answer}");
    }
    let mut peer = Peer::of(&server());
    let answer = peer.round_trip(&initialize("2025-11-25", "{}").replace(r#""2025-11-25""#, "1")).await;
    assert!(answer.contains(r#""code":-32602"#), "{answer}");
}

// covers: BASE-25
#[tokio::test]
async fn a_client_without_what_the_server_needs_is_refused() {
    let mut identity = identity();
    identity.required = ["roots", "sampling"].map(Into::into).into();
    let server = server_with(identity);
    let mut peer = Peer::of(&server);
    let refused = peer.round_trip(&initialize("2025-11-25", r#"{"roots":{}}"#)).await;
    assert!(refused.contains(r#""code":-32602"#) && refused.contains("needs: sampling"), "{refused}");
    assert!(refused.contains(r#""data":{"missing_capabilities":["sampling"]}"#), "{refused}");
    // No session was opened, and one can be.
    let list = peer.round_trip(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert!(list.contains(r#""code":-32600"#), "{list}");
    let opened = peer.round_trip(&initialize("2025-11-25", r#"{"roots":{},"sampling":{}}"#)).await;
    assert!(opened.contains("serverInfo"), "{opened}");

    let mut peer = Peer::of(&server);
    let described = peer.round_trip(&stateless(1, "server/discover", "")).await;
    assert!(described.contains("supportedVersions"), "{described}");
    let refused = peer.round_trip(&stateless(2, "tools/list", "")).await;
    assert!(refused.contains(r#""code":-32021"#), "{refused}");
    assert!(refused.contains(r#""data":{"requiredCapabilities":{"roots":{},"sampling":{}}}"#), "{refused}");
}

// covers: BASE-17
#[tokio::test]
async fn initialized_with_an_id_is_not_a_notification() {
    let mut peer = Peer::in_session(&server()).await;
    let answer = peer.round_trip(r#"{"jsonrpc":"2.0","id":5,"method":"notifications/initialized"}"#).await;
    assert!(answer.contains(r#""id":5"#) && answer.contains(r#""error""#), "{answer}");
}

#[tokio::test]
async fn a_session_opens_once() {
    let mut peer = Peer::in_session(&server()).await;
    let again = peer.round_trip(&initialize("2025-11-25", "{}")).await;
    assert!(again.contains(r#""code":-32600"#), "{again}");
}

#[tokio::test]
async fn stateless_requests_are_answered_with_what_their_era_requires() {
    let mut peer = Peer::of(&server());
    let list = peer.round_trip(&stateless(1, "tools/list", "")).await;
    assert_eq!(
        list,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stub","version":"1.0.0"}},"ttlMs":0,"cacheScope":"private","tools":[]}}"#
    );
    let call = peer.round_trip(&stateless(2, "tools/call", r#""name":"x","arguments":{"a":1.0}"#)).await;
    assert_eq!(
        call,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stub","version":"1.0.0"}},"content":[],"structuredContent":{"a":1.0}}}"#
    );
    let discover = peer.round_trip(&stateless(3, "server/discover", "")).await;
    assert!(
        discover.contains(r#""supportedVersions":["2026-07-28","2025-11-25","2025-06-18""#),
        "{discover}"
    );
    assert!(
        discover.contains(r#""instructions":"be kind""#) && discover.contains(r#""ttlMs":0"#),
        "{discover}"
    );
}

#[tokio::test]
async fn results_from_elsewhere_keep_their_own_members() {
    let mut peer = Peer::of(&server());
    let opaque = peer.round_trip(&stateless(1, "test/opaque", "")).await;
    assert_eq!(
        opaque,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","ttlMs":5,"x":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stub","version":"1.0.0"}}}}"#
    );
    let mut peer = Peer::in_session(&server()).await;
    let opaque = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"test/opaque"}"#).await;
    assert_eq!(opaque, r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#);
}

#[tokio::test]
async fn requests_that_do_not_describe_themselves_are_refused() {
    let mut peer = Peer::of(&server());
    let good = stateless(1, "tools/list", "");
    for (from, to, code) in [
        ("io.modelcontextprotocol/clientCapabilities", "x", "-32602"),
        (r#"Capabilities":{"elicitation":{}}"#, r#"Capabilities":[]"#, "-32602"),
        ("2026-07-28", "v999", "-32022"),
        ("2026-07-28", "2025-11-25", "-32022"),
        (r#""2026-07-28""#, "7", "-32602"),
        (r#""_meta":{"#, r#""_meta":{"io.modelcontextprotocol/logLevel":"loud","#, "-32602"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let answer = peer.round_trip(&bad).await;
        assert!(answer.contains(&format!(r#""code":{code}"#)), "{bad}: {answer}");
    }
    let unsupported = peer.round_trip(&good.replace("2026-07-28", "v999")).await;
    assert!(unsupported.contains(r#""requested":"v999""#) && unsupported.contains(r#""supported":["#));
}

#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    let mut peer = Peer::in_session(&server()).await;
    for method in [
        "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
        "tasks/list",
    ] {
        let answer = peer.round_trip(&stateless(1, method, "")).await;
        assert!(answer.contains(r#""code":-32601"#), "{method}: {answer}");
    }
    let listen = peer.round_trip(r#"{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen"}"#).await;
    assert!(listen.contains(r#""code":-32601"#), "{listen}");
    let discover = peer.round_trip(r#"{"jsonrpc":"2.0","id":3,"method":"server/discover"}"#).await;
    assert!(discover.contains(r#""code":-32602"#), "{discover}");
}

#[tokio::test]
async fn both_eras_live_on_one_connection() {
    let mut peer = Peer::in_session(&server()).await;
    let session = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(session, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
    assert!(peer.round_trip(&stateless(2, "tools/list", "")).await.contains("resultType"));
}

#[tokio::test]
async fn a_question_is_pushed_in_a_session() {
    let mut peer = Peer::in_session(&server()).await;
    let asked =
        peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#).await;
    assert_eq!(
        asked,
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}"#
    );
    let answer = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"action":"accept"}}}"#
    );
}

#[tokio::test]
async fn a_question_is_a_result_without_a_session() {
    let mut peer = Peer::of(&server());
    let asked = peer.round_trip(&stateless(1, "tools/call", r#""name":"ask""#)).await;
    let question = r#""inputRequests":{"who":{"method":"elicitation/create","params":{"message":"who?""#;
    assert!(asked.contains(r#""resultType":"input_required""#) && asked.contains(question), "{asked}");
    let state = asked.split(r#""requestState":""#).nth(1).unwrap().split('"').next().unwrap();

    let members =
        format!(r#""name":"ask","inputResponses":{{"who":{{"action":"accept"}}}},"requestState":"{state}""#);
    let answer = peer.round_trip(&stateless(2, "tools/call", &members)).await;
    assert!(answer.contains(r#""structuredContent":{"action":"accept"}"#), "{answer}");

    for (from, to) in
        [(state, format!("{state}-TAMPERED")), (r#""name":"ask""#, r#""name":"ask","x":1"#.to_owned())]
    {
        let forged = peer.round_trip(&stateless(3, "tools/call", &members.replace(from, &to))).await;
        assert!(forged.contains(r#""code":-32602"#), "{forged}");
    }
    let wrong = stateless(4, "tools/call", r#""name":"ask","inputResponses":{"other":{}}"#);
    assert!(peer.round_trip(&wrong).await.contains(r#""resultType":"input_required""#));
}

#[tokio::test]
async fn a_question_the_client_cannot_answer_is_an_error() {
    let mut peer = Peer::of(&server());
    let line = stateless(1, "tools/call", r#""name":"ask""#).replace(r#"{"elicitation":{}}"#, "{}");
    let answer = peer.round_trip(&line).await;
    assert!(
        answer.contains(r#""code":-32021"#)
            && answer.contains(r#""data":{"requiredCapabilities":{"elicitation":{"form":{}}}}"#),
        "{answer}"
    );
}

#[tokio::test]
async fn notifications_of_a_request_come_before_its_answer() {
    for (line, answered) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"notify"}}"#.to_owned(),
            r#""id":7"#,
        ),
        (stateless(7, "tools/call", r#""name":"notify""#), r#""id":7"#),
    ] {
        let mut peer = Peer::in_session(&server()).await;
        peer.send(&line).await;
        for step in 1..=3 {
            let received = peer.line().await;
            assert!(received.contains(&format!(r#""params":{{"progress":{step}}}"#)), "{received}");
        }
        assert!(peer.line().await.contains(answered));
    }
}

#[tokio::test]
async fn messages_of_a_subscription_name_it() {
    let mut peer = Peer::of(&server());
    let received = peer.round_trip(&stateless(9, "subscriptions/listen", "")).await;
    let tag = r#""io.modelcontextprotocol/subscriptionId":9"#;
    assert!(received.contains("acknowledged") && received.contains(tag), "{received}");
    let result = peer.line().await;
    assert!(result.contains(tag) && result.contains(r#""resultType":"complete""#), "{result}");
}

#[tokio::test]
async fn a_batch_is_answered_as_a_batch_where_batches_exist() {
    let mut peer = Peer::of(&server());
    peer.round_trip(&initialize("2025-03-26", "{}")).await;
    let answer = peer
        .round_trip(
            r#"[{"jsonrpc":"2.0","id":1,"method":"test/later"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"},3]"#,
        )
        .await;
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answer).unwrap();
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().any(|answer| answer["id"] == 1 && answer["result"]["later"] == true));
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600));
}

// covers: MGP-1.3-02, MGP-2.1-02, MGP-1.1-02
#[tokio::test]
async fn nothing_of_mgp_is_on_the_wire_unless_the_client_offered_it() {
    let mut peer = Peer::of(&server_with(offering(ExtensionSet::standard())));
    let answer = peer.round_trip(&initialize("2025-11-25", "{}")).await;
    assert!(!answer.contains("mgp"), "{answer}");
    let refused = peer.round_trip(r#"{"jsonrpc":"2.0","id":2,"method":"test/refuse"}"#).await;
    assert_eq!(refused, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"too many"}}"#);
}

// covers: MGP-2.1-01, MGP-1.3-04, MGP-14.4-01, MGP-2.3-01
#[tokio::test]
async fn mgp_is_agreed_on_in_both_eras() {
    let theirs = r#"{"mgp":{"version":"0.2.0","extensions":["audit","streaming"]}}"#;
    let ours = offering(ExtensionSet::from_names(["security", "audit"]));
    let mut peer = Peer::of(&server_with(ours));
    let answer = peer.round_trip(&initialize("2024-11-05", theirs)).await;
    assert!(answer.contains(r#""mgp":{"version":"0.2.0","extensions":["audit"]}"#), "{answer}");
    assert!(answer.contains(r#""extensions":{"dev.cloto/mgp":{"version":"0.2.0","extensions":["audit"]}}"#));
    let refused = peer.round_trip(r#"{"jsonrpc":"2.0","id":2,"method":"test/refuse"}"#).await;
    assert!(
        refused.contains(r#""code":3000"#) && refused.contains(r#""_mgp":{"category":"resource""#),
        "{refused}"
    );

    let discover = peer.round_trip(&stateless(3, "server/discover", "")).await;
    assert!(
        discover.contains(
            r#""extensions":{"dev.cloto/mgp":{"version":"0.2.0","extensions":["security","audit"]}}"#
        )
    );
    let line = stateless(4, "test/refuse", "");
    assert!(peer.round_trip(&line).await.contains(r#""code":-32603"#));
    let theirs = r#"{"extensions":{"dev.cloto/mgp":{"version":"0.2.0","extensions":["audit"]}}}"#;
    let refused = peer.round_trip(&line.replace(r#"{"elicitation":{}}"#, theirs)).await;
    assert!(refused.contains(r#""code":3000"#), "{refused}");
}

// covers: BASE-16
#[tokio::test]
async fn questions_wait_until_the_client_has_initialized() {
    let mut peer = Peer::of(&server());
    peer.round_trip(&initialize("2025-11-25", r#"{"elicitation":{}}"#)).await;
    peer.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}"#).await;
    peer.lives_on().await;
    let asked = peer.round_trip(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert!(asked.contains("elicitation/create"), "{asked}");
}

#[tokio::test]
async fn a_description_from_elsewhere_names_each_member_once() {
    // Members of the stateless era are in the description of this server.
    let relayed = Does(|_| async {
        let text =
            r#"{"resultType":"complete","capabilities":{},"ttlMs":7,"cacheScope":"public","_meta":{"a":1}}"#;
        Ok(Response::new(RawJson::parse(text)?))
    });
    let identity = std::sync::Arc::new(identity());
    let accept = move |outbox| ServerEraGate::new(identity.clone(), outbox).layer(relayed.clone());
    let mut peer = Peer::of(&accept);
    let discover = peer.round_trip(&stateless(1, "server/discover", "")).await;
    let result = mgp_types::Object::parse(discover).expect("no member is repeated").get("result").unwrap();
    let result = mgp_types::Object::from_raw(&result).unwrap();
    assert_eq!(result.bytes("ttlMs").unwrap(), b"7");
    assert!(result.bytes("_meta").unwrap().starts_with(br#"{"a":1,"io.modelcontextprotocol/serverInfo""#));

    let opened = peer.round_trip(&initialize("2025-11-25", "{}")).await;
    assert!(!opened.contains("resultType") && !opened.contains("ttlMs"), "{opened}");
}
