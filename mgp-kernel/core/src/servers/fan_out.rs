//! Requests to several servers at once.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, Request, Response};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::servers::upstream::Upstream;

/// Sends each request to its service, and waits for all answers under their keys, ten seconds at most for each server.
///
/// # Cancel safety
/// Dropping the future cancels the requests that are not answered yet.
pub(crate) async fn ask<T: Ord + Display + Send + 'static>(
    requests: Vec<(T, Arc<Upstream>, Request)>,
) -> Vec<(T, Result<Response, Error>)> {
    let mut asked = JoinSet::new();
    for (server, upstream, request) in requests {
        asked.spawn(async move {
            let outcome = timeout(LONGEST, upstream.call(request)).await;
            let late = || Error::timeout(format!("the server {server} did not answer in time"));
            let outcome = outcome.unwrap_or_else(|_| Err(late()));
            (server, outcome)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by(|(one, _), (other, _)| one.cmp(other));
    answers
}

/// Returns the request for one of several servers. The facts that its layers find are about that server, not about the
/// whole, so it gets no trail.
pub(crate) fn to(upstream: &Arc<Upstream>, request: &Request) -> (ServerId, Arc<Upstream>, Request) {
    let mut request = request.clone();
    request.context.trail = None;
    (upstream.id().clone(), Arc::clone(upstream), request)
}

/// Returns whether capabilities have the member at `path`.
pub(crate) fn has(capabilities: &Object, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let Some(value) = capabilities.get(first) else { return false };
    if rest.is_empty() {
        return !value.is_null() && value.as_bytes() != b"false";
    }
    Object::from_raw(&value).is_ok_and(|inner| has(&inner, rest))
}

const LONGEST: Duration = Duration::from_secs(10);
