//! Tests of the client's responder.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mgp_types::mgp::{CallbackRequest, CallbackType, ServerId, method};
use mgp_types::{
    Context, Error, Object, Outbox, RawJson, Request, Response, Revision, Session, StreamId, code,
};
use tokio::time::sleep;
use tower_layer::Layer;
use tower_service::Service;

use crate::callback::bench::session;
use crate::callback::{CallbackInbound, CallbackInboundLayer, CallbackResponder};
use crate::doubles::{self, TestPort, TestServer, settle, text};

/// A responder that answers with what it was asked, after a time, and counts.
struct Client {
    responder: CallbackResponder,
    handled: Arc<AtomicUsize>,
}

impl Client {
    fn echo(after: Duration) -> Self {
        let handled = Arc::<AtomicUsize>::default();
        let count = handled.clone();
        let responder = CallbackResponder::new(move |request: CallbackRequest, _: Context| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(after).await;
                RawJson::from_value(&request.message).ok()
            }
        });
        Self { responder, handled }
    }

    fn handled(&self) -> usize {
        self.handled.load(Ordering::Relaxed)
    }
}

/// One server, as the client is connected to it.
pub(super) struct Link {
    pub(super) server: Arc<TestPort>,
    session: Arc<Session>,
    inbound: CallbackInbound<TestServer>,
    call: StreamId,
}

impl Link {
    fn to(name: &str, responder: &CallbackResponder, extensions: &[&str], server: Arc<TestPort>) -> Self {
        let mut session = session(Revision::V2025_11_25, extensions, "{}");
        session.outbox = server.outbox();
        let inbound = CallbackInboundLayer::new(responder.of_server(ServerId::from(name)))
            .layer(doubles::knowing_nothing());
        Self { server, session: Arc::new(session), inbound, call: StreamId::fresh() }
    }

    pub(super) fn new(name: &str, responder: &CallbackResponder) -> Self {
        Self::to(name, responder, &["callbacks"], TestPort::answering("{}"))
    }

    pub(super) async fn asks(&mut self, request: &CallbackRequest) -> Result<Response, Error> {
        self.sends(request.to_params()).await
    }

    async fn sends(&mut self, params: Object) -> Result<Response, Error> {
        let mut request = Request::notify(method::CALLBACK_REQUEST, params);
        request.context.session = Some(self.session.clone());
        request.context.outbox = Outbox::on(self.call);
        self.inbound.call(request).await
    }

    /// Returns the answers that the server got.
    pub(super) fn answers(&self) -> Vec<String> {
        let answer = |request: &Request| {
            assert_eq!(request.method, *method::CALLBACK_RESPOND);
            text(&request.params.to_raw())
        };
        self.server.called.lock().iter().map(answer).collect()
    }
}

pub(super) fn asked(id: &str, message: &str) -> CallbackRequest {
    CallbackRequest::new(id, CallbackType::Confirmation, message)
}

const SOON: Duration = Duration::from_secs(1);

