//! The tools, called by clients that share one server.

use std::time::Duration;

use mgp_client_sdk::{Client, PlainStack};
use mgp_transport::Wire;
use mgp_types::mgp::{Extension, Offer, Permission, RiskLevel, SideEffect, ToolSecurity};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::board::RESULT_KEPT;
use super::super::coordinator::{Coordinator, MAX_WAITING};
use super::super::server;

/// A client of a coordinator. As behind a kernel, agents and those who delegate share it.
#[derive(Clone)]
struct Fixture(std::sync::Arc<Client<PlainStack<Wire>>>);

impl Fixture {
    async fn new() -> Self {
        let builder =
            Client::builder("kernel", "1.0.0").mgp(Offer::new(Extension::ToolSecurity)).caching(false);
        let client = builder.in_process(server(Coordinator::new()).accept().unwrap()).await.unwrap();
        Self(std::sync::Arc::new(client))
    }

    /// Returns what a tool says.
    async fn ask(&self, tool: &str, arguments: Value) -> Value {
        let result = self.0.call_tool(tool, arguments).await.unwrap();
        assert!(!result.is_error(), "{result:?}");
        result.structured_content.unwrap().to().unwrap()
    }

    /// Returns why a tool refuses a call.
    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        let result = self.0.call_tool(tool, arguments).await.unwrap();
        assert!(result.is_error(), "{result:?}");
        result.content[0].as_text().unwrap().to_owned()
    }

    /// Registers an agent, and returns its token.
    async fn register(&self, id: &str, capabilities: &[&str]) -> Value {
        let arguments = json!({"agent_id": id, "capabilities": capabilities});
        self.ask("register_agent", arguments).await["agent_token"].clone()
    }

    async fn delegate(&self, task: &str) -> Value {
        self.ask("delegate_task", json!({"task": task})).await["task_id"].clone()
    }

    /// Does the next task of an agent.
    async fn work(&self, token: &Value, result: &str) {
        let given = self.ask("next_task", json!({"agent_token": token, "wait_ms": 60_000})).await;
        let arguments = json!({"agent_token": token, "task_id": given["task"]["task_id"], "result": result});
        self.ask("complete_task", arguments).await;
    }
}

// covers: P-1-01, P-1-02
#[tokio::test]
async fn delegating_declares_what_it_does_and_takes_what_the_pattern_names() {
    let fixture = Fixture::new().await;
    let tools = fixture.0.list_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "delegate_task").unwrap();
    let security = ToolSecurity::of(tool).unwrap().unwrap();
    assert_eq!(security.risk_level, RiskLevel::Moderate);
    assert_eq!(security.permissions_required, [Permission::MemoryWrite]);
    assert_eq!(security.side_effects, [SideEffect::Process]);
    let token = fixture.register("one", &["rust"]).await;
    let delegated = fixture
        .ask(
            "delegate_task",
            json!({
                "task": "review", "target_agent": "one", "required_capabilities": ["rust"],
                "timeout_ms": 5_000, "priority": "critical",
            }),
        )
        .await;
    assert_eq!((&delegated["status"], &delegated["eligible_agents"]), (&json!("queued"), &json!(1)));
    let given = fixture.ask("next_task", json!({"agent_token": token})).await["task"].clone();
    assert_eq!(given["task_id"], delegated["task_id"]);
    assert_eq!((&given["task"], &given["priority"]), (&json!("review"), &json!("critical")));
    assert!(given["remaining_ms"].as_u64().unwrap() <= 5_000);
    for wrong in [
        json!({}),
        json!({"task": ""}),
        json!({"task": "x", "priority": "urgent"}),
        json!({"task": "x", "timeout_ms": 0}),
        json!({"task": "x", "agent": "one"}),
        json!({"task": "x", "target_agent": "nobody"}),
    ] {
        fixture.refusal("delegate_task", wrong).await;
    }
}

