//! An outbox that notes its messages.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;

use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Params, Request, Response, StreamId};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Takes one message per permit.
pub(crate) struct Reader {
    pub(crate) permits: Semaphore,
    noted: Mutex<Vec<String>>,
    streams: Mutex<Vec<StreamId>>,
}

pub(crate) fn reader() -> Arc<Reader> {
    reader_of(Semaphore::MAX_PERMITS)
}

pub(crate) fn reader_of(permits: usize) -> Arc<Reader> {
    Arc::new(Reader { permits: Semaphore::new(permits), noted: Mutex::default(), streams: Mutex::default() })
}

impl Reader {
    pub(crate) fn noted(&self) -> Vec<String> {
        self.noted.lock().clone()
    }

    pub(crate) fn streams(&self) -> Vec<StreamId> {
        self.streams.lock().clone()
    }
}

impl OutboxPort for Reader {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.permits.acquire().await.expect("never closed").forget();
            let method = notification.method.as_str().trim_start_matches("notifications/mgp.").to_owned();
            self.noted.lock().push(format!("{method} {}", text(&notification.params)));
            self.streams.lock().push(stream);
            Ok(())
        })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::internal("nobody asks")) })
    }
}

/// Returns a call whose outbox is `reader`.
pub(crate) fn followed(reader: &Arc<Reader>) -> Request {
    let mut request = Request::call("tools/call", Params::new());
    request.context.outbox = Outbox::new(Arc::clone(reader) as _, StreamId::fresh());
    request
}

pub(crate) fn text(params: &Params) -> String {
    String::from_utf8(params.to_raw().as_bytes().to_vec()).unwrap()
}
