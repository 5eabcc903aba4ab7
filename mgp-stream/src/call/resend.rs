//! The latest chunks of a call, kept to be sent again.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_types::mgp::{MEMBER, StreamGap, method};
use mgp_types::{Error, Method, Object, RawJson, Response};

use super::active::ActiveCall;

/// The latest chunks, kept to be sent again. Numbers have no gaps here, so that the index is the number.
#[derive(Debug, Default)]
pub(super) struct ResendBuffer {
    /// The parameters of the chunks as they were sent.
    chunks: VecDeque<RawJson>,
    /// The number of the first kept chunk.
    first: u64,
    bytes: usize,
}

const MAX_BYTES: usize = 256 << 10;
const MAX_CHUNKS: usize = 256;

impl ResendBuffer {
    /// Gives the first chunk this number; nothing is kept yet.
    pub(super) fn start_at(&mut self, first: u64) {
        self.first = first;
    }

    /// Keeps the next chunk; the oldest chunks make room.
    pub(super) fn push(&mut self, params: RawJson) {
        self.bytes += params.as_bytes().len();
        self.chunks.push_back(params);
        while self.chunks.len() > MAX_CHUNKS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.chunks.pop_front() else { break };
            self.bytes -= oldest.as_bytes().len();
            self.first += 1;
        }
    }

    /// Returns the parameters that send chunk `index` again, if the chunk is kept.
    pub(super) fn get(&self, index: u64) -> Option<Object> {
        let place = usize::try_from(index.checked_sub(self.first)?).ok()?;
        let mut params = Object::from_raw(self.chunks.get(place)?).ok()?;
        params.set(MEMBER, RawJson::from_written(br#"{"retransmit":true}"#.to_vec()));
        Some(params)
    }
}

/// Sends the missing chunks again, and reports the chunks that cannot be sent again.
///
/// Chunks that have not left yet are not missing.
pub(super) async fn answer(active: Arc<ActiveCall>, missing: Vec<u64>) -> Result<Response, Error> {
    if let Err(error) = send_again(&active, missing).await {
        // The call is over, and its answer has the missing content.
        tracing::debug!(%error, "chunks were not sent again");
    }
    Ok(Response::empty())
}

/// The number of chunks that one message may ask for; the rest is left to another message.
const MAX_INDICES: usize = 1024;

async fn send_again(active: &ActiveCall, mut missing: Vec<u64>) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut resend = ResendBuffer::default();
        for index in 0..300 {
            resend.push(RawJson::parse(format!(r#"{{"index":{index}}}"#)).unwrap());
        }
        assert!(resend.get(43).is_none() && resend.get(300).is_none() && resend.get(u64::MAX).is_none());
        let again = resend.get(44).unwrap().to_raw();
        assert_eq!(again.as_bytes(), br#"{"index":44,"_mgp":{"retransmit":true}}"#);
        let large = RawJson::from_value(&"x".repeat(MAX_BYTES + 1)).unwrap();
        resend.push(large);
        assert!(resend.get(299).is_none() && resend.bytes == 0);
        resend.push(RawJson::parse(r#"{"index":301}"#).unwrap());
        assert!(resend.get(300).is_none() && resend.get(301).is_some());
    }
}
