use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Error, Kind, Method, Request, Response, StreamId};
use parking_lot::Mutex;

use super::replies::Outcome;
use crate::deliveries::Deliveries;
use crate::{ConnectionLimits, about};

/// The calls of one client that have a stream on our side: what the server says about them goes to their callers, and
/// messages of ours can be about them.
#[derive(Default)]
pub(super) struct FollowedCalls(Mutex<HashMap<i64, Followed, RandomState>>);

struct Followed {
    deliveries: Arc<Deliveries>,
    /// Whether the call is there to be told something.
    listens: bool,
}

/// A followed call, until this is dropped.
struct Following<'a> {
    calls: &'a FollowedCalls,
    id: i64,
    deliveries: Arc<Deliveries>,
}

impl FollowedCalls {
    /// Waits for the answer to call `id`, and delivers meanwhile what others than `asking` read about it.
    pub(super) async fn follow(
        &self,
        id: i64,
        request: &Request,
        limits: &ConnectionLimits,
        asking: impl Future<Output = Result<Outcome, Error>>,
    ) -> Outcome {
        let outbox = &request.context.outbox;
        if !about::is_followed(outbox) || about::own(&request.method, outbox).is_some() {
            return asking.await?;
        }
        let deliveries = Arc::new(Deliveries::new(outbox.clone(), limits));
        let listens = request.method == Method::LISTEN;
        self.0.lock().insert(id, Followed { deliveries: Arc::clone(&deliveries), listens });
        let following = Following { calls: self, id, deliveries };
        let mut delivered = pin!(following.deliveries.run());
        let answer = tokio::select! {
            biased;
            answer = asking => answer,
            failed = &mut delivered => return failed,
        };
        following.deliveries.answer(answer.unwrap_or_else(Err));
        delivered.await
    }

    /// The call `id`, if it is followed.
    pub(super) fn get(&self, id: i64) -> Option<Arc<Deliveries>> {
        self.0.lock().get(&id).map(|call| Arc::clone(&call.deliveries))
    }

    /// The call `id`, if it is followed and listens.
    pub(super) fn listener(&self, id: i64) -> Option<Arc<Deliveries>> {
        self.0.lock().get(&id).filter(|call| call.listens).map(|call| Arc::clone(&call.deliveries))
    }

    /// Names the call of ours in a message about it, if `request` is one. There is an answer already if the call is
    /// over; else the request is to be sent.
    pub(super) fn name(&self, request: &mut Request) -> Option<Result<Response, Error>> {
        let stream = about::own(&request.method, &request.context.outbox)?;
        let is_on = |call: &Deliveries| stream != StreamId::STANDALONE && call.stream() == stream;
        let calls = self.0.lock();
        let found = calls.iter().filter(|(_, call)| is_on(&call.deliveries)).map(|(id, _)| *id).max();
        drop(calls);
        match (found, request.kind) {
            (Some(id), _) => {
                about::name(&mut request.params, &id.into());
                None
            }
            (None, Kind::Call) => Some(Response::with_body(&StreamCancelled::not_active())),
            (None, Kind::Notify) => {
                tracing::debug!(method = %request.method, "dropping a message about a call that is over");
                Some(Ok(Response::empty()))
            }
        }
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        let call = self.calls.0.lock().remove(&self.id);
        drop(call);
        self.deliveries.close();
    }
}
