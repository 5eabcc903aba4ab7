//! Whose call a question is about, where the server does not say.

use std::sync::Arc;

use mgp_transport::OriginatingCall;
use mgp_types::{
    BoxFuture, Error, Gate as _, Method, Object, Outbox, OutboxPort, Principal, RawJson, Request, Response,
    Revision, Session, StreamId,
};
use tower_service::Service;

use crate::approvals::{ElicitationSessions, relay};
use crate::call::calls_in_work::CallsInWork;
use crate::test_kernel::AnsweringServer;

/// Never answers calls, nor anything else.
const NEVER: AnsweringServer = AnsweringServer(|_| Box::pin(std::future::pending()));

/// A client that answers questions with its name.
struct Named(&'static str);

impl OutboxPort for Named {
    fn notify(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let name = RawJson::from_value(&serde_json::json!({"name": self.0})).unwrap();
        Box::pin(std::future::ready(Ok(Response::new(name))))
    }
}

/// A client with a session, or one that describes itself with each call.
fn client(capabilities: &'static str, revision: Revision) -> Arc<Session> {
    let mut session = Session::new(revision);
    session.capabilities = Object::parse(capabilities).unwrap();
    Arc::new(session)
}

fn session(capabilities: &'static str) -> Arc<Session> {
    client(capabilities, Revision::V2025_11_25)
}

fn call(name: &'static str, session: &Arc<Session>) -> Request {
    let mut request = Request::call(Method::TOOLS_CALL, Object::new());
    request.context.session = Some(Arc::clone(session));
    request.context.principal = Some(Principal::new(name));
    request.context.outbox = Outbox::new(Arc::new(Named(name)), StreamId::fresh());
    request
}

async fn asked(calls: &CallsInWork, during: Option<StreamId>) -> Result<String, Error> {
    let mut question = Request::call(Method::ROOTS_LIST, Object::new());
    if let Some(stream) = during {
        question.extensions.insert(OriginatingCall::new(stream));
    }
    let answer = relay(calls, &ElicitationSessions::default(), question).await?;
    Ok(String::from_utf8(answer.result.as_bytes().to_vec()).unwrap())
}

#[track_caller]
fn is_of_several(refused: Result<String, Error>) {
    let error = refused.unwrap_err();
    assert!(error.message().contains("several clients"), "{error}");
}

const ROOTS: &str = r#"{"roots":{}}"#;

#[tokio::test]
async fn a_question_goes_to_the_one_client_it_can_be_about() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    assert_eq!(asked(&calls, None).await.unwrap_err().code(), -32600);
    let (of_a, of_b) = (session(ROOTS), session(ROOTS));
    let a = way.call(call("a", &of_a));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"a"}"#);
    let again = way.call(call("a", &of_a));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"a"}"#);

    let other = call("b", &of_b);
    let stream = other.context.outbox.stream();
    let b = way.call(other);
    is_of_several(asked(&calls, None).await);
    // Where the server says it, there is no doubt.
    assert_eq!(asked(&calls, Some(stream)).await.unwrap(), r#"{"name":"b"}"#);
    drop((a, again));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"b"}"#);
    drop(b);
    assert!(asked(&calls, None).await.is_err());
}

#[tokio::test]
async fn a_question_about_the_call_of_a_client_that_cannot_be_asked_goes_to_no_other() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let deaf = way.call(call("ada", &session(r#"{"elicitation":{}}"#)));
    let _bob = way.call(call("bob", &session(ROOTS)));
    is_of_several(asked(&calls, None).await);
    drop(deaf);
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"bob"}"#);
    // One to which no way leads back is a client all the same.
    let mut away = call("ada", &session(ROOTS));
    away.context.outbox = Outbox::CLOSED;
    let _away = way.call(away);
    is_of_several(asked(&calls, None).await);
}

#[tokio::test]
async fn two_sessions_of_one_principal_are_two_clients() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let _one = way.call(call("local-http", &session(ROOTS)));
    let other = way.call(call("local-http", &session(ROOTS)));
    is_of_several(asked(&calls, None).await);
    // What describes itself may be either of them.
    let _stateless = way.call(call("local-http", &client(ROOTS, Revision::V2026_07_28)));
    is_of_several(asked(&calls, None).await);
    drop(other);
    assert!(asked(&calls, None).await.is_ok());
}

#[tokio::test]
async fn a_client_that_describes_itself_is_its_principal() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let stateless = client(ROOTS, Revision::V2026_07_28);
    let _one = way.call(call("a", &stateless));
    let _again = way.call(call("a", &client(ROOTS, Revision::V2026_07_28)));
    assert!(asked(&calls, None).await.is_ok());
    // Others may have been described alike.
    let _other = way.call(call("b", &stateless));
    is_of_several(asked(&calls, None).await);
}

#[tokio::test]
async fn a_question_is_about_the_latest_call_even_if_only_an_older_one_could_ask() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let _older = way.call(call("local-http", &client(ROOTS, Revision::V2026_07_28)));
    let latest = way.call(call("local-http", &client("{}", Revision::V2026_07_28)));
    assert!(asked(&calls, None).await.is_err());
    drop(latest);
    assert!(asked(&calls, None).await.is_ok());
}

#[tokio::test]
async fn a_question_about_a_call_that_is_over_is_about_no_other() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let _call = way.call(call("a", &session(ROOTS)));
    assert_eq!(asked(&calls, Some(StreamId::fresh())).await.unwrap_err().code(), -32600);
}

#[tokio::test]
async fn a_client_without_a_way_back_is_not_asked() {
    let calls = CallsInWork::default();
    let mut way = calls.layer(NEVER);
    let mut own = call("a", &session(ROOTS));
    own.context.outbox = Outbox::CLOSED;
    let _own = way.call(own);
    assert!(asked(&calls, None).await.is_err());
}
