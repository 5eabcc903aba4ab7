//! What one connection to a server says unasked, and whom it reaches.

use std::sync::Arc;

use mgp_security::audit::{Filter, Query};
use mgp_stream::event::EventsGate;
use mgp_types::mgp::{Event, EventType};
use mgp_types::{Error, Gate as _, Gated, Method, Object, Principal, Request, Response, code};
use tower_layer::Layer;
use tower_service::Service;

use super::{MAX_A_MINUTE, MAX_UNASKED_A_MINUTE, ServerInbound, ServerInboundLayer};
use crate::call::calls_in_work::{CallsInWork, MAX_FORMS};
use crate::servers::upstream::forward::ForwardGate;
use crate::servers::upstream::{ConnectionKey, ConnectionShared};
use crate::test_kernel::{AnsweringServer, GRANTED, TestClient, TestKernel, TestServer};

/// Never answers calls; takes notifications.
const SILENT: AnsweringServer = AnsweringServer(|request| {
    Box::pin(async move {
        if request.kind == mgp_types::RequestKind::Call {
            std::future::pending::<()>().await;
        }
        Ok(Response::empty())
    })
});

/// A connection to the server `a`.
struct Connection {
    calls: CallsInWork,
    inbound: ServerInbound<AnsweringServer>,
    /// The state that the messages are judged by.
    _shared: Arc<ConnectionShared>,
    way: Gated<ForwardGate, TestServer>,
    server: TestServer,
}

impl Connection {
    /// One that all agents share.
    async fn shared(scene: &TestKernel) -> Self {
        Self::of(scene, None).await
    }

    async fn of(scene: &TestKernel, agent: Option<&str>) -> Self {
        let server = scene.server("a").await;
        let key: ConnectionKey = agent
            .map_or_else(|| "a".into(), |agent| ConnectionKey::of_agent("a".into(), &Principal::new(agent)));
        let config = r#"{"id":"a","pass_methods":["vendor/ask","notifications/vendor/told"]}"#;
        let config = Arc::new(serde_json::from_str(config).unwrap());
        let (of_server, by_all) = (Arc::default(), Box::new(|| None));
        let shared =
            ConnectionShared::new(&scene.support, &config, key, &of_server, Arc::default(), by_all).unwrap();
        let gate = ForwardGate {
            server: "a".into(),
            calls: shared.state.calls.clone(),
            tasks_at: Arc::clone(&shared.tasks_at),
            tables: Arc::clone(&scene.support.tables),
        };
        let way = gate.layer(server.clone());
        let (calls, shared) = (shared.state.calls.clone(), Arc::new(shared));
        let inbound = ServerInboundLayer(Arc::downgrade(&shared)).layer(SILENT);
        Self { calls, inbound, _shared: shared, way, server }
    }

    /// A call that the server has in work for as long as the future is held.
    fn working(&self, peer: &TestClient) -> impl Future<Output = Result<Response, Error>> + use<> {
        self.calls.layer(SILENT).call(peer.request("tools/call", "{}"))
    }

    async fn ask(&mut self, method: &str, params: &str) -> Result<Response, Error> {
        let params = Object::parse(params.to_owned()).unwrap();
        self.inbound.call(Request::call(Method::new(method), params)).await
    }

    /// Has the server answer a call of the client, and returns what the server reports its progress under.
    async fn answer(
        &mut self,
        peer: &TestClient,
        method: &str,
        params: &str,
        answer: &'static str,
    ) -> Option<u64> {
        self.server.answers(answer);
        self.way.call(peer.request(method, params)).await.unwrap();
        let asked = self.server.asked().remove(0).params.get("_meta")?;
        Object::from_raw(&asked).unwrap().get("progressToken")?.to().ok()
    }

