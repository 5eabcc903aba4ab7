use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::Kernel;

/// The contents of an embedder's file in the state, with two agents.
fn learned() -> Value {
    let tool = |tool: &str| {
        json!({
            "server": "files", "tool": tool, "definition": "00".repeat(32),
            "weight": 1, "scale": 0.005, "codes": "7f7f",
        })
    };
    let tenants = json!([
        { "tenant": "ada", "tools": [tool("read"), tool("write")] },
        { "tenant": "bob", "tools": [tool("read")] },
    ]);
    json!({ "embedder": "another", "tenants": tenants })
}

fn forgets(home: &Home) {
    home.write("state/learned/0123456789abcdef.json", &learned().to_string());
    assert_eq!(home.json(["tools", "forget", "files.none"]), json!({ "tools": 0, "agents": 0 }));
    let unknown = home.run(["tools", "forget", "files.none"]);
    assert!(
        unknown.code == Some(0) && unknown.out.contains("nothing was learned of `files.none`"),
        "{unknown:?}"
    );
    let one = home.run(["tools", "forget", "files.read"]);
    assert_eq!((one.code, one.out.trim()), (Some(0), "forgot the uses of 1 tool by 2 agents"), "{one:?}");
    let kept = home.read("state/learned/0123456789abcdef.json");
    assert!(kept.contains("write") && !kept.contains("read"), "{kept}");
    assert_eq!(home.json(["tools", "forget"]), json!({ "tools": 1, "agents": 1 }));
    assert!(!home.path("state/learned/0123456789abcdef.json").exists());
    assert_eq!(home.run(["tools", "forget"]).out.trim(), "nothing was learned");
}

#[test]
fn what_was_learned_is_forgotten_with_and_without_a_running_kernel() {
    let home = Home::with_state();
    home.let_person_decide();
    forgets(&home);
    let _kernel = Kernel::start(&home, &[]);
    forgets(&home);
    let log = home.run(["audit", "tail"]);
    assert!(log.out.contains("learned_uses_forgotten"), "{log:?}");
}
