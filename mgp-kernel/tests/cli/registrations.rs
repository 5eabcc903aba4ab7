use serde_json::json;

use crate::home::Home;
use crate::kernel::Talk;
use crate::user;

#[test]
fn an_operator_decides_by_command_about_what_an_agent_registered() {
    let home = where_the_coder_may_register();
    let (_kernel, mut agent) = Talk::begin(&home);
    let reply = register(&home, &mut agent, "adds");
    register(&home, &mut agent, "other");
    let (adds, other) = (waiting(&home, "adds"), waiting(&home, "other"));
    let command = format!("mgp registrations approve {adds}");
    assert!(reply.contains("pending_approval") && reply.contains(&command), "{reply}");

    let listed = home.json(["registrations", "list", "--waiting"]);
    assert_eq!(listed["registrations"][0]["server_id"], "adds");
    assert_eq!(listed["registrations"][1]["registered_by"], "coder");
    let shown = home.run(["registrations", "list"]);
    assert!(
        shown.out.contains("waiting for approval")
            && shown.out.contains(&command)
            && shown.out.contains("to add"),
        "{shown:?}"
    );
    assert_eq!(home.json(["registrations", "deny", &other])["server_id"], "other");
    assert_eq!(home.json(["registrations", "approve", &adds])["status"], "registered");
    assert_eq!(home.json(["registrations", "keep", "adds"])["server_id"], "adds");
    let all = home.json(["registrations", "list"]);
    assert_eq!(all["registrations"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&all["registrations"][0]["state"], &all["registrations"][0]["approved_by"]),
        (&json!("approved"), &json!(user()))
    );
    let unknown = home.run(["registrations", "approve", &other]);
    assert!(unknown.code == Some(1) && unknown.err.contains("registrations list"), "{unknown:?}");
}

#[test]
fn a_registration_waits_in_the_list_of_all_that_needs_a_person() {
    let home = where_the_coder_may_register();
    let (_kernel, mut agent) = Talk::begin(&home);
    let [adds, other] = ["adds", "other"].map(|server| {
        let reply = register(&home, &mut agent, server);
        let id = waiting(&home, server);
        let words =
            format!("is waiting for approval: a person has to confirm it by `mgp permissions approve {id}`");
        assert!(reply.contains(&words), "{reply}");
        id
    });
    let pending = home.json(["permissions", "pending"]);
    assert_eq!(
        (&pending["questions"][0]["id"], &pending["questions"][0]["agent_id"]),
        (&json!(adds), &json!("coder"))
    );
    assert!(home.run(["permissions", "show", &adds]).out.contains("adds.py"));
    assert_eq!(home.json(["permissions", "approve", &adds])["decision"], "approved");
    assert_eq!(home.json(["permissions", "deny", &other])["decision"], "denied");
    assert_eq!(home.json(["permissions", "pending"])["questions"], json!([]));
    let all = home.json(["registrations", "list"]);
    assert_eq!(all["registrations"].as_array().unwrap().len(), 1, "{all}");
    assert_eq!(all["registrations"][0]["state"], "approved");
}

#[test]
fn without_a_kernel_nothing_is_approved() {
    let home = Home::new();
    assert_eq!(home.json(["registrations", "list"])["registrations"], json!([]));
    for decision in ["approve", "keep"] {
        assert_eq!(home.run(["registrations", decision, "adds"]).code, Some(4), "{decision}");
    }
}

/// A home whose agent `coder` may register servers that run Python.
fn where_the_coder_may_register() -> Home {
    let home = Home::new();
    home.write("adds.py", "print(1 + 2)\n");
    home.write(
        "mgp.toml",
        &format!(
            "[kernel]\nstate = {}\n[[agents]]\nid = 'coder'\nstdio = true\n\
             [registration]\nagents = ['coder']\ncommands = ['python3']\n",
            json!(home.path("state"))
        ),
    );
    home
}

/// The id under which the registration of a server waits.
fn waiting(home: &Home, server: &str) -> String {
    let listed = home.json(["registrations", "list", "--waiting"]);
    let row = listed["registrations"].as_array().unwrap().iter().find(|row| row["server_id"] == server);
    row.unwrap()["id"].as_str().unwrap().to_owned()
}

/// Registers a server that adds two numbers, and returns what the agent is told.
fn register(home: &Home, agent: &mut Talk, id: &str) -> String {
    let arguments = json!({
        "id": id, "command": "python3", "args": [home.path("adds.py")], "justification": "to add",
        "mgp": {"extensions": [], "permissions_required": [], "trust_level": "sandboxed"},
    });
    agent.ask("tools/call", &json!({"name": "mgp.discovery.register", "arguments": arguments})).to_string()
}