// covers: P-1-05, P-1-06, P-1-14
#[tokio::test]
async fn an_agent_is_given_what_it_can_do_the_most_urgent_first_and_the_same_until_it_is_done() {
    let fixture = Fixture::new().await;
    let coder = fixture.register("coder", &["rust", "review"]).await;
    let translator = fixture.register("translator", &["french"]).await;
    for delegated in [
        json!({"task": "later", "priority": "low"}),
        json!({"task": "first", "required_capabilities": ["rust"]}),
        json!({"task": "second", "required_capabilities": ["rust", "review"]}),
        json!({"task": "urgent", "required_capabilities": ["rust"], "priority": "critical"}),
        json!({"task": "only translated", "target_agent": "translator", "priority": "low"}),
    ] {
        fixture.ask("delegate_task", delegated).await;
    }
    let next = async |token: &Value| {
        let given = fixture.ask("next_task", json!({"agent_token": token})).await["task"].clone();
        (given["task"].as_str().unwrap().to_owned(), given["task_id"].clone())
    };
    for (token, tasks) in
        [(&translator, &["later", "only translated"][..]), (&coder, &["urgent", "first", "second"])]
    {
        for task in tasks {
            let given = next(token).await;
            assert_eq!(given.0, *task);
            assert_eq!(next(token).await, given, "it is not done yet");
            let done = json!({"agent_token": token, "task_id": given.1, "result": "done"});
            fixture.ask("complete_task", done).await;
        }
    }
}

// covers: P-1-12
#[tokio::test(start_paused = true)]
async fn a_result_is_collected_as_often_as_one_likes_for_an_hour() {
    let fixture = Fixture::new().await;
    let token = fixture.register("one", &[]).await;
    let task = fixture.delegate("work").await;
    fixture.work(&token, "done").await;
    let collected = async || {
        let collected = fixture.ask("collect_results", json!({"task_ids": [task], "timeout_ms": 0})).await;
        collected["results"][0]["status"].clone()
    };
    for wait in [Duration::ZERO, Duration::ZERO, RESULT_KEPT / 2] {
        tokio::time::advance(wait).await;
        assert_eq!(collected().await, "done");
    }
    tokio::time::advance(RESULT_KEPT / 2).await;
    assert_eq!(collected().await, "unknown");
}

// covers: P-1-03
#[tokio::test(start_paused = true)]
async fn agents_are_found_by_what_they_can_by_status_and_by_type() {
    let fixture = Fixture::new().await;
    fixture.register("translator", &["french", "german"]).await;
    let short =
        json!({"agent_id": "builder", "type": "container", "capabilities": ["rust"], "silence_ms": 1_000});
    let token = fixture.ask("register_agent", short).await["agent_token"].clone();
    fixture.delegate("work").await;
    fixture.ask("next_task", json!({"agent_token": token})).await;
    let ids = async |filter: Value| {
        let found = fixture.ask("query_agents", json!({"filter": filter})).await;
        let ids = found["agents"].as_array().unwrap().iter().map(|agent| agent["agent_id"].clone());
        Value::from(ids.collect::<Vec<_>>())
    };
    assert_eq!(ids(json!({})).await, json!(["builder", "translator"]));
    assert_eq!(ids(json!({"capabilities": ["german"]})).await, json!(["translator"]));
    assert_eq!(ids(json!({"capabilities": ["german", "rust"]})).await, json!([]));
    assert_eq!(ids(json!({"type": "container"})).await, json!(["builder"]));
    assert_eq!(ids(json!({"type": "ai"})).await, json!(["translator"]));
    assert_eq!(ids(json!({"type": "all"})).await, json!(["builder", "translator"]));
    let all = fixture.ask("query_agents", json!({})).await;
    assert_eq!(
        all["agents"][0],
        json!({
            "agent_id": "builder", "type": "container", "capabilities": ["rust"], "status": "enabled", "busy": true,
        })
    );
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ids(json!({"status": "enabled"})).await, json!(["translator"]));
    assert_eq!(ids(json!({"status": "disabled"})).await, json!(["builder"]));
    assert_eq!(ids(json!({"status": "all"})).await, json!(["builder", "translator"]));
}

