use std::future::ready;
use std::sync::Arc;

use mgp_types::mgp::method;
use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Request, Response, Session, StreamId};

use super::ServerDesk;
use crate::callback::owner::has_callbacks;

/// The outbox of a call, with the desk in front of it.
pub(super) fn wrap(desk: &ServerDesk, session: &Arc<Session>, outbox: Outbox) -> Outbox {
    if !has_callbacks(session) {
        return outbox;
    }
    // A call whose messages nobody wants so far has no stream of its own.
    let stream = match outbox.stream() {
        StreamId::STANDALONE => StreamId::fresh(),
        stream => stream,
    };
    let port = CallPort { desk: desk.clone(), session: Arc::clone(session), inner: outbox };
    Outbox::new(Arc::new(port), stream)
}

/// What comes about one call of our own.
struct CallPort {
    desk: ServerDesk,
    session: Arc<Session>,
    inner: Outbox,
}

impl OutboxPort for CallPort {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method != *method::CALLBACK_REQUEST {
            return Box::pin(self.inner.notify(notification));
        }
        let mut context = notification.context.clone();
        context.session.get_or_insert_with(|| Arc::clone(&self.session));
        context.outbox = Outbox::on(stream);
        self.desk.take(&self.session, &notification, context);
        Box::pin(ready(Ok(())))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.inner.call(request))
    }
}