// covers: MGP-13.4-01, MGP-13.4-09..11
#[tokio::test(start_paused = true)]
async fn a_question_is_answered_beside_the_connection() {
    let client = Client::echo(SOON);
    let mut link = Link::new("s", &client.responder);
    link.asks(&asked("cb-001", "Sure?")).await.unwrap();
    settle().await;
    assert!(link.answers().is_empty());
    let passed = link.inbound.call(Request::call("ping", Object::new())).await.unwrap_err();
    assert_eq!(passed.code(), code::METHOD_NOT_FOUND);
    sleep(SOON * 2).await;
    assert_eq!(link.answers(), [r#"{"callback_id":"cb-001","response":"Sure?"}"#]);
}

// covers: MGP-13.4-02
#[tokio::test(start_paused = true)]
async fn a_repeated_question_is_handled_once_and_answered_each_time() {
    let client = Client::echo(SOON);
    let mut link = Link::new("s", &client.responder);
    for _ in 0..3 {
        link.asks(&asked("cb", "Sure?")).await.unwrap();
    }
    sleep(SOON * 2).await;
    assert_eq!((client.handled(), link.answers().len()), (1, 1));
    for answers in 2..5 {
        link.asks(&asked("cb", "Sure?")).await.unwrap();
        settle().await;
        assert_eq!((client.handled(), link.answers().len()), (1, answers));
    }
    link.call = StreamId::STANDALONE;
    link.asks(&asked("cb", "Sure?")).await.unwrap();
    settle().await;
    assert_eq!((client.handled(), link.answers().len()), (1, 5), "the call may be over by then");
}

/// I-8: a kernel that knew callbacks by their id alone dropped the callback of the second server.
#[tokio::test(start_paused = true)]
async fn two_servers_may_use_the_same_id() {
    let client = Client::echo(SOON);
    let (mut one, mut two) = (Link::new("one", &client.responder), Link::new("two", &client.responder));
    one.asks(&asked("cb-001", "One?")).await.unwrap();
    two.asks(&asked("cb-001", "Two?")).await.unwrap();
    sleep(SOON * 2).await;
    assert_eq!(one.answers(), [r#"{"callback_id":"cb-001","response":"One?"}"#]);
    assert_eq!(two.answers(), [r#"{"callback_id":"cb-001","response":"Two?"}"#]);
    assert_eq!(client.handled(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_never_one_to_another_question_of_the_same_id() {
    let client = Client::echo(SOON);
    let mut link = Link::new("s", &client.responder);
    link.asks(&asked("cb-1", "Delete a file?")).await.unwrap();
    sleep(SOON * 2).await;
    link.asks(&asked("cb-1", "Delete everything?")).await.unwrap();
    sleep(SOON * 2).await;
    assert_eq!(client.handled(), 2, "in other words");
    link.call = StreamId::fresh();
    link.asks(&asked("cb-1", "Delete everything?")).await.unwrap();
    sleep(SOON * 2).await;
    assert_eq!(client.handled(), 3, "about another call");
    let mut restarted = Link::new("s", &client.responder);
    restarted.call = link.call;
    restarted.asks(&asked("cb-1", "Delete everything?")).await.unwrap();
    sleep(SOON * 2).await;
    assert_eq!((client.handled(), restarted.answers().len()), (4, 1), "in another session");
}

// covers: MGP-13.4-08
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_not_sent() {
    let client = Client::echo(Duration::from_secs(61));
    let mut link = Link::new("s", &client.responder);
    link.asks(&asked("a", "?").with_timeout_ms(2000)).await.unwrap();
    link.asks(&asked("b", "?")).await.unwrap();
    link.asks(&asked("c", "?").with_timeout_ms(70_000)).await.unwrap();
    sleep(Duration::from_secs(90)).await;
    assert_eq!(link.answers(), [r#"{"callback_id":"c","response":"?"}"#]);
    link.asks(&asked("a", "?").with_timeout_ms(2000)).await.unwrap();
    sleep(Duration::from_secs(90)).await;
    assert_eq!((client.handled(), link.answers().len()), (3, 1));
}

// covers: MGP-13.4-15
#[tokio::test(start_paused = true)]
async fn a_notification_is_handled_once_and_not_answered() {
    let client = Client::echo(SOON);
    let mut link = Link::new("s", &client.responder);
    let notification = CallbackRequest::new("n", CallbackType::Notification, "Done.");
    for _ in 0..2 {
        link.asks(&notification).await.unwrap();
        sleep(SOON * 2).await;
    }
    assert_eq!((client.handled(), link.answers().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_no_handler_knows_is_not_answered_and_what_one_knows_is() {
    let responder = CallbackResponder::new(async |request: CallbackRequest, _: Context| {
        match request.callback_type.as_str() {
            "llm_completion" => request.unknown.get("messages"),
            _ => None,
        }
    });
    let mut link = Link::new("s", &responder);
    let later = r#"{"callback_id":"a","callback_type":"llm_completion","messages":[1]}"#;
    link.sends(Object::parse(later).unwrap()).await.unwrap();
    link.asks(&CallbackRequest::new("b", CallbackType::from("oracle"), "?")).await.unwrap();
    sleep(SOON).await;
    assert_eq!(link.answers(), [r#"{"callback_id":"a","response":[1]}"#]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_answered_and_plain_sessions_change_nothing() {
    let client = Client::echo(SOON);
    let mut link = Link::new("s", &client.responder);
    link.sends(Object::new()).await.unwrap();
    let mut plain = Link::to("s", &client.responder, &[], TestPort::new());
    assert_eq!(plain.asks(&asked("a", "?")).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
    sleep(SOON * 2).await;
    assert_eq!(client.handled(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_is_sent_again_only_when_it_is_asked_for() {
    let client = Client::echo(SOON);
    let lost = TestPort::deciding(async |_| Err(Error::disconnected("gone")));
    let mut link = Link::to("s", &client.responder, &["callbacks"], lost);
    link.asks(&asked("a", "?")).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    assert_eq!(link.answers().len(), 1);
    link.asks(&asked("a", "?")).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    assert_eq!((client.handled(), link.answers().len()), (1, 2));

    let mut deaf = Link::to("t", &client.responder, &["callbacks"], TestPort::new());
    deaf.asks(&asked("a", "?")).await.unwrap();
    sleep(SOON * 2).await;
    for _ in 0..9 {
        deaf.asks(&asked("a", "?")).await.unwrap();
        settle().await;
    }
    assert_eq!(deaf.answers().len(), 4, "a server that acknowledges nothing is not flooded");
}

#[tokio::test(start_paused = true)]
async fn one_server_is_not_worked_for_without_end() {
    let client = Client::echo(Duration::from_secs(30));
    let (mut one, mut two) = (Link::new("one", &client.responder), Link::new("two", &client.responder));
    for number in 0..70 {
        one.asks(&asked(&number.to_string(), "?")).await.unwrap();
    }
    two.asks(&asked("0", "?")).await.unwrap();
    settle().await;
    assert_eq!(client.handled(), 65);
    for round in 1..9 {
        sleep(Duration::from_secs(31)).await;
        for number in 0..64 {
            one.asks(&asked(&format!("{round}-{number}"), "?")).await.unwrap();
        }
    }
    sleep(Duration::from_secs(31)).await;
    let known = format!("{:?}", client.responder);
    assert!(known.contains("known: 257"), "{known}");
    sleep(Duration::from_mins(20)).await;
    two.asks(&asked("1", "?")).await.unwrap();
    assert!(format!("{:?}", client.responder).contains("known: 1,"));
}

#[tokio::test(start_paused = true)]
async fn handlers_end_with_their_desk() {
    struct Ended(Arc<AtomicUsize>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let ended = Arc::<AtomicUsize>::default();
    let counted = ended.clone();
    let responder = CallbackResponder::new(move |_: CallbackRequest, _: Context| {
        let guard = Ended(counted.clone());
        async move {
            let _guard = guard;
            pending::<Option<RawJson>>().await
        }
    });
    let mut link = Link::new("s", &responder);
    link.asks(&asked("a", "?")).await.unwrap();
    settle().await;
    drop(responder);
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    drop(link);
    settle().await;
    assert_eq!(ended.load(Ordering::Relaxed), 1);
}
