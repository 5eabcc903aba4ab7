//! The calls of a client that are followed: the server's messages about them go to their callers.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Error, Method, Request, RequestKind, Response, StreamId};
use parking_lot::Mutex;
use scopeguard::guard;

use crate::deliveries::{CallDeliveries, PeerOutcome};
use crate::{ConnectionLimits, about};

/// The calls of one client that have a stream on our side: the server's messages about them go to their callers, and
/// messages of ours can be about them.
#[derive(Default)]
pub(super) struct FollowedCalls(Mutex<HashMap<i64, FollowedStream, RandomState>>);

struct FollowedStream {
    deliveries: Arc<CallDeliveries>,
    /// True if the call listens for notifications.
    listens: bool,
}

impl FollowedCalls {
    /// Waits for the answer to call `id`, and meanwhile delivers the messages about it that readers other than `asking`
    /// get.
    pub(super) async fn follow(
        &self,
        id: i64,
        request: &Request,
        limits: &ConnectionLimits,
        asking: impl Future<Output = Result<PeerOutcome, Error>>,
    ) -> PeerOutcome {
        let outbox = &request.context.outbox;
        if !about::is_followed(outbox) || about::own(&request.method, outbox).is_some() {
            return asking.await?;
        }
        let deliveries = Arc::new(CallDeliveries::new(outbox.clone(), limits));
        let listens = request.method == Method::LISTEN;
        self.0.lock().insert(id, FollowedStream { deliveries: Arc::clone(&deliveries), listens });
        let deliveries = guard(deliveries, |deliveries| {
            let call = self.0.lock().remove(&id);
            drop(call);
            deliveries.close();
        });
        let mut delivered = pin!(deliveries.run());
        let answer = tokio::select! {
            biased;
            answer = asking => answer,
            failed = &mut delivered => return failed,
        };
        deliveries.answer(answer.unwrap_or_else(Err));
        delivered.await
    }

    /// Returns the call `id`, if it is followed.
    pub(super) fn get(&self, id: i64) -> Option<Arc<CallDeliveries>> {
        self.0.lock().get(&id).map(|call| Arc::clone(&call.deliveries))
    }

    /// Returns the call `id`, if it is followed and listens.
    pub(super) fn listener(&self, id: i64) -> Option<Arc<CallDeliveries>> {
        self.0.lock().get(&id).filter(|call| call.listens).map(|call| Arc::clone(&call.deliveries))
    }

    /// Writes the id of our call into a message about it, if `request` is such a message. Returns an answer if the call
    /// is over; else the request is to be sent.
    pub(super) fn name(&self, request: &mut Request) -> Option<Result<Response, Error>> {
        let stream = about::own(&request.method, &request.context.outbox)?;
        let is_on =
            |call: &CallDeliveries| stream != StreamId::STANDALONE && call.outbox().stream() == stream;
        let calls = self.0.lock();
        let found = calls.iter().filter(|(_, call)| is_on(&call.deliveries)).map(|(id, _)| *id).max();
        drop(calls);
        match (found, request.kind) {
            (Some(id), _) => {
                about::name(&mut request.params, &id.into());
                None
            }
            (None, RequestKind::Call) => Some(Response::with_body(&StreamCancelled::not_active())),
            (None, RequestKind::Notify) => {
                tracing::debug!(method = %request.method, "dropping a message about a call that is over");
                Some(Ok(Response::empty()))
            }
        }
    }
}
