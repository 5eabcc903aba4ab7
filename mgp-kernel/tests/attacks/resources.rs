//! Resources, prompts and completions: what an agent reaches without calling a tool.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};
use crate::runner::tests;
use crate::server;

tests![
    a_file_is_not_read_as_a_resource_without_permission,
    a_file_beyond_the_roots_is_not_read_as_a_resource_in_any_spelling,
    an_inner_address_is_not_read_as_a_resource,
    prompts_completions_and_subscriptions_are_judged_like_calls,
];

/// A kernel that permits `permissions`, with the folder `work` as its only root, in front of the server `files`.
fn guarded(home: &Home, permissions: &[&str]) -> (Kernel, Talk) {
    fs::create_dir_all(home.path("work")).unwrap();
    home.write("work/notes.txt", "harmless");
    home.write("secret.txt", "the secret");
    let mut grants = String::new();
    for permission in permissions {
        writeln!(grants, "\n[[permissions.grants]]\npermission = {permission:?}").unwrap();
    }
    let settings = format!(
        "[validators]\nroots = [{:?}]\n[permissions]\npolicy = \"config_only\"\n{grants}",
        home.path("work")
    );
    server::configure(home, &settings, &[("files", "")]);
    let (kernel, mut talk) = Talk::begin(home);
    until("the template is listed", || {
        talk.ask("resources/templates/list", &json!({})).to_string().contains("file://{+path}")
    });
    (kernel, talk)
}

fn is_refused(answer: &Value) -> bool {
    answer["error"]["code"].is_i64()
        && answer["error"]["message"].as_str().is_some_and(|text| !text.is_empty())
}

/// The methods that came to the server `files` and name something.
fn arrived(home: &Home) -> Vec<String> {
    let naming = ["resources/read", "resources/subscribe", "prompts/get", "completion/complete"];
    let methods = server::requests(home, "files").into_iter().map(|(method, _)| method);
    methods.filter(|method| naming.contains(&method.as_str())).collect()
}

async fn a_file_is_not_read_as_a_resource_without_permission() {
    let home = Home::with_state();
    let (_kernel, mut talk) = guarded(&home, &[]);
    let uri = format!("file://{}", home.path("work/notes.txt").display());
    let answer = talk.ask("resources/read", &json!({ "uri": uri }));
    assert!(is_refused(&answer), "{answer}");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("filesystem.read"), "{text}");
    assert!(arrived(&home).is_empty());
    let recorded = home.json(["audit", "query"]).to_string();
    assert!(recorded.contains("resource_read") && recorded.contains("BLOCKED"), "{recorded}");
}

async fn a_file_beyond_the_roots_is_not_read_as_a_resource_in_any_spelling() {
    let home = Home::with_state();
    let (_kernel, mut talk) = guarded(&home, &["filesystem.read"]);
    let (inside, outside) = (home.path("work/notes.txt"), home.path("secret.txt"));
    let (inside, outside) = (inside.display(), outside.display());
    let answer = talk.ask("resources/read", &json!({ "uri": format!("file://{inside}") }));
    assert_eq!(answer["result"]["contents"][0]["text"], "harmless", "{answer}");
    let encoded = outside.to_string().replace('s', "%73");
    let twice = outside.to_string().replace('s', "%2573");
    for uri in [
        format!("file://{outside}"),
        format!("file://{encoded}"),
        format!("file://{twice}"),
        format!("file://localhost{outside}"),
        format!("file://{inside}/../../secret.txt"),
        format!("file://{inside}/%2e%2e/%2e%2e/secret.txt"),
        format!("file://{inside}/..%2f..%2fsecret.txt"),
        "file:///etc/shadow".into(),
        "file:///proc/self/environ".into(),
        format!("mgp://files/file:{outside}"),
        format!("mgp://files/FILE://{outside}"),
        format!("mgp://files/{outside}"),
        format!("mgp://files/notes:{outside}/../x"),
        format!("mgp://files/jar:file://{outside}!/x"),
        "mgp://files/file:../secret.txt".into(),
        r"mgp://files/file:\\host\share".into(),
        "mgp://files/file://host/share".into(),
    ] {
        let answer = talk.ask("resources/read", &json!({ "uri": uri }));
        assert!(is_refused(&answer), "{uri}: {answer}");
        assert!(!answer.to_string().contains("the secret"), "{uri}: {answer}");
    }
    assert_eq!(arrived(&home), ["resources/read"]);
}

async fn an_inner_address_is_not_read_as_a_resource() {
    let home = Home::with_state();
    let (_kernel, mut talk) = guarded(&home, &["filesystem.read", "network.outbound"]);
    for uri in [
        "http://169.254.169.254/latest/meta-data",
        "HTTPS://127.0.0.1/",
        "http%3A//127.0.0.1/",
        "proxy:http://[::1]/",
        "fetch://127.0.0.1:8080/admin",
        "ftp://192.168.0.1/x",
    ] {
        let answer = talk.ask("resources/read", &json!({ "uri": format!("mgp://files/{uri}") }));
        assert!(is_refused(&answer), "{uri}: {answer}");
    }
    assert!(arrived(&home).is_empty());
    let answer = talk.ask("resources/read", &json!({ "uri": "mgp://files/memo://insights" }));
    assert!(answer["result"]["contents"].is_array(), "{answer}");
}

async fn prompts_completions_and_subscriptions_are_judged_like_calls() {
    let home = Home::with_state();
    let (_kernel, mut talk) = guarded(&home, &["filesystem.read"]);
    let outside = home.path("secret.txt");
    let uri = format!("file://{}", outside.display());
    let template = json!({"type": "ref/resource", "uri": "file://{+path}"});
    let prompt = json!({"type": "ref/prompt", "name": "files.greet"});
    for (method, params) in [
        ("resources/subscribe", json!({ "uri": uri })),
        ("prompts/get", json!({"name": "files.greet", "arguments": {"path": outside}})),
        ("prompts/get", json!({"name": "files.greet", "arguments": {"url": "http://127.0.0.1/"}})),
        ("prompts/get", json!({"name": "files.greet", "arguments": {"command": "rm -rf ~"}})),
        ("completion/complete", json!({"ref": template, "argument": {"name": "path", "value": outside}})),
        ("completion/complete", json!({"ref": prompt, "argument": {"name": "file_path", "value": "../.."}})),
    ] {
        let answer = talk.ask(method, &params);
        assert!(is_refused(&answer), "{method} {params}: {answer}");
    }
    assert!(arrived(&home).is_empty(), "{:?}", arrived(&home));
    let honest = json!({"name": "files.greet", "arguments": {"who": "Ada", "code": "import os"}});
    assert!(talk.ask("prompts/get", &honest)["result"]["messages"].is_array());
    let honest = json!({"ref": prompt, "argument": {"name": "who", "value": "A"}});
    assert!(talk.ask("completion/complete", &honest)["result"]["completion"].is_object());
    assert_eq!(arrived(&home), ["prompts/get", "completion/complete"]);
}
