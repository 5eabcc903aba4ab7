//! MGP negotiated, and the three other pairings in which it is not there at all.

use mgp_types::mgp::{Category, Extension, ExtensionSet, Offer};
use serde_json::json;

use crate::calls::text;
use crate::host::{Kind, builder};
use crate::leg::{Connected, Leg};
use crate::runner::tests;

tests![
    all_four_pairings_work_as_they_are,
    extensions_are_active_only_where_both_sides_have_them,
    errors_say_how_to_recover_only_where_it_was_negotiated,
    nothing_of_mcp_changes_where_mgp_is_spoken,
];

fn offer() -> Offer {
    Offer::new(ExtensionSet::from_names(["audit", "streaming", "security"]))
}

/// Returns the pairings of §1.3: whether the client and the server speak MGP.
async fn pairings(leg: Leg) -> [(bool, bool, Connected); 4] {
    let connect = async |client: bool, server: bool| {
        let speaks = if server { Kind::Mgp } else { Kind::Mcp };
        let builder = builder().mgp(client.then(offer));
        (client, server, leg.to(speaks, builder).await.unwrap())
    };
    [
        connect(false, false).await,
        connect(false, true).await,
        connect(true, false).await,
        connect(true, true).await,
    ]
}

// covers: MGP-1.2-02, MGP-1.3-01..05, MGP-1.4-01, MGP-2.2-03, MGP-2.4-03
async fn all_four_pairings_work_as_they_are(leg: Leg) {
    for (at_client, at_server, client) in pairings(leg).await {
        let spoken = at_client && at_server;
        assert_eq!(text(&client, "add", json!({"a": 1, "b": 2})).await, "3");
        assert_eq!(client.session().unwrap().mgp.is_some(), spoken, "{at_client} {at_server}");
        let agreed = text(&client, "mgp", json!({})).await;
        assert_eq!(agreed, if spoken { "audit streaming" } else { "none" });
        let capabilities = String::from_utf8(client.capabilities().to_raw().as_bytes().to_vec()).unwrap();
        // Discovery is the same for every client; a session says nothing unasked.
        let says = at_server && (at_client || leg.is_stateless());
        assert_eq!(capabilities.contains("mgp"), says, "{capabilities}");
        client.close().await.unwrap();
    }
}

// covers: MGP-1.2-02, MGP-2.4-01
async fn extensions_are_active_only_where_both_sides_have_them(leg: Leg) {
    let client = leg.to(Kind::Mgp, builder().mgp(offer())).await.unwrap();
    let session = client.session().unwrap();
    let negotiated = session.mgp.as_ref().unwrap();
    for (extension, active) in [
        (Extension::Audit, true),
        (Extension::Streaming, true),
        (Extension::Security, false),
        (Extension::Lifecycle, false),
        (Extension::ErrorHandling, true),
    ] {
        assert_eq!(negotiated.has(&extension), active, "{extension}");
    }
}

// covers: MGP-1.2-02, MGP-14.4-01
async fn errors_say_how_to_recover_only_where_it_was_negotiated(leg: Leg) {
    for (at_client, at_server, client) in pairings(leg).await {
        let error = client.call_tool("broken", ()).await.unwrap_err();
        let recovery = error.recovery();
        if at_client && at_server {
            assert_eq!(error.code(), 3000);
            let recovery = recovery.unwrap();
            assert_eq!((recovery.category, recovery.retry_after_ms), (Some(Category::Resource), Some(250)));
        } else {
            assert_eq!((error.code(), recovery, error.data()), (-32603, None, None));
        }
    }
}

// covers: MGP-1.1-01, MGP-1.2-01, MGP-1.5-04
async fn nothing_of_mcp_changes_where_mgp_is_spoken(leg: Leg) {
    let [(.., plain), _, _, (.., spoken)] = pairings(leg).await;
    let calls = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "matrix://text"})),
        ("prompts/get", json!({"name": "plain"})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 1}})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "plain"},
            "argument": {"name": "x", "value": ""}}),
        ),
        ("nothing/known", json!({})),
    ];
    for (method, params) in calls {
        let answer = async |client: &Connected| match client.request(method, params.clone()).await {
            Ok(result) => (0, String::from_utf8(result.as_bytes().to_vec()).unwrap()),
            Err(error) => (error.code(), error.message().to_owned()),
        };
        assert_eq!(answer(&spoken).await, answer(&plain).await, "{method}");
    }
    // MGP has a number of its own for a tool that is not there.
    for (client, code) in [(&spoken, 4001), (&plain, -32602)] {
        let error = client.call_tool("nothing", ()).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (code, "unknown tool: nothing"));
    }
}
