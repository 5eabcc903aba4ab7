//! Calls that wait for an operator, and the tasks as which they go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::code;
use mgp_types::{BoxFuture, Error, Method, Params, Principal, RawJson, Request, Response, Revision, Session};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service;

use crate::approvals::WaitingCallLayer;
use crate::approvals::waiting_calls::WaitingCallService;
use crate::test_kernel::until;

/// A service whose calls wait for the answer of an operator, if they may wait for long. It knows no task.
#[derive(Clone)]
struct AskingService {
    answer: watch::Receiver<Option<bool>>,
    dropped: Arc<AtomicBool>,
}

/// Notes that a call is over, whatever its end.
struct CallGuard(Arc<AtomicBool>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Service<Request> for AskingService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (mut answer, guard) = (self.answer.clone(), CallGuard(Arc::clone(&self.dropped)));
        Box::pin(async move {
            let _guard = guard;
            if request.method != Method::TOOLS_CALL {
                return Err(Error::method_not_found(&request.method));
            }
            if let Some(answers) = request.params.get("inputResponses") {
                let content = answers.to::<Value>().unwrap();
                return Ok(result(&json!({"content": [], "structuredContent": content})));
            }
            let listener = request.context.wait_listener.clone();
            if !listener.as_ref().is_some_and(|listener| listener.hear(Some("approve 7f"))) {
                return Err(Error::new(code::PERMISSION_DENIED, "it waits"));
            }
            let is_approved = *answer.wait_for(Option::is_some).await.unwrap() == Some(true);
            listener.unwrap().hear(None);
            if !is_approved {
                return Err(Error::new(code::PERMISSION_DENIED, "an operator said no"));
            }
            if request.params.text("name").as_deref() == Some("ask") {
                let form = json!({"method": "elicitation/create", "params": {"message": "Who?"}});
                return Ok(result(&json!({
                    "resultType": "input_required", "inputRequests": {"who": form}, "requestState": "s",
                })));
            }
            Ok(result(&json!({"content": [{"type": "text", "text": "done"}]})))
        })
    }
}

fn result(value: &Value) -> Response {
    Response::new(RawJson::from_value(value).unwrap())
}

struct Waiting {
    layer: WaitingCallLayer,
    service: WaitingCallService<AskingService>,
    answer: watch::Sender<Option<bool>>,
    dropped: Arc<AtomicBool>,
}

impl Waiting {
    fn new() -> Self {
        let (answer, answered) = watch::channel(None);
        let (layer, dropped) = (WaitingCallLayer::new(), Arc::<AtomicBool>::default());
        let service = layer.layer(AskingService { answer: answered, dropped: Arc::clone(&dropped) });
        Self { layer, service, answer, dropped }
    }

    async fn send(
        &self,
        principal: &'static str,
        capabilities: &'static str,
        method: &str,
        params: Value,
    ) -> Result<Value, Error> {
        let params = Params::parse(params.to_string()).unwrap();
        let mut request = Request::call(Method::new(method), params);
        let mut session = Session::new(Revision::LATEST);
        session.capabilities = Params::parse(capabilities).unwrap();
        request.context.session = Some(Arc::new(session));
        request.context.principal = Some(Principal::new(principal));
        let response = self.service.clone().call(request).await?;
        Ok(serde_json::from_slice(response.to_raw().as_bytes()).unwrap())
    }

    /// Sends a request of ada, who handles tasks.
    async fn ada(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.send("ada", HANDLES_TASKS, method, params).await
    }

    /// Begins a call of ada's that waits, and returns the params that name its task.
    async fn begin(&self, tool: &str) -> Value {
        let created = self.ada("tools/call", json!({"name": tool, "arguments": {}})).await.unwrap();
        assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
        assert_eq!(created["statusMessage"], "approve 7f");
        json!({"taskId": created["taskId"]})
    }

    /// Looks at the task until it has another status than `working`.
    async fn settled(&self, task: &Value) -> Value {
        let looking = async {
            loop {
                let state = self.ada("tasks/get", task.clone()).await.unwrap();
                if state["status"] != "working" {
                    return state;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), looking).await.expect("the task goes on")
    }
}

const HANDLES_TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

#[tokio::test]
async fn a_call_that_waits_becomes_a_task_whose_outcome_is_that_of_the_call() {
    let waiting = Waiting::new();
    let task = waiting.begin("t").await;
    assert_eq!(waiting.ada("tasks/get", task.clone()).await.unwrap()["status"], "working");
    waiting.answer.send_replace(Some(true));
    let ended = waiting.settled(&task).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["result"]["content"][0]["text"], "done", "{ended}");

    let waiting = Waiting::new();
    let task = waiting.begin("t").await;
    waiting.answer.send_replace(Some(false));
    let ended = waiting.settled(&task).await;
    assert_eq!(
        (&ended["status"], &ended["error"]["message"]),
        (&json!("failed"), &json!("an operator said no"))
    );
}

#[tokio::test]
async fn a_task_is_seen_by_its_own_client_alone_and_other_tasks_pass() {
    let waiting = Waiting::new();
    let task = waiting.begin("t").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let passed = waiting.send("bob", HANDLES_TASKS, method, task.clone()).await.unwrap_err();
        assert_eq!(passed.code(), code::METHOD_NOT_FOUND, "the service behind was asked");
        let passed = waiting.ada(method, json!({"taskId": "of a server"})).await.unwrap_err();
        assert_eq!(passed.code(), code::METHOD_NOT_FOUND);
    }
    assert_eq!(waiting.ada("tasks/get", task).await.unwrap()["status"], "working");
}

#[tokio::test]
async fn a_call_that_is_to_be_answered_otherwise_does_not_become_a_task() {
    let waiting = Waiting::new();
    for (capabilities, wishes) in [
        ("{}", json!({})),
        (r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#, json!({})),
        (HANDLES_TASKS, json!({"approval_wait_ms": 5})),
        (HANDLES_TASKS, json!({"stream": true})),
    ] {
        let params = json!({"name": "t", "arguments": {}, "_mgp": wishes});
        let refused = waiting.send("ada", capabilities, "tools/call", params).await.unwrap_err();
        assert_eq!(refused.message(), "it waits");
    }
}

#[tokio::test]
async fn a_cancelled_task_ends_its_call() {
    let waiting = Waiting::new();
    let task = waiting.begin("t").await;
    assert!(!waiting.dropped.load(Ordering::SeqCst));
    waiting.ada("tasks/cancel", task.clone()).await.unwrap();
    until(|| waiting.dropped.load(Ordering::SeqCst)).await;
    assert_eq!(waiting.settled(&task).await["status"], "cancelled");
}

#[tokio::test]
async fn calls_that_wait_end_when_the_kernel_does() {
    let waiting = Waiting::new();
    let task = waiting.begin("t").await;
    waiting.layer.close();
    assert_eq!(waiting.settled(&task).await["status"], "failed");
    until(|| waiting.dropped.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn questions_of_the_call_to_its_client_are_questions_of_the_task() {
    let waiting = Waiting::new();
    let mut task = waiting.begin("ask").await;
    waiting.answer.send_replace(Some(true));
    let asked = waiting.settled(&task).await;
    assert_eq!(asked["status"], "input_required");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["params"]["message"], "Who?");
    let answer = json!({"action": "accept", "content": {"name": "A"}});
    task["inputResponses"] = json!({ (key.as_str()): answer });
    waiting.ada("tasks/update", task.clone()).await.unwrap();
    let ended = waiting.settled(&task).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["structuredContent"]["who"], answer);
}
