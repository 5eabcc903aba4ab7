//! The bodies of streaming (§12): chunks, progress, cancellation and pace.
//!
//! Messages about a call lack `request_id` here: only the connection writes and reads it, see
//! [`Outbox`](crate::Outbox).

use serde::{Deserialize, Deserializer};

use crate::RawJson;
use crate::macros::record;
use crate::mcp::ContentBlock;

record! {
    /// The parameters of `notifications/mgp.stream.chunk` (§12.4): a part of a result that is still being made.
    pub struct StreamChunk {
        /// The number of the chunk, from 0 without gaps.
        required index: u64;
        /// The content of the part.
        required content: ContentBlock;
        /// True if the part is the last one; servers need not tell.
        default done: bool;
        /// The operation that a checkpoint belongs to.
        optional operation_id: Box<str>;
        /// The token by which another call goes on after this part.
        optional checkpoint_token: Box<str>;
    }

    /// The member `_mgp` of a result that was streamed (§12.5).
    pub struct StreamSummary: Copy, Default, Eq {
        /// True if chunks were sent.
        plain streamed: bool;
        /// The number of chunks that were sent.
        plain chunks_sent: u64;
        /// The time in milliseconds that the call took; some peers do not tell it.
        optional duration_ms: u64;
        /// True if the call was stopped, so that the result is incomplete.
        flag cancelled;
        /// True if a part of the content is missing, because there was more than is kept.
        flag truncated;
    }

    /// The parameters of `notifications/mgp.stream.progress` (§12.6): how far a long call is.
    pub struct StreamProgress: Default {
        /// The part of the work that is done, from 0 to 1.
        plain progress: f64;
        /// The current step of the work, for people.
        optional message: String => into with_message;
        /// The time in milliseconds that the call will still take.
        optional estimated_remaining_ms: u64 => with_estimated_remaining_ms;
        /// A part of the result that can be shown before the call is done.
        optional partial_result: RawJson;
        /// The operation that a checkpoint belongs to.
        optional operation_id: Box<str>;
        /// The token by which another call goes on after what was sent so far.
        optional checkpoint_token: Box<str>;
    }

    /// The parameters of `mgp/stream/cancel` (§12.7).
    pub struct StreamCancel: Eq, Default {
        /// The reason of the cancellation.
        optional reason: String => into with_reason;
    }

    /// The result of `mgp/stream/cancel`.
    pub struct StreamCancelled: Default {
        /// True if the call was stopped.
        plain cancelled: bool;
        /// The part of the result that there was.
        optional partial_result: PartialResult;
        /// The reason why no call was stopped: [`NOT_ACTIVE`](Self::NOT_ACTIVE), for a call that is over or never was.
        optional reason: String;
    }

    /// The part of a result that there was when its call was cancelled.
    pub struct PartialResult: Default {
        /// The parts of the content. Some peers write them as one string, which is read as text.
        #[serde(deserialize_with = "blocks_or_text")]
        default content: Vec<ContentBlock>;
        /// True if there was more content than is kept.
        flag truncated;
    }

    /// The parameters of `notifications/mgp.stream.pace` (later drafts): the rate at which the caller takes chunks.
    pub struct StreamPace {
        /// The greatest rate in chunks per second; 0 pauses the stream until the next such message.
        #[serde(alias = "max_chunks_per_sec")]
        required max_chunks_per_second: f64;
        /// The reason of the limit.
        optional reason: String => into with_reason;
    }

    /// The parameters of `notifications/mgp.stream.gap` and `notifications/mgp.stream.gap_unrecoverable` (later drafts):
    /// chunks that did not arrive, or cannot be sent again.
    pub struct StreamGap: Eq {
        /// The numbers of the chunks.
        required missing_indices: Vec<u64>;
    }
}

impl StreamSummary {
    /// Creates the summary of `chunks_sent` chunks in `duration_ms` milliseconds.
    pub fn new(chunks_sent: u64, duration_ms: u64) -> Self {
        let (streamed, duration_ms) = (chunks_sent > 0, Some(duration_ms));
        Self { streamed, chunks_sent, duration_ms, ..Self::default() }
    }

    crate::setters! { self =>
        /// Marks the result as incomplete, because the call was stopped.
        pub fn cancelled() => self.cancelled = true;

        /// Marks the content as incomplete.
        pub fn truncated() => self.truncated = true;
    }
}

impl StreamProgress {
    /// Creates the report that the call is done to this part, which is held between 0 and 1.
    pub fn new(progress: f64) -> Self {
        let progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
        Self { progress, ..Self::default() }
    }
}

impl StreamCancelled {
    /// The reason of a cancellation that found no call.
    pub const NOT_ACTIVE: &'static str = "not_active";

    /// Creates the answer that the call is over or never was.
    pub fn not_active() -> Self {
        Self { reason: Some(Self::NOT_ACTIVE.into()), ..Self::default() }
    }
}

fn blocks_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    let raw = RawJson::deserialize(deserializer)?;
    match raw.to_text() {
        Some(text) => Ok(vec![ContentBlock::text(text)]),
        None => raw.to().map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_number() {
        assert!(StreamProgress::new(f64::NAN).progress.abs() < f64::EPSILON);
    }
}
