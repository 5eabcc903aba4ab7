//! Whose call a question is about, where the server does not say.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_transport::AskedDuring;
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Principal, RawJson, Request, Response, Revision,
    Session, StreamId,
};
use tower_layer::Layer;
use tower_service::Service;

use crate::asking::{CallsInWork, PassOnLayer};

/// Never answers calls, nor anything else.
#[derive(Clone)]
struct Never;

impl Service<Request> for Never {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        Box::pin(std::future::pending())
    }
}

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

fn call(name: &'static str, capabilities: &'static str) -> Request {
    let mut request = Request::call(Method::TOOLS_CALL, Object::new());
    let mut session = Session::new(Revision::V2025_11_25);
    session.capabilities = Object::parse(capabilities).unwrap();
    request.context.session = Some(Arc::new(session));
    request.context.principal = Some(Principal::new(name));
    request.context.outbox = Outbox::new(Arc::new(Named(name)), StreamId::fresh());
    request
}

async fn asked(calls: &CallsInWork, during: Option<StreamId>) -> Result<String, Error> {
    let mut question = Request::call(Method::ROOTS_LIST, Object::new());
    if let Some(stream) = during {
        question.extensions.insert(AskedDuring::new(stream));
    }
    let answer = PassOnLayer::new(calls.clone()).layer(Never).call(question).await?;
    Ok(String::from_utf8(answer.result.as_bytes().to_vec()).unwrap())
}

#[tokio::test]
async fn a_question_goes_to_the_one_client_it_can_be_about() {
    let calls = CallsInWork::default();
    let mut way = calls.layer().layer(Never);
    assert_eq!(asked(&calls, None).await.unwrap_err().code(), -32600);
    let _deaf = way.call(call("deaf", r#"{"elicitation":{}}"#));
    assert!(asked(&calls, None).await.is_err());
    let a = way.call(call("a", r#"{"roots":{}}"#));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"a"}"#);
    // Another call of the same client, as far as is known.
    let again = way.call(call("a", r#"{"roots":{}}"#));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"a"}"#);

    let other = call("b", r#"{"roots":{}}"#);
    let stream = other.context.outbox.stream();
    let b = way.call(other);
    let error = asked(&calls, None).await.unwrap_err();
    assert!(error.message().contains("several clients"), "{error}");
    // Where the server says it, there is no doubt.
    assert_eq!(asked(&calls, Some(stream)).await.unwrap(), r#"{"name":"b"}"#);
    drop((a, again));
    assert_eq!(asked(&calls, None).await.unwrap(), r#"{"name":"b"}"#);
    drop(b);
    assert!(asked(&calls, None).await.is_err());
}

#[tokio::test]
async fn a_call_that_never_was_of_a_client_is_not_asked_about() {
    let calls = CallsInWork::default();
    let mut way = calls.layer().layer(Never);
    let mut own = call("a", r#"{"roots":{}}"#);
    own.context.outbox = Outbox::CLOSED;
    let _own = way.call(own);
    assert!(asked(&calls, None).await.is_err());
}
