//! Tools that are called only in a version that the caller was written for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_client_sdk::types::code;
use mgp_server_sdk::{RawJson, Server, Tool};

use crate::servers::{MODES, connect, declaring};

/// A server with a tool of this version, which counts its calls.
fn weather(version: Option<&str>) -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut tool = Tool::new("weather", "Tells the weather.");
    if let Some(version) = version {
        tool = tool.meta("version", RawJson::from_text(version));
    }
    let server = Server::new("sky", "1.0.0").tool(tool, move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { "rain" }
    });
    (server, calls)
}

// covers: ENV-5.3-02
#[tokio::test]
async fn a_tool_of_another_version_is_refused_before_anything_is_sent() {
    for mode in MODES {
        for (version, wanted, will_do) in [
            (Some("1.2.0"), "weather@^1.2", true),
            (Some("1.10.1"), "weather@^1.2.3", true),
            (Some("1.1.9"), "weather@^1.2", false),
            (Some("2.0.0"), "weather@^1.2", false),
            (Some("next"), "weather@^1.2", false),
            (Some("1.2"), "weather@^1.2", false),
            (Some("1.2.3-beta"), "weather@^1.2", false),
            (None, "weather@^1", false),
            (None, "weather", true),
        ] {
            let (server, calls) = weather(version);
            let client = connect(server, declaring(&[]), mode).await;
            let outcome = async {
                let tool = client.find_tool(wanted).await?;
                client.call_listed(&tool, ()).await
            };
            let outcome = outcome.await;
            assert_eq!(outcome.is_ok(), will_do, "{version:?} for {wanted}");
            assert_eq!(calls.load(Ordering::SeqCst), usize::from(will_do), "{version:?} for {wanted}");
            if let Err(error) = outcome {
                let found = version.filter(|version| !["next", "1.2", "1.2.3-beta"].contains(version));
                let found = found.unwrap_or("which version");
                assert!(error.message().contains(found), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_wish_that_is_not_understood_or_that_no_tool_fits_says_what_is_wrong() {
    let (server, _) = weather(Some("1.0.0"));
    let client = connect(server, declaring(&[]), MODES[0]).await;
    let wish = client.find_tool("weather@1.2").await.unwrap_err();
    assert!(wish.message().contains("`weather@^1.2`"), "{wish}");
    let unknown = client.find_tool("tides@^1.0").await.unwrap_err();
    assert_eq!(unknown.code(), code::TOOL_NOT_FOUND);
    assert!(unknown.message().contains("`tides`"), "{unknown}");
}
