use std::mem;
use std::sync::Arc;

use mgp_types::{Request, RpcService};

use super::witness::Witness;

/// What it takes to make a call once more after it was made: this call, or another one in its place.
pub(super) struct Kept<S> {
    pub(super) service: S,
    pub(super) request: Request,
    witness: Option<Arc<Witness>>,
}

impl<S: RpcService> Kept<S> {
    /// Makes a call, and keeps the service with which it is made, which has to be ready. In its place comes a clone.
    pub(super) fn call(service: &mut S, mut request: Request) -> (S::Future, Self) {
        let witness = Witness::watch(&mut request);
        let clone = service.clone();
        let mut service = mem::replace(service, clone);
        let future = service.call(request.clone());
        (future, Self { service, request, witness })
    }
}

impl<S> Kept<S> {
    /// Whether the caller has something in hand already. Then the call stands.
    pub(super) fn has_shown(&self) -> bool {
        self.witness.as_ref().is_some_and(|witness| witness.has_seen())
    }
}
