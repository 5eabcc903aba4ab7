//! The audit service and the coordinator behind a kernel that several clients share.

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, Talk, found, until};
use crate::patterns;
use crate::runner::tests;

tests![
    the_event_of_a_call_through_the_kernel_is_found_in_the_audit_service,
    agents_that_are_clients_share_the_tasks_of_another_client,
    a_chain_goes_from_one_specialist_to_the_next,
    nobody_takes_the_name_of_another_client_at_the_coordinator,
    who_may_not_delegate_yet_is_told_how_that_is_allowed,
    the_command_of_the_program_becomes_one_of_its_servers,
];

/// A client that is a process of its own, and shares the kernel of the first.
struct Connected {
    talk: Talk,
    _process: Kernel,
}

impl Connected {
    /// Connects, and waits until these tools are offered.
    fn open(home: &Home, tools: &[&str]) -> Self {
        Self::open_as(home, "t", tools)
    }

    /// Connects as a client of this name.
    fn open_as(home: &Home, name: &str, tools: &[&str]) -> Self {
        let mut process = Kernel::spawn(home, &[]);
        let mut talk = Talk::open_as(&mut process, name, &json!({}));
        until("the tools are offered", || {
            let listed = talk.ask("tools/list", &json!({})).to_string();
            tools.iter().all(|tool| listed.contains(&format!("\"{}\"", tool.replace('.', "__"))))
        });
        Self { talk, _process: process }
    }

    /// Calls a tool, and returns its structured result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.talk.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"]["structuredContent"].clone()
    }
}

// covers: P-4-17
async fn the_event_of_a_call_through_the_kernel_is_found_in_the_audit_service() {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    home.json(["add", "audit", "--", &patterns(&home), "audit"]);
    let mut client = Connected::open(&home, &["clock.now", "audit.query_audit_log"]);
    client.talk.ask("tools/call", &json!({"name": "clock.now", "arguments": {}}));
    let of_the_call = json!({"server_id": "clock", "event_type": "TOOL_EXECUTED", "agent_id": "local"});
    let event = found("the event arrives", || {
        client.call("audit.query_audit_log", &of_the_call)["events"].get(0).cloned()
    });
    assert_eq!(event["target"], json!({"server_id": "clock", "tool_name": "now"}));
    assert_eq!(event["result"], "SUCCESS");
    let same = client.call("audit.query_audit_log", &json!({"trace_id": event["trace_id"]}));
    assert_eq!(same["events"], json!([event]));
    assert!(home.path(".local/share/mgp/audit-service.db").exists());
}

/// A user with the coordinator, who lets all of its clients delegate.
fn with_coordinator() -> Home {
    let home = Home::with_state();
    home.json(["add", "coordination", "--", &patterns(&home), "coordination"]);
    let config = home.read("mgp.toml");
    let grant = "[[permissions.grants]]\nserver = \"coordination\"\npermission = \"memory.write\"\n";
    home.write("mgp.toml", &format!("{config}\n{grant}"));
    home
}

/// A client that works on tasks.
struct Agent {
    client: Connected,
    token: Value,
}

impl Agent {
    fn register(home: &Home, id: &str, capabilities: &[&str]) -> Self {
        Self::register_from(home, "t", id, capabilities)
    }

    fn register_from(home: &Home, client: &str, id: &str, capabilities: &[&str]) -> Self {
        let tools = ["coordination.register_agent", "coordination.next_task"];
        let mut client = Connected::open_as(home, client, &tools);
        let who = json!({"agent_id": id, "capabilities": capabilities});
        let token = client.call("coordination.register_agent", &who)["agent_token"].clone();
        Self { client, token }
    }

    fn next(&mut self, wait_ms: u64) -> Value {
        let asked = json!({"agent_token": self.token, "wait_ms": wait_ms});
        self.client.call("coordination.next_task", &asked)["task"].clone()
    }

    fn complete(&mut self, task: &Value, result: &str) {
        let done = json!({"agent_token": self.token, "task_id": task["task_id"], "result": result});
        self.client.call("coordination.complete_task", &done);
    }
}

