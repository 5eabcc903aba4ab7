//! Tasks, of the extension and of the experiment before it.

use std::sync::Arc;
use std::time::Duration;

use crate::peer::{Answers, Era, Peer};
use mgp_server_sdk::types::{Error, Object, Principal, Request, Revision, Session};
use mgp_server_sdk::{Ask, Cx, Elicited, Server, TaskLimits, TaskMode, Tool, ToolError, ToolResult};
use serde_json::{Value, json};
use tower_service::Service;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("quick", "At once."), async || "done")
        .tool(Tool::new("job", "A job.").task(TaskMode::Optional), async |cx: Cx| {
            cx.progress(1.0, None, Some("half way")).await;
            "done"
        })
        .tool(Tool::new("must", "A job.").task(TaskMode::Required), async || "done")
        .tool(Tool::new("endless", "A job.").task(TaskMode::Optional), async || {
            std::future::pending::<()>().await;
        })
        .tool(Tool::new("fails", "A job.").task(TaskMode::Optional), async || {
            Err::<(), _>(ToolError::new("no"))
        })
        .tool(Tool::new("breaks", "A job.").task(TaskMode::Optional), async || {
            Err::<(), _>(Error::internal("broken"))
        })
        .tool(Tool::new("panics", "A job.").task(TaskMode::Optional), async || {
            assert!(std::env::args().count() > 1000, "this job panics");
        })
        .tool(
            Tool::new("asks", "A job.").task(TaskMode::Optional),
            async |cx: Cx| -> Result<String, ToolError> {
                let questions = [Ask::elicit::<Name>("one", "One?"), Ask::elicit::<Name>("two", "Two?")];
                let names = cx.ask_all(questions).await?.into_iter().filter_map(Elicited::accepted);
                Ok(names.map(|form| form.name).collect::<Vec<_>>().join(" "))
            },
        )
        .tool(
            Tool::new("manual", "A job.").task(TaskMode::Manual),
            async |cx: Cx| -> Result<ToolResult, Error> {
                let name = cx.elicit::<Name>("name", "Who?").await?.accepted().map(|form| form.name);
                cx.into_task(async move |_| name.unwrap_or_default()).await
            },
        )
}

fn capabilities() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn answers() -> Answers {
    Arc::new(|_, params| json!({"action": "accept", "content": {"name": params["message"]}}))
}

async fn open(era: Era) -> Peer {
    Peer::with(server(), era, capabilities(), answers()).await
}

/// Looks at the task until it has the status.
async fn until(peer: &mut Peer, id: &Value, status: &str) -> Value {
    for _ in 0..200 {
        let task = peer.call("tasks/get", json!({"taskId": id})).await.expect("the task is there");
        if task["status"] == status {
            return task;
        }
        assert_eq!(task["error"], Value::Null, "{task}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the task never is {status}");
}

// covers: ENV-10-01
#[tokio::test]
async fn a_call_becomes_a_task_and_its_result_waits_2026() {
    let mut peer = open(Era::Stateless).await;
    let created = peer.tool("job", json!({})).await.unwrap();
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["ttlMs"], 3_600_000);
    let task = until(&mut peer, &created["taskId"], "completed").await;
    assert_eq!(task["resultType"], "complete");
    assert_eq!(task["result"]["content"][0]["text"], "done");
    assert_eq!(task["statusMessage"], "half way");
    let task = peer.tool("fails", json!({})).await.unwrap();
    let task = until(&mut peer, &task["taskId"], "completed").await;
    assert_eq!(task["result"]["isError"], true);
}