// covers: P-1-04, P-1-07
#[tokio::test(start_paused = true)]
async fn results_are_waited_for_until_all_any_or_most_are_there() {
    let fixture = Fixture::new().await;
    let tasks = [fixture.delegate("a").await, fixture.delegate("b").await, fixture.delegate("c").await];
    let token = fixture.register("one", &[]).await;
    for (done, strategy) in [(1, "any"), (2, "majority"), (3, "all")] {
        let collecting = fixture.clone();
        let arguments = json!({"task_ids": tasks, "wait_strategy": strategy, "timeout_ms": 60_000});
        let collecting = tokio::spawn(async move { collecting.ask("collect_results", arguments).await });
        // The results come while they are waited for.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!collecting.is_finished(), "{strategy}");
        fixture.work(&token, &format!("result {done}")).await;
        let collected = collecting.await.unwrap();
        assert_eq!(collected["satisfied"], true, "{strategy}");
        assert_eq!(collected["results"].as_array().unwrap().len(), done, "{strategy}");
        assert_eq!(collected["missing"].as_array().unwrap().len(), 3 - done, "{strategy}");
        let last = &collected["results"][done - 1];
        assert_eq!(
            *last,
            json!({
                "task_id": tasks[done - 1], "status": "done", "agent_id": "one", "result": format!("result {done}"),
            })
        );
    }
}

