//! The gate that notes standing requests.

use mgp_types::mgp::method;
use mgp_types::{Error, Flow, Gate, Gated, RawJson, Request, RequestKind, Response};

use super::StandingRequests;
use super::state::StandingChange;

/// The service that [`StandingRequests`] makes as a layer.
///
/// The service sits around the [`SupervisedService`](crate::supervise::SupervisedService) of the server. The service reads and writes
/// no slot. The service replaces the name of the subscription that a request resumes or ends by the server's current
/// name, and refuses nothing. The service allocates, and takes a lock for a moment, for requests that stand and those
/// that take them back. Dropping the future drops the call, which is then not noted.
pub type StandingRequestsService<S> = Gated<StandingRequests, S>;

impl Gate for StandingRequests {
    type Pass = Option<Box<StandingChange>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let wish = StandingChange::of(request).map(Box::new);
        if wish.is_some() {
            self.rename(request);
        }
        Flow::Pass(wish)
    }

    fn leave(&self, wish: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(wish), Ok(response)) = (wish, outcome) {
            self.0.lock().note(*wish, response);
        }
    }
}

impl StandingRequests {
    /// Writes the name that a subscription has now.
    fn rename(&self, request: &mut Request) {
        let subscribes = request.method.as_str() == method::EVENTS_SUBSCRIBE;
        if request.kind != RequestKind::Call
            || !subscribes && request.method.as_str() != method::EVENTS_UNSUBSCRIBE
        {
            return;
        }
        let named = request.params.text("subscription_id");
        let Some(current) = named.and_then(|id| self.0.lock().renamed(&id)) else { return };
        if let Ok(current) = RawJson::from_value(&current) {
            request.params.set("subscription_id", current);
            // The other subscription counts from its own beginning.
            request.params.remove("after_seq");
        }
    }
}
