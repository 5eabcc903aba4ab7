//! Tests of version mismatches.

use mgp_types::mcp::meta::key;
use mgp_types::{Method, Revision};
use tower_service::Service;

use super::script::*;
use crate::era::{ClientEra, EraOptions, UnsupportedVersion};

#[tokio::test]
async fn a_server_that_names_a_usable_version_is_asked_for_it_once() {
    let mut probes = 0;
    let script = Script::new(move |request| match request.method.as_str() {
        "server/discover" => {
            probes += 1;
            if probes == 1 { unsupported(-32022, r#"["2026-07-28"]"#) } else { Reply::Result(DISCOVERED) }
        }
        _ => session_server(request),
    });
    let era = script.connect().await.unwrap();
    assert_eq!(script.methods(), ["server/discover", "server/discover"]);
    assert_eq!(meta(&script.request(1)).text(key::PROTOCOL_VERSION).unwrap(), "2026-07-28");
    assert_eq!(era.agreement().revision(), Some(Revision::V2026_07_28));
}

#[tokio::test]
async fn a_server_that_keeps_refusing_a_version_it_names_is_offered_a_session() {
    let script = Script::new(|request| match request.method.as_str() {
        "server/discover" => unsupported(-32022, r#"["2026-07-28"]"#),
        _ => session_server(request),
    });
    script.connect().await.unwrap();
    let expected = ["server/discover", "server/discover", "initialize", "notifications/initialized"];
    assert_eq!(script.methods(), expected);
}

// covers: BASE-30
#[tokio::test]
async fn a_server_of_later_versions_only_is_not_offered_a_session() {
    let script = Script::new(|_| unsupported(-32022, r#"["2027-01-01"]"#));
    let error = script.connect().await.unwrap_err();
    assert_eq!(script.methods(), ["server/discover"]);
    assert_eq!(UnsupportedVersion::of(&error).unwrap().server, ["2027-01-01"]);
    assert!(error.to_string().contains("2027-01-01") && error.to_string().contains("2026-07-28"));
}

// covers: BASE-23
#[tokio::test]
async fn an_answer_in_an_unknown_version_ends_it_naming_both() {
    for version in ["1999-01-01", "2026-07-28"] {
        let script = Script::new(move |request| match request.method.as_str() {
            "initialize" if version == "1999-01-01" => {
                Reply::Result(r#"{"protocolVersion":"1999-01-01","capabilities":{}}"#)
            }
            "initialize" => Reply::Result(r#"{"protocolVersion":"2026-07-28","capabilities":{}}"#),
            _ => session_server(request),
        });
        let error = script.connect().await.unwrap_err();
        assert!(error.to_string().contains(version) && error.to_string().contains("2025-11-25"), "{error}");
        // The client sends no request after it.
        assert_eq!(script.methods(), ["server/discover", "initialize"]);
    }
}

#[tokio::test]
async fn an_older_version_of_the_server_is_accepted() {
    let script = Script::new(|request| match request.method.as_str() {
        "initialize" => Reply::Result(
            r#"{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
        ),
        _ => session_server(request),
    });
    let era = script.connect().await.unwrap();
    assert_eq!(era.agreement().revision(), Some(Revision::V2024_11_05));
}

// covers: BASE-24, BASE-29
#[tokio::test]
async fn a_refusal_that_names_versions_is_followed_or_shown() {
    let script = Script::new(|request| match request.method.as_str() {
        "initialize" if request.params.text("protocolVersion").unwrap() == "2025-11-25" => {
            unsupported(-32602, r#"["2025-03-26","2024-11-05"]"#)
        }
        "initialize" => Reply::Result(r#"{"protocolVersion":"2025-03-26","capabilities":{}}"#),
        _ => session_server(request),
    });
    let era = script.connect().await.unwrap();
    assert_eq!(era.agreement().revision(), Some(Revision::V2025_03_26));

    let script = Script::new(|request| match request.method.as_str() {
        "initialize" => unsupported(-32602, r#"["2020-01-01"]"#),
        _ => session_server(request),
    });
    let error = script.connect().await.unwrap_err();
    assert_eq!(error.code(), -32602);
    assert_eq!(UnsupportedVersion::of(&error).unwrap().server, ["2020-01-01"]);
    assert_eq!(script.methods(), ["server/discover", "initialize"]);
}

#[tokio::test]
async fn only_versions_of_the_client_are_offered() {
    let script = Script::new(|request| match request.method.as_str() {
        "initialize" => Reply::Result(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#),
        _ => session_server(request),
    });
    let mut identity = identity();
    identity.revisions = vec![Revision::V2025_06_18, Revision::V2024_11_05];
    ClientEra::negotiate(script.clone(), identity, EraOptions::default()).await.unwrap();
    assert_eq!(script.methods(), ["initialize", "notifications/initialized"]);
    assert_eq!(script.request(0).params.text("protocolVersion").unwrap(), "2025-06-18");
}

#[tokio::test]
async fn a_server_that_changes_its_versions_is_agreed_with_once_more() {
    let script = refusing_lists(1, other_version, stateless_server);
    let mut era = script.connect().await.unwrap();
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    assert_eq!(script.methods(), ["server/discover", "tools/list", "server/discover", "tools/list"]);

    let script = refusing_lists(u32::MAX, other_version, stateless_server);
    let mut era = script.connect().await.unwrap();
    assert_eq!(era.call(call(Method::TOOLS_LIST)).await.unwrap_err().code(), -32022);
    assert_eq!(script.methods().len(), 4);
}
