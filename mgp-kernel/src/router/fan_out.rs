//! Asking several servers at once.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, Request, Response};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;

use crate::servers::upstream::{Upstream, UpstreamService};

/// Sends each request its way, under what it is known by, and waits for all answers, of each server no longer than ten seconds.
///
/// # Cancel safety
/// Dropping the future takes back what was not answered.
pub(crate) async fn ask<T: Ord + Display + Send + 'static>(
    requests: Vec<(T, UpstreamService, Request)>,
) -> Vec<(T, Result<Response, Error>)> {
    let mut asked = JoinSet::new();
    for (server, mut service, request) in requests {
        asked.spawn(async move {
            let outcome = timeout(LONGEST, Service::call(&mut service, request)).await;
            let late = || Error::timeout(format!("the server {server} did not answer in time"));
            let outcome = outcome.unwrap_or_else(|_| Err(late()));
            (server, outcome)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by(|(one, _), (other, _)| one.cmp(other));
    answers
}

/// The request, for one of several servers. What its layers find out is about that server, not about the whole.
pub(super) fn to(upstream: &Arc<Upstream>, request: &Request) -> (ServerId, UpstreamService, Request) {
    let mut request = request.clone();
    request.context.trail = None;
    (upstream.id().clone(), upstream.service(), request)
}

/// Whether capabilities have the member at `path`.
pub(crate) fn has(capabilities: &Object, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let Some(value) = capabilities.get(first) else { return false };
    if rest.is_empty() {
        return !value.is_null() && value.as_bytes() != b"false";
    }
    Object::from_raw(&value).is_ok_and(|inner| has(&inner, rest))
}

const LONGEST: Duration = Duration::from_secs(10);
