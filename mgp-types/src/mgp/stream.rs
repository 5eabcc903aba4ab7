use serde::{Deserialize, Deserializer, Serialize};

use crate::mcp::ContentBlock;
use crate::{Id, RawJson};

/// The parameters of `notifications/mgp.stream.chunk` (§12.4): a part of a result that is still being made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamChunk {
    /// The call whose result it is a part of, exactly as the caller wrote its id.
    pub request_id: Id,
    /// The number of the chunk, from 0 without gaps.
    pub index: u64,
    /// The part.
    pub content: ContentBlock,
    /// Whether it is the last one; nobody has to say so.
    #[serde(default)]
    pub done: bool,
}

impl StreamChunk {
    /// The part number `index` of the result of `request`.
    pub const fn new(request: Id, index: u64, content: ContentBlock) -> Self {
        Self { request_id: request, index, content, done: false }
    }
}

/// The member `_mgp` of a result that was streamed (§12.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamSummary {
    /// Whether chunks were sent.
    pub streamed: bool,
    /// How many.
    pub chunks_sent: u64,
    /// How long the call took; some peers do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl StreamSummary {
    /// So many chunks were sent, in so much time.
    pub const fn new(chunks_sent: u64, duration_ms: u64) -> Self {
        Self { streamed: true, chunks_sent, duration_ms: Some(duration_ms) }
    }
}

/// The parameters of `notifications/mgp.stream.progress` (§12.6): how far a long call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamProgress {
    /// The call, exactly as the caller wrote its id.
    pub request_id: Id,
    /// How much of it is done, from 0 to 1.
    pub progress: f64,
    /// What it does, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long it will still take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_remaining_ms: Option<u64>,
}

impl StreamProgress {
    /// `request` is done to this part, which is held between 0 and 1.
    pub const fn new(request: Id, progress: f64) -> Self {
        let progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
        Self { request_id: request, progress, message: None, estimated_remaining_ms: None }
    }

    /// With what it does.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// With how long it will still take.
    pub const fn with_estimated_remaining_ms(mut self, millis: u64) -> Self {
        self.estimated_remaining_ms = Some(millis);
        self
    }
}

/// The parameters of `mgp/stream/cancel` (§12.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamCancel {
    /// The call to stop.
    pub request_id: Id,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StreamCancel {
    /// Stops `request`.
    pub const fn new(request: Id) -> Self {
        Self { request_id: request, reason: None }
    }

    /// With the reason.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The result of `mgp/stream/cancel`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamCancelled {
    /// Whether the call was stopped.
    pub cancelled: bool,
    /// What there was of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_result: Option<PartialResult>,
    /// Why nothing was stopped: [`NOT_ACTIVE`](Self::NOT_ACTIVE), for a call that is over or never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StreamCancelled {
    /// The reason of a cancellation that found no call.
    pub const NOT_ACTIVE: &'static str = "not_active";

    /// The call was stopped, and this is what there was.
    pub fn with_partial_result(content: Vec<ContentBlock>) -> Self {
        Self { cancelled: true, partial_result: Some(PartialResult { content }), reason: None }
    }

    /// There is no such call any more.
    pub fn not_active() -> Self {
        Self { cancelled: false, partial_result: None, reason: Some(Self::NOT_ACTIVE.into()) }
    }
}

/// What there was of a result when its call was cancelled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartialResult {
    /// The parts. Some peers write them as one string, which is read as text.
    #[serde(default, deserialize_with = "blocks_or_text")]
    pub content: Vec<ContentBlock>,
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

    // covers: MGP-12.4-02..05
    #[test]
    fn a_chunk_has_the_members_of_the_specification_and_echoes_the_id() {
        let json = r#"{"request_id":20,"index":0,"content":{"type":"text","text":"Quantum computing is"},"done":false}"#;
        let chunk: StreamChunk = serde_json::from_str(json).unwrap();
        assert_eq!((&chunk.request_id, chunk.index, chunk.done), (&Id::from(20), 0, false));
        assert_eq!(serde_json::to_string(&chunk).unwrap(), json);
        let named = json.replace("20,", r#""a-20","#);
        assert_eq!(
            serde_json::to_string(&serde_json::from_str::<StreamChunk>(&named).unwrap()).unwrap(),
            named
        );
    }

    // covers: MGP-12.5-02..04
    #[test]
    fn a_summary_has_the_members_of_the_specification() {
        let json = r#"{"streamed":true,"chunks_sent":15,"duration_ms":3200}"#;
        assert_eq!(serde_json::to_string(&StreamSummary::new(15, 3200)).unwrap(), json);
        let bare: StreamSummary = serde_json::from_str(r#"{"streamed":true,"chunks_sent":8}"#).unwrap();
        assert_eq!(bare.duration_ms, None);
    }

    // covers: MGP-12.6-02..05
    #[test]
    fn progress_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"request_id":21,"progress":0.65,"message":"Processing batch 13/20","#,
            r#""estimated_remaining_ms":4500}"#
        );
        let progress = StreamProgress::new(Id::from(21), 0.65)
            .with_message("Processing batch 13/20")
            .with_estimated_remaining_ms(4500);
        assert_eq!(serde_json::to_string(&progress).unwrap(), json);
        assert_eq!(serde_json::from_str::<StreamProgress>(json).unwrap(), progress);
        assert!(StreamProgress::new(Id::from(1), f64::NAN).progress.abs() < f64::EPSILON);
    }

    // covers: MGP-12.7-02..05
    #[test]
    fn a_cancellation_and_its_answer_have_the_members_of_the_specification() {
        let json = r#"{"request_id":20,"reason":"user_cancelled"}"#;
        let cancel = StreamCancel::new(Id::from(20)).with_reason("user_cancelled");
        assert_eq!(serde_json::to_string(&cancel).unwrap(), json);
        let answer = r#"{"cancelled":true,"partial_result":{"content":[{"type":"text","text":"Quantum"}]}}"#;
        let read: StreamCancelled = serde_json::from_str(answer).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), answer);
        let as_text = r#"{"cancelled":true,"partial_result":{"content":"Quantum"}}"#;
        assert_eq!(serde_json::from_str::<StreamCancelled>(as_text).unwrap(), read);
        let none = serde_json::to_string(&StreamCancelled::not_active()).unwrap();
        assert_eq!(none, r#"{"cancelled":false,"reason":"not_active"}"#);
    }
}
