//! Names of methods: those of MGP against the ledger, those of MCP against the specification's.

#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mgp_types::Method;

/// Returns the names that stand behind `word` in the ledger's rows of MGP.
fn named(word: &str) -> BTreeSet<String> {
    let ledger = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ledger.csv");
    let ledger = fs::read_to_string(ledger).unwrap();
    let rows = ledger.lines().filter(|row| row.starts_with("MGP-"));
    let before = format!("{word} `");
    let names = rows.flat_map(|row| row.split(&*before).skip(1).map(|rest| rest.split('`').next().unwrap()));
    names.map(str::to_owned).collect()
}

// covers: MGP-1.5-02
#[test]
fn methods_of_mgp_are_known_by_their_prefix() {
    let methods = named("Method");
    assert!(methods.len() > 15, "{methods:?}");
    for name in methods {
        let method = Method::new(&name);
        assert!(name.starts_with("mgp/"), "{name}");
        assert!(method.is_mgp() && !method.is_notification(), "{name}");
        assert_eq!(method.as_str(), name);
    }
}

// covers: MGP-1.5-03
#[test]
fn notifications_of_mgp_are_known_by_their_prefix() {
    let notifications = named("Notification");
    assert!(notifications.len() > 5, "{notifications:?}");
    for name in notifications {
        let method = Method::new(&name);
        assert!(name.starts_with("notifications/mgp."), "{name}");
        assert!(method.is_mgp() && method.is_notification(), "{name}");
        assert_eq!(method.as_str(), name);
    }
}

// covers: MGP-1.5-04
#[test]
fn methods_of_mcp_have_the_names_they_always_had() {
    for (method, name) in [
        (Method::INITIALIZE, "initialize"),
        (Method::INITIALIZED, "notifications/initialized"),
        (Method::PING, "ping"),
        (Method::DISCOVER, "server/discover"),
        (Method::TOOLS_LIST, "tools/list"),
        (Method::TOOLS_CALL, "tools/call"),
        (Method::RESOURCES_LIST, "resources/list"),
        (Method::RESOURCES_TEMPLATES_LIST, "resources/templates/list"),
        (Method::RESOURCES_READ, "resources/read"),
        (Method::RESOURCES_SUBSCRIBE, "resources/subscribe"),
        (Method::RESOURCES_UNSUBSCRIBE, "resources/unsubscribe"),
        (Method::PROMPTS_LIST, "prompts/list"),
        (Method::PROMPTS_GET, "prompts/get"),
        (Method::COMPLETE, "completion/complete"),
        (Method::SET_LEVEL, "logging/setLevel"),
        (Method::CREATE_MESSAGE, "sampling/createMessage"),
        (Method::ELICIT, "elicitation/create"),
        (Method::ROOTS_LIST, "roots/list"),
        (Method::CANCELLED, "notifications/cancelled"),
        (Method::PROGRESS, "notifications/progress"),
        (Method::MESSAGE, "notifications/message"),
    ] {
        assert_eq!(method.as_str(), name);
        assert_eq!(method, Method::new(name));
        assert!(!method.is_mgp(), "{name}");
    }
    for near in ["mgp", "mgpx/a", "notifications/mgp/a", "notifications/mgpx.a", "tools/mgp/list"] {
        assert!(!Method::new(near).is_mgp(), "{near}");
    }
}
