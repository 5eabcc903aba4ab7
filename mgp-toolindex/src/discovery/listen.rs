//! Requests that listen for changes of the tools.

use std::sync::Arc;

use mgp_types::mcp::{SubscriptionsAcknowledgedParams, SubscriptionsListenParams};
use mgp_types::{BoxFuture, Error, Method, Outbox, OutboxPort, Principal, Request, Response, StreamId};

use super::notifier::ListenStream;
use super::shared::DiscoveryShared;
use crate::session::SessionKey;

/// A request that listens for changes of the tools. Its acknowledgement has to be the first message on its stream, so
/// that changes are told only after it.
#[derive(Debug)]
pub(super) struct ListenRequest {
    shared: Arc<DiscoveryShared>,
    key: SessionKey,
    request: Option<Arc<()>>,
}

impl ListenRequest {
    /// Puts itself between a request that listens for changes and its peer; `None` for other requests.
    pub(super) fn of(shared: &Arc<DiscoveryShared>, request: &mut Request) -> Option<Self> {
        let wanted: SubscriptionsListenParams = request.body().ok()?;
        let session = request.context.session.clone()?;
        if wanted.notifications.tools_list_changed != Some(true) {
            return None;
        }
        let key = shared.key(&request.context);
        let outbox = request.context.outbox.clone();
        let (port, stream) = outbox.clone().into_parts()?;
        let token = Arc::new(());
        let between = Acknowledging {
            port,
            shared: Arc::clone(shared),
            key: key.clone(),
            principal: request.context.principal.clone(),
            listener: ListenStream { outbox, session, request: Arc::downgrade(&token) },
        };
        request.context.outbox = Outbox::new(Arc::new(between), stream);
        Some(Self { shared: Arc::clone(shared), key, request: Some(token) })
    }
}

impl Drop for ListenRequest {
    fn drop(&mut self) {
        self.request = None;
        self.shared.tellings.left(&self.key);
    }
}

struct Acknowledging {
    port: Arc<dyn OutboxPort>,
    shared: Arc<DiscoveryShared>,
    key: SessionKey,
    principal: Option<Principal>,
    listener: ListenStream,
}

impl OutboxPort for Acknowledging {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method != Method::ACKNOWLEDGED {
            return self.port.notify(stream, notification);
        }
        let acknowledged: Option<SubscriptionsAcknowledgedParams> = notification.body().ok();
        let will_tell = acknowledged
            .is_some_and(|acknowledgement| acknowledgement.notifications.tools_list_changed == Some(true));
        Box::pin(async move {
            self.port.notify(stream, notification).await?;
            if will_tell {
                self.shared.tellings.listens(&self.key, self.principal.as_ref(), self.listener.clone());
            }
            Ok(())
        })
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.port.call(stream, request)
    }
}