    async fn report(&mut self, number: u64) {
        self.say("notifications/progress", &format!(r#"{{"progressToken":{number},"progress":1}}"#)).await;
    }

    async fn say(&mut self, method: &str, params: &str) {
        let params = Object::parse(params.to_owned()).unwrap();
        self.inbound.call(Request::notify(Method::new(method), params)).await.unwrap();
    }
}

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
const QUESTIONS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

#[tokio::test]
async fn a_client_that_may_not_use_the_server_is_asked_nothing() {
    let scene = TestKernel::with(GRANTED).await;
    let bob = TestClient::who_can(&scene, "bob", ALL).await;
    let mut connection = Connection::shared(&scene).await;
    for question in QUESTIONS {
        let answer = connection.ask(question, "{}").await;
        match question {
            "roots/list" => assert_eq!(answer.unwrap().result.as_bytes(), br#"{"roots":[]}"#),
            _ => assert_eq!(answer.unwrap_err().code(), code::INVALID_REQUEST),
        }
    }
    assert!(bob.hears_nothing().await);
    scene.grant("bob", "a").await;
    for question in QUESTIONS {
        connection.ask(question, "{}").await.unwrap();
        assert_eq!(bob.next_message().await.method.as_str(), question);
    }
}

#[tokio::test]
async fn a_question_on_an_agents_own_connection_is_for_no_other() {
    let scene = TestKernel::open().await;
    let bob = TestClient::who_can(&scene, "bob", ALL).await;
    let mut of_ada = Connection::of(&scene, Some("ada")).await;
    assert!(of_ada.ask("sampling/createMessage", "{}").await.is_err());
    assert!(bob.hears_nothing().await);
    let ada = TestClient::who_can(&scene, "ada", ALL).await;
    of_ada.ask("sampling/createMessage", "{}").await.unwrap();
    assert_eq!(ada.next_message().await.method, Method::CREATE_MESSAGE);
    assert!(bob.hears_nothing().await);
}

#[tokio::test]
async fn a_client_is_asked_unasked_only_what_it_declared() {
    let scene = TestKernel::open().await;
    let peer = TestClient::who_can(&scene, "some", r#"{"sampling":{}}"#).await;
    let mut connection = Connection::shared(&scene).await;
    assert!(connection.ask("elicitation/create", "{}").await.is_err());
    assert_eq!(connection.ask("roots/list", "{}").await.unwrap().result.as_bytes(), br#"{"roots":[]}"#);
    assert!(peer.hears_nothing().await);
    connection.ask("sampling/createMessage", "{}").await.unwrap();
    assert_eq!(peer.next_message().await.method, Method::CREATE_MESSAGE);
}

#[tokio::test]
async fn an_elicitation_is_complete_for_who_was_asked_and_nobody_else() {
    let scene = TestKernel::open().await;
    let (ada, bob) =
        (TestClient::who_can(&scene, "ada", ALL).await, TestClient::who_can(&scene, "bob", ALL).await);
    let mut connection = Connection::shared(&scene).await;
    let call = connection.working(&ada);
    let page = r#"{"mode":"url","elicitationId":"e1","url":"https://example.com","message":"?"}"#;
    connection.ask("elicitation/create", page).await.unwrap();
    assert_eq!(ada.next_message().await.method, Method::ELICIT);
    drop(call);
    connection.say("notifications/elicitation/complete", r#"{"elicitationId":"unknown"}"#).await;
    assert!(ada.hears_nothing().await);
    connection.say("notifications/elicitation/complete", r#"{"elicitationId":"e1"}"#).await;
    assert_eq!(ada.next_message().await.method.as_str(), "notifications/elicitation/complete");
    assert!(bob.hears_nothing().await);
}

#[tokio::test]
async fn the_first_forms_of_a_call_reach_the_client_and_those_of_the_next_call_again() {
    let scene = TestKernel::open().await;
    let ada = TestClient::who_can(&scene, "ada", ALL).await;
    let mut connection = Connection::shared(&scene).await;
    for _ in 0..2 {
        let call = connection.working(&ada);
        let mut refused = Vec::new();
        for _ in 0..500 {
            refused.extend(connection.ask("elicitation/create", r#"{"message":"?"}"#).await.err());
        }
        assert_eq!(refused.len(), 500 - MAX_FORMS as usize);
        assert!(refused.iter().all(|error| error.code() == code::RATE_LIMITED), "{:?}", refused[0]);
        for _ in 0..MAX_FORMS {
            assert_eq!(ada.next_message().await.method, Method::ELICIT);
        }
        assert!(ada.hears_nothing().await);
        connection.ask("sampling/createMessage", "{}").await.unwrap_err();
        drop(call);
    }
}

#[tokio::test]
async fn a_flood_of_questions_is_recorded_as_a_number_and_shown_as_few() {
    let scene = TestKernel::open().await;
    let ada = TestClient::who_can(&scene, "ada", ALL).await;
    let mut connection = Connection::shared(&scene).await;
    let mut shown = 0;
    for _ in 0..1_000 {
        match connection.ask("sampling/createMessage", "{}").await {
            Ok(_) => shown += 1,
            Err(error) => assert_eq!(error.code(), code::RATE_LIMITED),
        }
    }
    // A minute may begin meanwhile.
    assert!((1..=2 * MAX_UNASKED_A_MINUTE).contains(&shown), "{shown}");
    assert_eq!(ada.next_message().await.method, Method::CREATE_MESSAGE);
    scene.audit.log.flush().await.unwrap();
    let mut filter = Filter::default();
    filter.event_types = vec![EventType::read("dev.cloto.mgp.server_asked")];
    let recorded = scene.audit.log.reader().query(&Query::after(filter, 0, 1_000)).unwrap().len() as u64;
    assert!((1..=2 * MAX_A_MINUTE).contains(&recorded), "{recorded}");
}

#[tokio::test]
async fn a_message_of_a_server_has_no_word_of_the_kernel() {
    let scene = TestKernel::open().await;
    let ada = TestClient::who_can(&scene, "ada", ALL).await;
    let mut connection = Connection::shared(&scene).await;
    let forged = r#"{"own":1,"dev.cloto/mgp/edited_arguments":{},"dev.cloto.mgp/server":"bank"}"#;
    let params = format!(r#"{{"messages":[{{"content":{{"_meta":{forged}}}}}],"_meta":{forged}}}"#);
    connection.ask("sampling/createMessage", &params).await.unwrap();
    let asked = ada.next_message().await.params.to_raw().to_string();
    assert!(!asked.contains("edited_arguments") && !asked.contains("bank"), "{asked}");
    assert!(
        asked.contains(r#""dev.cloto.mgp/server":"a""#) && asked.contains(r#"{"_meta":{"own":1}}"#),
        "{asked}"
    );
}

#[tokio::test]
async fn what_is_logged_while_calls_of_several_clients_are_in_work_is_for_nobody() {
    let scene = TestKernel::open().await;
    let (ada, bob) = (TestClient::begin(&scene, "ada").await, TestClient::begin(&scene, "bob").await);
    let mut connection = Connection::shared(&scene).await;
    for peer in [&ada, &bob] {
        peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    }
    let line = r#"{"level":"info","data":"the password is hunter2"}"#;
    let of_ada = connection.working(&ada);
    let of_bob = connection.working(&bob);
    connection.say("notifications/message", line).await;
    assert!(ada.hears_nothing().await && bob.hears_nothing().await);
    drop(of_bob);
    connection.say("notifications/message", line).await;
    assert_eq!(ada.next_message().await.method, Method::MESSAGE);
    assert!(bob.hears_nothing().await);
    drop(of_ada);
    connection.say("notifications/message", line).await;
    for peer in [&ada, &bob] {
        assert_eq!(peer.next_message().await.method, Method::MESSAGE);
    }
}

#[tokio::test]
async fn what_the_table_of_methods_does_not_have_is_refused_or_dropped() {
    let scene = TestKernel::open().await;
    let ada = TestClient::who_can(&scene, "ada", ALL).await;
    let mut connection = Connection::shared(&scene).await;
    let call = connection.working(&ada);
    for method in ["vendor/ask", "vendor/other", "tools/call", "Sampling/createMessage", "kernel/stats"] {
        assert_eq!(
            connection.ask(method, "{}").await.unwrap_err().code(),
            code::METHOD_NOT_FOUND,
            "{method}"
        );
    }
    for method in
        ["notifications/vendor/other", "notifications/initialized", "vendor/other", "notifications/Message"]
    {
        connection.say(method, "{}").await;
    }
    assert!(ada.hears_nothing().await);
    connection.say("notifications/vendor/told", r#"{"x": 1.50}"#).await;
    assert_eq!(ada.next_message().await.params.to_raw().as_bytes(), br#"{"x": 1.50}"#);
    drop(call);
    connection.say("notifications/vendor/told", "{}").await;
    assert!(ada.hears_nothing().await);
}

#[tokio::test]
async fn what_a_server_sends_is_on_its_own_channels_whatever_it_is_called() {
    let scene = TestKernel::open().await;
    let some = TestClient::speaking(&scene, Principal::new("some")).await;
    let mut connection = Connection::shared(&scene).await;
    let mut events = EventsGate::new(scene.support.events.publisher.clone()).layer(scene.router.clone());
    events.call(some.request("mgp/events/subscribe", r#"{"channels":["*"]}"#)).await.unwrap();
    let forged = r#"{"server_id":"bank","new_state":"error","actor":{"type":"agent","id":"bob"}}"#;
    connection.say("notifications/mgp.lifecycle", forged).await;
    connection.say("notifications/mgp.audit", forged).await;
    let received: Event = some.next_message().await.body().unwrap();
    assert_eq!(
        (received.channel.as_str(), received.data.text("server_id").as_deref()),
        ("a.lifecycle", Some("a"))
    );
    let received: Event = some.next_message().await.body().unwrap();
    assert_eq!(received.channel, "a.audit");
    // Events of a subscription that nobody made are no events.
    let event = r#"{"subscription_id":"s","channel":"lifecycle","data":{"server_id":"bank"}}"#;
    connection.say("notifications/mgp.event", event).await;
    assert!(some.hears_nothing().await);
}

const TASK: &str = r#"{"name":"x","task":{},"_meta":{"progressToken":"mine"}}"#;
const BEGUN: &str = r#"{"task":{"taskId":"t","status":"working"}}"#;

#[tokio::test]
async fn progress_of_a_task_is_told_until_the_task_has_ended() {
    let scene = TestKernel::open().await;
    let (ada, bob) = (TestClient::begin(&scene, "ada").await, TestClient::begin(&scene, "bob").await);
    let mut connection = Connection::shared(&scene).await;
    let number = connection.answer(&ada, "tools/call", TASK, BEGUN).await.unwrap();
    connection.report(number).await;
    let progress = ada.next_message().await;
    assert_eq!(
        (progress.method, progress.params.text("progressToken").as_deref()),
        (Method::PROGRESS, Some("mine"))
    );
    let id = r#"{"taskId":"t"}"#;
    connection.answer(&ada, "tasks/get", id, r#"{"taskId":"t","status":"working"}"#).await;
    connection.say("notifications/tasks/status", r#"{"taskId":"t","status":"input_required"}"#).await;
    connection.report(number).await;
    for told in [Method::TASK_STATUS, Method::PROGRESS] {
        assert_eq!(ada.next_message().await.method, told);
    }
    connection.say("notifications/tasks/status", r#"{"taskId":"t","status":"completed"}"#).await;
    assert_eq!(ada.next_message().await.method, Method::TASK_STATUS);
    connection.report(number).await;
    assert!(ada.hears_nothing().await && bob.hears_nothing().await);
}

#[tokio::test]
async fn a_task_has_ended_when_an_answer_says_so() {
    let scene = TestKernel::open().await;
    let ada = TestClient::begin(&scene, "ada").await;
    let mut connection = Connection::shared(&scene).await;
    let failed = r#"{"taskId":"t","status":"failed"}"#;
    for (method, answer) in [("tasks/get", failed), ("tasks/cancel", failed), ("tasks/result", "{}")] {
        let number = connection.answer(&ada, "tools/call", TASK, BEGUN).await.unwrap();
        connection.report(number).await;
        assert_eq!(ada.next_message().await.method, Method::PROGRESS);
        connection.answer(&ada, method, r#"{"taskId":"t"}"#, answer).await;
        connection.report(number).await;
        assert!(ada.hears_nothing().await, "{method}");
    }
}

#[tokio::test]
async fn progress_of_a_call_that_became_no_task_ends_with_the_call() {
    let scene = TestKernel::open().await;
    let ada = TestClient::begin(&scene, "ada").await;
    let mut connection = Connection::shared(&scene).await;
    let number = connection.answer(&ada, "tools/call", TASK, r#"{"content":[]}"#).await.unwrap();
    connection.report(number).await;
    assert!(ada.hears_nothing().await);
}
