//! Code as an argument (§7).

use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, names, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    code_is_held_to_the_level_that_its_tool_declares,
    a_rejection_says_what_is_wrong_so_that_a_model_can_mend_it,
];

/// A tool that takes Python and declares this.
fn running(name: &str, safety: &Value) -> Value {
    let security = json!({"risk_level": "dangerous", "validator": "code_safety", "code_safety": safety});
    defined(name, &["code"], &json!({"security": security}))
}

async fn kernel(tools: impl IntoIterator<Item = Value>) -> (Host, Script) {
    let script = Script::of(tools).speaking(&["security", "code_safety"]);
    let mut server = script.server("lab");
    server["security"] = json!({"trust_level": "trusted"});
    let host = Host::ready_with(quiet([server])).await;
    (host, script)
}

// covers: MGP-7.1-01, MGP-7.2-01..04
async fn code_is_held_to_the_level_that_its_tool_declares() {
    const BLOCKED_IMPORT: &str = "import subprocess";
    const BLOCKED_PATTERN: &str = "eval('1')";
    const UNKNOWN_IMPORT: &str = "import some_package";
    const WRITING: &str = "with open('out.txt', 'w') as f:\n    f.write('x')";
    const READING: &str = "import json\nprint(json.dumps({}))";
    let long = "x = 1\n".repeat(20_000);
    let levels = ["unrestricted", "standard", "strict", "readonly"];
    let tools = levels.map(|level| running(level, &json!({"level": level, "language": "python"})));
    let (host, script) = kernel(tools).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        for (code, passes_at) in [
            (READING, &levels[..]),
            (BLOCKED_IMPORT, &levels[..1]),
            (BLOCKED_PATTERN, &levels[..1]),
            (UNKNOWN_IMPORT, &levels[..2]),
            (&long, &levels[..2]),
            (WRITING, &levels[..3]),
        ] {
            for level in levels {
                let before = script.calls().len();
                let call = json!({"name": format!("lab.{level}"), "arguments": {"code": code}});
                let answer = ada.call("tools/call", call).await;
                let reached = script.calls().len() - before;
                if passes_at.contains(&level) {
                    assert!(
                        answer["result"].is_object() && reached == 1,
                        "{level} {code:.40}: {answer:.200}"
                    );
                } else {
                    let error = &answer["error"];
                    assert!(error["code"] == 1011 && reached == 0, "{level} {code:.40}: {answer:.200}");
                }
            }
        }
    }
}

// covers: MGP-7.4-01..06
async fn a_rejection_says_what_is_wrong_so_that_a_model_can_mend_it() {
    let safety = json!({
        "level": "strict", "language": "python", "max_code_size_bytes": 10_000,
        "blocked_imports": ["subprocess", "shutil"], "blocked_patterns": ["eval("],
        "allowed_imports": ["json", "httpx"],
    });
    let (host, script) = kernel([running("run", &safety)]).await;
    let bad = json!({"code": "from subprocess import run\nx = eval('1')"});
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let error = ada.refused("lab.run", bad.clone()).await;
        let details = error["data"]["_mgp"]["details"].clone();

        // A client that knows nothing of MGP hands the same to its model as a text.
        let mut plain = Raw::plain(&host, "bob", revision).await;
        let name = names(&host.plain("bob").await).await.remove(0);
        let result = plain.tool(&name, bad.clone()).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let said: Value = serde_json::from_str(text).unwrap();

        for rejection in [details, said] {
            assert_eq!(rejection["status"], "rejected", "{rejection}");
            assert_eq!(rejection["reason"], "Code validation failed");
            let violations = json!(["Blocked import: 'subprocess'", "Blocked pattern: 'eval('"]);
            assert_eq!(rejection["violations"], violations);
            let hints = &rejection["hints"];
            assert_eq!(hints["max_code_size_bytes"], 10_000);
            assert!(hints["blocked_imports"].as_array().unwrap().contains(&json!("shutil")), "{hints}");
            assert_eq!(hints["allowed_imports"], json!(["json", "httpx"]));
        }
        // Written with the hints in mind it passes, and nobody was asked.
        let before = script.calls().len();
        ada.tool("lab.run", json!({"code": "import httpx\nx = 1"})).await;
        assert_eq!(script.calls().len(), before + 1);
    }
}
