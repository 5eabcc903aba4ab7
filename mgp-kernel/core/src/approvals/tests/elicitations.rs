//! The sessions that were asked to open a page, which are not kept.

use std::sync::Arc;

use mgp_types::{Method, Object, Outbox, OutboxPort, Request, Response, Revision, Session, StreamId};

use super::super::{ElicitationSessions, LONGEST_ID, MAX_ELICITATIONS};

struct Deaf;

impl OutboxPort for Deaf {
    fn notify(&self, _: StreamId, _: Request) -> mgp_types::BoxFuture<'_, Result<(), mgp_types::Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> mgp_types::BoxFuture<'_, Result<Response, mgp_types::Error>> {
        Box::pin(std::future::ready(Ok(Response::empty())))
    }
}

fn page(id: &str) -> Request {
    let params = format!(r#"{{"mode":"url","elicitationId":"{id}"}}"#);
    Request::call(Method::ELICIT, Object::parse(params).unwrap())
}

#[test]
fn the_oldest_are_forgotten_and_no_session_is_kept() {
    let mut session = Session::new(Revision::V2025_11_25);
    session.outbox = Outbox::new(Arc::new(Deaf), StreamId::STANDALONE);
    let (session, elicitations) = (Arc::new(session), ElicitationSessions::default());
    for number in 0..=MAX_ELICITATIONS {
        elicitations.note(&page(&number.to_string()), &session);
    }
    elicitations.note(&page(&"x".repeat(LONGEST_ID + 1)), &session);
    assert!(elicitations.session("0").is_none() && elicitations.session("1").is_some());
    assert_eq!(elicitations.0.lock().len(), MAX_ELICITATIONS);
    drop(session);
    assert!(elicitations.session("1").is_none());
}