// covers: P-1-13
async fn agents_that_are_clients_share_the_tasks_of_another_client() {
    let home = with_coordinator();
    let mut lead = Connected::open(&home, &["coordination.delegate_task", "coordination.collect_results"]);
    let (mut one, mut other) = (Agent::register(&home, "one", &[]), Agent::register(&home, "other", &[]));
    let mut delegate =
        |task: &str| lead.call("coordination.delegate_task", &json!({"task": task}))["task_id"].clone();
    let tasks = ["a", "b", "c"].map(&mut delegate);
    let (first, second) = (one.next(0), other.next(0));
    assert_eq!((&first["task"], &second["task"]), (&json!("a"), &json!("b")));
    one.complete(&first, "did a");
    let third = one.next(0);
    assert_eq!(third["task"], "c");
    let majority = json!({"task_ids": tasks, "wait_strategy": "majority", "timeout_ms": 0});
    assert_eq!(lead.call("coordination.collect_results", &majority)["satisfied"], false);
    other.complete(&second, "did b");
    assert_eq!(lead.call("coordination.collect_results", &majority)["satisfied"], true);
    one.complete(&third, "did c");
    let all = lead.call("coordination.collect_results", &json!({"task_ids": tasks}));
    let results: Vec<_> = all["results"].as_array().unwrap().iter().map(|result| &result["result"]).collect();
    assert_eq!(results, ["did a", "did b", "did c"]);
}

// covers: P-1-13
async fn a_chain_goes_from_one_specialist_to_the_next() {
    let home = with_coordinator();
    let mut lead = Connected::open(&home, &["coordination.delegate_task", "coordination.collect_results"]);
    let mut researcher = Agent::register(&home, "researcher", &["research"]);
    let mut writer = Agent::register(&home, "writer", &["prose"]);
    let research = json!({"task": "tides", "required_capabilities": ["research"]});
    let research = lead.call("coordination.delegate_task", &research)["task_id"].clone();
    assert_eq!(writer.next(0), Value::Null);
    let task = researcher.next(0);
    researcher.complete(&task, "the moon");
    let facts = lead.call("coordination.collect_results", &json!({"task_ids": [research]}));
    let fact = facts["results"][0]["result"].as_str().unwrap();
    let writing = json!({"task": format!("write about {fact}"), "target_agent": "writer"});
    let writing = lead.call("coordination.delegate_task", &writing)["task_id"].clone();
    assert_eq!(researcher.next(0), Value::Null);
    let task = writer.next(30_000);
    assert_eq!(task["task"], "write about the moon");
    writer.complete(&task, "O moon");
    let text = lead.call("coordination.collect_results", &json!({"task_ids": [writing]}));
    assert_eq!(text["results"][0]["result"], "O moon");
}

async fn nobody_takes_the_name_of_another_client_at_the_coordinator() {
    let home = with_coordinator();
    let mut mallory = Agent::register_from(&home, "mallory", "worker", &["deploy"]);
    let mut worker = Agent::register_from(&home, "lead", "worker", &["deploy"]);
    let mut lead = Connected::open_as(&home, "lead", &["coordination.delegate_task"]);
    let agents = lead.call("coordination.query_agents", &json!({}))["agents"].clone();
    let names: Vec<_> = agents.as_array().unwrap().iter().map(|agent| &agent["agent_id"]).collect();
    assert_eq!(names, ["worker", "local/mallory:worker"]);
    lead.call("coordination.delegate_task", &json!({"task": "deploy", "target_agent": "worker"}));
    assert_eq!(mallory.next(0), Value::Null);
    assert_eq!(worker.next(0)["task"], "deploy");
}

async fn who_may_not_delegate_yet_is_told_how_that_is_allowed() {
    let home = Home::with_state();
    home.json(["add", "coordination", "--", &patterns(&home), "coordination"]);
    let mut lead = Connected::open(&home, &["coordination.delegate_task"]);
    let call = json!({"name": "coordination.delegate_task", "arguments": {"task": "work"}});
    let answer = lead.talk.ask("tools/call", &call).to_string();
    assert!(answer.contains("memory.write") && answer.contains("mgp permissions approve"), "{answer}");
}

async fn the_command_of_the_program_becomes_one_of_its_servers() {
    let home = Home::new();
    let help = home.run(["help", "server"]).out;
    assert!(help.contains("one of the servers of `mgp-patterns`"), "{help}");
    let help = home.run(["--help"]).out;
    assert!(help.contains("List the configured servers"), "{help}");
    patterns(&home);
    let server = |words: &[&str]| {
        let mut command = home.command(["server"].iter().chain(words));
        command.env("PATH", home.path("bin"));
        Home::ran(command, "")
    };
    let help = server(&["--help"]).out;
    assert!(help.contains("audit ") && help.contains("coordination "), "{help}");
    assert_eq!(server(&["nobody"]).code, Some(1));
    let ran = server(&["audit", "--retention", "tiered"]);
    assert!(ran.code == Some(1) && ran.err.contains("--keep-days"), "{ran:?}");
}
