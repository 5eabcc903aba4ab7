//! Methods that neither MCP nor MGP has: what an agent reaches by a name that no gate knows.

use serde_json::{Value, json};

use crate::home::Home;
use crate::runner::tests;
use crate::server::{self, Scene};

tests![
    a_method_that_nobody_knows_reaches_no_server,
    a_passed_method_is_confirmed,
    a_passed_method_is_held_to_access,
    a_passed_method_that_is_safe_is_judged_by_its_arguments,
];

/// A kernel in front of the server `odd`, of which `mgp.toml` says these lines.
fn started(settings: &str, lines: &str) -> Scene {
    Scene::new(settings, &[("odd", lines)])
}

/// What came to the server and is not of MCP.
fn arrived(home: &Home) -> Vec<String> {
    let methods = server::requests(home, "odd").into_iter().map(|(method, _)| method);
    methods.filter(|method| method.to_lowercase().contains("vendor") || method.contains("shutdown")).collect()
}

fn records(home: &Home) -> Vec<Value> {
    home.json(["audit", "query"])["events"].as_array().cloned().unwrap_or_default()
}

async fn a_method_that_nobody_knows_reaches_no_server() {
    let Scene { home, mut talk, kernel: _kernel } = started("", "");
    // A call waits for the server, and for all that the kernel lists of it.
    talk.ask("tools/call", &json!({"name": "odd.echo", "arguments": {"text": "first"}}));
    let before = server::requests(&home, "odd").len();
    for method in ["vendor/exec", "shutdown", "Tools/Call", "tools/call ", "TOOLS/CALL", "resources/read\n"] {
        for params in
            [json!({"name": "delete_everything"}), json!({"_meta": {"dev.cloto/mgp/server": "odd"}})]
        {
            let answer = talk.ask(method, &params);
            assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
        }
    }
    talk.tell("notifications/vendor/exec", &json!({"x": 1}));
    talk.ask("tools/call", &json!({"name": "odd.echo", "arguments": {"text": "last"}}));
    let came: Vec<_> = server::requests(&home, "odd").split_off(before);
    let is_the_kernels = |method: &str| matches!(method, "tools/call" | "notifications/roots/list_changed");
    assert!(came.iter().all(|(method, _)| is_the_kernels(method)), "{came:?}");
    assert_eq!(server::calls(&home, "odd"), ["echo", "echo"]);
    let recorded = home.json(["audit", "query"]).to_string();
    assert!(recorded.contains("vendor/exec") && recorded.contains("request_blocked"), "{recorded}");
    assert!(!recorded.contains(r"resources/read\n"), "control characters are shown escaped: {recorded}");
}

async fn a_passed_method_is_confirmed() {
    let Scene { home, mut talk, kernel: _kernel } = started("", "pass_methods = [\"vendor/*\"]");
    talk.ask("tools/list", &json!({}));
    let answer = talk.ask("vendor/exec", &json!({"what": "all"}));
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("approve")), "{answer}");
    assert!(arrived(&home).is_empty());
    let answer = talk.ask("shutdown", &json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

async fn a_passed_method_is_held_to_access() {
    let rule = "[[access.rules]]\nagent = \"local\"\nserver = \"odd\"\npermission = \"deny\"\n";
    let lines = "pass_methods = [\"vendor/*\"]\nsafe_methods = [\"vendor/*\"]";
    let Scene { home, mut talk, kernel: _kernel } = started(rule, lines);
    for params in [json!({}), json!({"_meta": {"dev.cloto/mgp/server": "odd"}})] {
        let answer = talk.ask("vendor/status", &params);
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    assert!(arrived(&home).is_empty());
}

async fn a_passed_method_that_is_safe_is_judged_by_its_arguments() {
    let lines = "pass_methods = [\"vendor/*\"]\nsafe_methods = [\"vendor/status\"]";
    let Scene { home, mut talk, kernel: _kernel } = started("", lines);
    talk.ask("tools/list", &json!({}));
    talk.ask("vendor/status", &json!({"verbose": true}));
    assert_eq!(arrived(&home), ["vendor/status"]);
    for params in [json!({"command": "rm -rf ~"}), json!({"url": "http://169.254.169.254/"})] {
        let answer = talk.ask("vendor/status", &params);
        assert!(answer["error"]["code"].is_i64(), "{params}: {answer}");
    }
    assert_eq!(arrived(&home), ["vendor/status"]);
    let recorded = records(&home);
    let of_vendor = recorded.iter().filter(|event| event.to_string().contains("vendor/status")).count();
    assert!(of_vendor >= 3, "{recorded:?}");
}
