use std::sync::Arc;

use mgp_types::mgp::{StreamGap, method};
use mgp_types::{Error, Method, Object, Response};

use super::active::Active;

/// Sends again what the caller misses, and tells what cannot be sent again.
///
/// Chunks that have not left yet are not missing.
pub(super) async fn answer(active: Arc<Active>, missing: Vec<u64>) -> Result<Response, Error> {
    if let Err(error) = send_again(&active, missing).await {
        // The call is over, and its answer has what is missing.
        tracing::debug!(%error, "chunks were not sent again");
    }
    Ok(Response::empty())
}

async fn send_again(active: &Active, mut missing: Vec<u64>) -> Result<(), Error> {
    let sent = active.chunks_sent();
    missing.retain(|index| *index < sent);
    missing.sort_unstable();
    missing.dedup();
    missing.truncate(MAX_INDICES);
    let mut lost = Vec::new();
    for index in missing {
        match active.kept(index) {
            Some(params) => active.send(Method::STREAM_CHUNK, params).await?,
            None => lost.push(index),
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    let params = Object::from_value(&StreamGap::new(lost)).unwrap_or_default();
    active.send(Method::from_static(method::STREAM_GAP_UNRECOVERABLE), params).await
}

/// More in one message are for another one.
const MAX_INDICES: usize = 1024;