// covers: P-1-07
#[tokio::test(start_paused = true)]
async fn after_the_time_what_is_there_is_returned_with_what_is_missing() {
    let fixture = Fixture::new().await;
    let token = fixture.register("one", &[]).await;
    let (done, working, waiting) =
        (fixture.delegate("a").await, fixture.delegate("b").await, fixture.delegate("c").await);
    fixture.work(&token, "result").await;
    fixture.ask("next_task", json!({"agent_token": token})).await;
    let began = Instant::now();
    let arguments = json!({"task_ids": [waiting, done, working], "timeout_ms": 5_000});
    let collected = fixture.ask("collect_results", arguments).await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(
        collected,
        json!({
            "satisfied": false,
            "results": [{"task_id": done, "status": "done", "agent_id": "one", "result": "result"}],
            "missing": [
                {"task_id": waiting, "status": "queued"},
                {"task_id": working, "status": "working", "agent_id": "one"},
            ],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_results_that_cannot_come_any_more() {
    let fixture = Fixture::new().await;
    let token = fixture.register("one", &[]).await;
    let tasks = [fixture.delegate("a").await, fixture.delegate("b").await, fixture.delegate("c").await];
    for _ in 0..2 {
        let given = fixture.ask("next_task", json!({"agent_token": token})).await;
        let task = &given["task"]["task_id"];
        let failed = json!({"agent_token": token, "task_id": task, "error": "the disk is full"});
        assert_eq!(fixture.ask("complete_task", failed).await["status"], "failed");
    }
    let began = Instant::now();
    let arguments = json!({"task_ids": tasks, "wait_strategy": "majority", "timeout_ms": 60_000});
    let collected = fixture.ask("collect_results", arguments).await;
    assert_eq!(collected["satisfied"], false);
    assert_eq!(collected["results"][0]["error"], "the disk is full");
    let arguments = json!({"task_ids": ["task-0"], "wait_strategy": "any", "timeout_ms": 60_000});
    let unknown = fixture.ask("collect_results", arguments).await;
    assert_eq!((&unknown["results"][0]["status"], &unknown["satisfied"]), (&json!("unknown"), &json!(false)));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

// covers: P-1-08, P-1-09
#[tokio::test(start_paused = true)]
async fn those_who_wait_hear_of_lost_agents_and_late_tasks() {
    let fixture = Fixture::new().await;
    let short = json!({"agent_id": "lost", "silence_ms": 2_000});
    let lost = fixture.ask("register_agent", short).await["agent_token"].clone();
    let alive = fixture.register("alive", &[]).await;
    let arguments = json!({"task": "work", "timeout_ms": 30_000});
    let task = fixture.ask("delegate_task", arguments).await["task_id"].clone();
    let late = fixture.ask("delegate_task", json!({"task": "late", "timeout_ms": 10_000})).await;
    assert_eq!(fixture.ask("next_task", json!({"agent_token": lost})).await["task"]["task_id"], task);
    // The other one waits, and gets the later task, and then, once the first is lost, that of the first.
    fixture.ask("next_task", json!({"agent_token": alive})).await;
    let began = Instant::now();
    let collected =
        fixture.ask("collect_results", json!({"task_ids": [late["task_id"]], "timeout_ms": 60_000})).await;
    assert_eq!(began.elapsed().as_secs(), 10);
    let error = collected["results"][0]["error"].as_str().unwrap();
    assert!(error.contains("timed out after 10000 ms: `alive`"), "{error}");
    let given = fixture.ask("next_task", json!({"agent_token": alive, "wait_ms": 60_000})).await;
    assert_eq!(given["task"]["task_id"], task);
}

// covers: P-1-11
#[tokio::test]
async fn results_that_are_too_long_for_one_answer_are_left_for_another() {
    let fixture = Fixture::new().await;
    let token = fixture.register("one", &[]).await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        tasks.push(fixture.delegate(&format!("task {number}")).await);
        fixture.work(&token, &"x".repeat(262_144)).await;
    }
    let first = fixture.ask("collect_results", json!({"task_ids": tasks})).await;
    assert_eq!((&first["satisfied"], first["results"].as_array().unwrap().len()), (&json!(true), 16));
    assert_eq!(first["too_long"], json!(tasks[16..]));
    let rest = fixture.ask("collect_results", json!({"task_ids": first["too_long"]})).await;
    assert_eq!((rest["results"].as_array().unwrap().len(), &rest["too_long"]), (4, &Value::Null));
}

// covers: P-1-10
#[tokio::test]
async fn an_agent_is_known_by_its_token_and_not_by_its_connection() {
    let fixture = Fixture::new().await;
    let token = fixture.register("one", &[]).await;
    let refusal = fixture.refusal("register_agent", json!({"agent_id": "one"})).await;
    assert!(refusal.contains("is registered and alive"), "{refusal}");
    let again = json!({"agent_id": "one", "agent_token": token, "capabilities": ["rust"]});
    let renewed = fixture.ask("register_agent", again).await["agent_token"].clone();
    for tool in ["next_task", "keep_alive", "unregister_agent"] {
        let refusal = fixture.refusal(tool, json!({"agent_token": token})).await;
        assert!(refusal.contains("`register_agent`"), "{tool}: {refusal}");
    }
    let kept = fixture.0.call_tool("keep_alive", json!({"agent_token": renewed})).await.unwrap();
    assert!(!kept.is_error());
    let left = fixture.0.call_tool("unregister_agent", json!({"agent_token": renewed})).await.unwrap();
    assert!(!left.is_error());
    assert_eq!(
        fixture.ask("query_agents", json!({"filter": {"status": "all"}})).await,
        json!({"agents": []})
    );
}

// covers: P-1-11
#[tokio::test(start_paused = true)]
async fn only_so_many_callers_wait_and_others_are_served_meanwhile() {
    let fixture = Fixture::new().await;
    let task = fixture.delegate("work").await;
    let mut waiting = Vec::new();
    for _ in 0..MAX_WAITING {
        let collecting = fixture.clone();
        let arguments = json!({"task_ids": [task], "timeout_ms": 60_000});
        waiting.push(tokio::spawn(async move { collecting.ask("collect_results", arguments).await }));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refusal = fixture.refusal("collect_results", json!({"task_ids": [task]})).await;
    assert!(refusal.contains("as many calls wait as may"), "{refusal}");
    let at_once = fixture.ask("collect_results", json!({"task_ids": [task], "timeout_ms": 0})).await;
    assert_eq!(at_once["missing"].as_array().unwrap().len(), 1);
    let token = fixture.register("one", &[]).await;
    fixture.work(&token, "done").await;
    for collected in waiting {
        assert_eq!(collected.await.unwrap()["satisfied"], true);
    }
    for too_large in [
        ("delegate_task", json!({"task": "x".repeat(65_537)})),
        ("register_agent", json!({"agent_id": "x".repeat(65)})),
        ("register_agent", json!({"agent_id": "white space"})),
        ("register_agent", json!({"agent_id": "x", "capabilities": vec!["x"; 65]})),
        ("collect_results", json!({"task_ids": vec!["x"; 257]})),
        ("collect_results", json!({"task_ids": ["x"], "timeout_ms": 240_001})),
        ("next_task", json!({"agent_token": token, "wait_ms": 60_001})),
        ("complete_task", json!({"agent_token": token, "task_id": "x", "result": "x".repeat(262_145)})),
        ("complete_task", json!({"agent_token": token, "task_id": "x"})),
        ("complete_task", json!({"agent_token": token, "task_id": "x", "result": "a", "error": "b"})),
    ] {
        fixture.refusal(too_large.0, too_large.1).await;
    }
}