#[tokio::test]
async fn protocol_errors_and_panics_fail_the_task_2026() {
    let mut peer = open(Era::Stateless).await;
    for tool in ["breaks", "panics"] {
        let task = peer.tool(tool, json!({})).await.unwrap();
        loop {
            let task = peer.call("tasks/get", json!({"taskId": task["taskId"]})).await.unwrap();
            if task["status"] == "failed" {
                assert_eq!(task["error"]["code"], -32603);
                assert!(task["result"].is_null());
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_client_without_the_extension_gets_plain_results_or_is_refused_2026() {
    let mut peer = Peer::with(server(), Era::Stateless, json!({}), answers()).await;
    assert_eq!(peer.text("job", json!({})).await, "done");
    for (method, params) in [
        ("tools/call", json!({"name": "must"})),
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", json!({"taskId": "x", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "x"})),
    ] {
        let error = peer.call(method, params).await.unwrap_err();
        assert_eq!(error.code(), -32021, "{method}");
        let data: Value = error.data().unwrap().to().unwrap();
        let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        assert_eq!(data, required);
    }
}

#[tokio::test]
async fn a_cancelled_task_stays_cancelled_2026() {
    let mut peer = open(Era::Stateless).await;
    let task = peer.tool("endless", json!({})).await.unwrap();
    for _ in 0..2 {
        peer.call("tasks/cancel", json!({"taskId": task["taskId"]})).await.unwrap();
        let task = until(&mut peer, &task["taskId"], "cancelled").await;
        assert!(task["result"].is_null() && task["error"].is_null());
    }
    let unknown = peer.call("tasks/cancel", json!({"taskId": "x"})).await.unwrap_err();
    assert_eq!(unknown.code(), -32602);
}

#[tokio::test]
async fn answers_may_come_one_by_one_2026() {
    let mut peer = open(Era::Stateless).await;
    let task = peer.tool("asks", json!({})).await.unwrap();
    let id = &task["taskId"];
    let waiting = until(&mut peer, id, "input_required").await;
    assert_eq!(waiting["inputRequests"].as_object().unwrap().len(), 2);
    assert_eq!(waiting["inputRequests"]["one"]["method"], "elicitation/create");
    let answer = |name| json!({"action": "accept", "content": {"name": name}});
    for responses in [json!({"one": answer("a"), "other": answer("b")}), json!({"two": 7})] {
        peer.call("tasks/update", json!({"taskId": id, "inputResponses": responses})).await.unwrap();
        let waiting = until(&mut peer, id, "input_required").await;
        let left: Vec<_> = waiting["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(left, ["two"]);
    }
    peer.call("tasks/update", json!({"taskId": id, "inputResponses": {"two": answer("c")}})).await.unwrap();
    let done = until(&mut peer, id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "a c");
}

#[tokio::test]
async fn a_handler_asks_first_and_goes_on_as_a_task_2026() {
    let mut peer = open(Era::Stateless).await;
    let task = peer.tool("manual", json!({})).await.unwrap();
    let done = until(&mut peer, &task["taskId"], "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Who?");
}

#[tokio::test]
async fn a_listener_is_told_of_its_tasks_2026() {
    let mut peer = open(Era::Stateless).await;
    let task = peer.tool("asks", json!({})).await.unwrap();
    let id = &task["taskId"];
    until(&mut peer, id, "input_required").await;
    let wanted = json!({"taskIds": [id, "x"]});
    let _listening = peer.start("subscriptions/listen", json!({"notifications": wanted}));
    assert_eq!(peer.next_notification().await.1["notifications"], json!({"taskIds": [id]}));
    peer.call("tasks/cancel", json!({"taskId": id})).await.unwrap();
    let (method, notification) = peer.next_notification().await;
    assert_eq!((method.as_str(), &notification["status"]), ("notifications/tasks", &json!("cancelled")));
    assert!(notification["resultType"].is_null());
}

#[tokio::test]
async fn the_number_of_tasks_is_bounded() {
    for era in Era::BOTH {
        let mut limits = TaskLimits::default();
        limits.max_per_owner = 2;
        let mut peer = Peer::with(server().task_limits(limits), era, capabilities(), answers()).await;
        let call = |name: &str| json!({"name": name, "task": {}});
        peer.call("tools/call", call("endless")).await.unwrap();
        let job = peer.call("tools/call", call("job")).await.unwrap();
        let id = if era == Era::Session { &job["task"]["taskId"] } else { &job["taskId"] };
        until(&mut peer, id, "completed").await;
        // The finished one makes room.
        peer.call("tools/call", call("endless")).await.unwrap();
        assert_eq!(peer.call("tasks/get", json!({"taskId": id})).await.unwrap_err().code(), -32602);
        assert!(peer.call("tools/call", call("endless")).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_forgotten_when_its_time_is_over() {
    for era in Era::BOTH {
        let mut limits = TaskLimits::default();
        limits.ttl = Duration::from_mins(1);
        let mut peer = Peer::with(server().task_limits(limits), era, capabilities(), answers()).await;
        let job = peer.call("tools/call", json!({"name": "endless", "task": {}})).await.unwrap();
        let id = if era == Era::Session { &job["task"]["taskId"] } else { &job["taskId"] };
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert!(peer.call("tasks/get", json!({"taskId": id})).await.is_ok());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(peer.call("tasks/get", json!({"taskId": id})).await.unwrap_err().code(), -32602);
    }
}

// covers: ENV-10-01
#[tokio::test]
async fn a_session_asks_for_a_task_and_waits_for_its_result_2025() {
    let mut peer = open(Era::Session).await;
    assert_eq!(
        peer.initialized["capabilities"]["tasks"],
        json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    assert_eq!(peer.text("job", json!({})).await, "done");
    let created = peer.call("tools/call", json!({"name": "asks", "task": {"ttl": 5000}})).await.unwrap();
    let task = &created["task"];
    assert_eq!(task["ttl"], 5000);
    until(&mut peer, &task["taskId"], "input_required").await;
    // The questions travel with this request.
    let result = peer.call("tasks/result", json!({"taskId": task["taskId"]})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "One? Two?");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task["taskId"]);
    let listed = peer.call("tasks/list", json!({})).await.unwrap();
    assert_eq!(listed["tasks"][0]["taskId"], task["taskId"]);
    assert_eq!(listed["tasks"][0]["status"], "completed");
}

#[tokio::test]
async fn tools_say_whether_they_run_as_tasks_and_refuse_otherwise_2025() {
    let mut peer = open(Era::Session).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    assert!(tools["tools"][0]["execution"].is_null());
    assert_eq!(tools["tools"][1]["execution"]["taskSupport"], "optional");
    assert_eq!(tools["tools"][2]["execution"]["taskSupport"], "required");
    for params in [json!({"name": "quick", "task": {}}), json!({"name": "must"})] {
        assert_eq!(peer.call("tools/call", params).await.unwrap_err().code(), -32601);
    }
}

#[tokio::test]
async fn a_task_ends_in_the_terms_of_the_session_2025() {
    let mut peer = open(Era::Session).await;
    let failed = peer.call("tools/call", json!({"name": "fails", "task": {}})).await.unwrap();
    let id = &failed["task"]["taskId"];
    until(&mut peer, id, "failed").await;
    assert_eq!(peer.call("tasks/result", json!({"taskId": id})).await.unwrap()["isError"], true);

    let endless = peer.call("tools/call", json!({"name": "endless", "task": {}})).await.unwrap();
    let id = &endless["task"]["taskId"];
    let waiting = peer.start("tasks/result", json!({"taskId": id}));
    assert_eq!(peer.call("tasks/cancel", json!({"taskId": id})).await.unwrap()["status"], "cancelled");
    assert_eq!(waiting.await.unwrap().unwrap_err().code(), -32602);
    assert_eq!(peer.call("tasks/cancel", json!({"taskId": id})).await.unwrap_err().code(), -32602);
}

#[tokio::test]
async fn a_session_does_not_see_the_tasks_of_another_2025() {
    let accept = server().accept().unwrap();
    let mut one = Peer::connect(&accept, Era::Session, capabilities(), answers()).await;
    let mut other = Peer::connect(&accept, Era::Session, capabilities(), answers()).await;
    let mut stateless = Peer::connect(&accept, Era::Stateless, capabilities(), answers()).await;
    let task = one.call("tools/call", json!({"name": "endless", "task": {}})).await.unwrap();
    let id = json!({"taskId": task["task"]["taskId"]});
    assert!(one.call("tasks/get", id.clone()).await.is_ok());
    for peer in [&mut other, &mut stateless] {
        for method in ["tasks/get", "tasks/cancel"] {
            assert_eq!(peer.call(method, id.clone()).await.unwrap_err().code(), -32602);
        }
    }
    assert_eq!(other.call("tasks/list", json!({})).await.unwrap()["tasks"], json!([]));
}

#[tokio::test]
async fn a_principal_does_not_see_the_tasks_of_another() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut service = server().into_service().unwrap();
        let mut call = |who: Option<&str>, method: &str, params: Value| {
            let mut session = Session::new(revision);
            session.capabilities = Object::from_value(&capabilities()).unwrap();
            let mut request = Request::call(method, Object::from_value(&params).unwrap());
            request.context.session = Some(Arc::new(session));
            request.context.principal = who.map(Principal::new);
            let answer = service.call(request);
            async { answer.await.map(|response| response.to_raw().to::<Value>().unwrap()) }
        };
        let created = call(Some("a"), "tools/call", json!({"name": "endless", "task": {}})).await.unwrap();
        let created = if revision.is_stateless() { &created } else { &created["task"] };
        let id = json!({"taskId": created["taskId"]});
        // Not even the session has to be the same, if the principal is.
        assert_eq!(call(Some("a"), "tasks/get", id.clone()).await.unwrap()["status"], "working");
        for who in [Some("b"), None] {
            for method in ["tasks/get", "tasks/cancel"] {
                assert_eq!(call(who, method, id.clone()).await.unwrap_err().code(), -32602);
            }
        }
    }
}

#[tokio::test]
async fn a_session_is_told_how_its_task_is_2025() {
    let mut peer = open(Era::Session).await;
    let task = peer.call("tools/call", json!({"name": "endless", "task": {}})).await.unwrap();
    peer.call("tasks/cancel", json!({"taskId": task["task"]["taskId"]})).await.unwrap();
    let (method, notification) = peer.next_notification().await;
    assert_eq!(method, "notifications/tasks/status");
    assert_eq!(
        (&notification["taskId"], &notification["status"]),
        (&task["task"]["taskId"], &json!("cancelled"))
    );
}
