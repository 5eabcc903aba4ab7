//! What a call has streamed so far: its content, kept as JSON, and its latest chunks, kept to be sent again.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_types::mgp::{MEMBER, StreamGap, method};
use mgp_types::{Error, Method, Object, RawJson, Response};

use super::active::ActiveCall;

/// The content streamed so far, as the array that stands under `content`.
///
/// The content is kept as it will be written. Texts that follow each other become one text: the parts between their
/// quotes are put together. A JSON string stays valid wherever it is cut, because half a surrogate pair is never
/// accepted as JSON.
#[derive(Debug, Default)]
pub(super) struct StreamedContent {
    /// The blocks as JSON; the last block is left open if it is a text.
    blocks: Vec<u8>,
    in_text: bool,
    pub(super) truncated: bool,
}

const MAX_BYTES: usize = 1 << 20;
const TEXT_END: &[u8] = br#""}"#;
const TEXT: &[u8] = br#"{"type":"text","text":""#;

impl StreamedContent {
    /// Adds the block of one chunk. Once there is no room for a block, no further block is added.
    pub(super) fn push(&mut self, block: &RawJson) {
        if self.truncated || self.blocks.len() + block.as_bytes().len() > MAX_BYTES {
            self.truncated = true;
            return;
        }
        if let Some(text) = bare_text(block.as_bytes()) {
            self.push_text(text);
        } else if let Some(text) = text_only(block) {
            self.push_text(inside(text.as_bytes()));
        } else {
            self.separate();
            self.blocks.extend_from_slice(block.as_bytes());
        }
    }

    fn push_text(&mut self, text: &[u8]) {
        if !self.in_text {
            self.separate();
            self.blocks.extend_from_slice(TEXT);
            self.in_text = true;
        }
        self.blocks.extend_from_slice(text);
    }

    /// Returns whether no content was streamed.
    pub(super) const fn is_empty(&self) -> bool {
        self.blocks.is_empty() && !self.truncated
    }

    /// Appends the array to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.blocks.len() + TEXT_END.len() + 2);
        out.push(b'[');
        out.extend_from_slice(&self.blocks);
        if self.in_text {
            out.extend_from_slice(TEXT_END);
        }
        out.push(b']');
    }

    /// Ends the last block and makes room for another one.
    fn separate(&mut self) {
        if self.in_text {
            self.blocks.extend_from_slice(TEXT_END);
            self.in_text = false;
        }
        if !self.blocks.is_empty() {
            self.blocks.push(b',');
        }
    }
}

/// Returns the part between the quotes of a block that is a text only, written as this crate writes one, without a scan
/// of the block. Such blocks in other notations give `None`.
pub(super) fn bare_text(block: &[u8]) -> Option<&[u8]> {
    let text = block.strip_prefix(TEXT)?.strip_suffix(TEXT_END)?;
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        // The string ends earlier than here, so that another member follows.
        if rest[at] == b'"' {
            return None;
        }
        rest = rest.get(at + 2..)?;
    }
    Some(text)
}

/// Returns the text of a block that is a text only, as it is written. A text with annotations stays a block of its own.
fn text_only(block: &RawJson) -> Option<RawJson> {
    let block = Object::from_raw(block).ok()?;
    if block.bytes("type") != Some(br#""text""#) || block.iter().count() != 2 {
        return None;
    }
    block.get("text").filter(|text| text.as_bytes().first() == Some(&b'"'))
}

/// Returns the part of a JSON string between its quotes.
fn inside(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(b"")
}

/// The latest chunks, kept to be sent again. Numbers have no gaps here, so that the index is the number.
#[derive(Debug, Default)]
pub(super) struct ResendBuffer {
    /// The parameters of the chunks as they were sent.
    chunks: VecDeque<RawJson>,
    /// The number of the first kept chunk.
    first: u64,
    bytes: usize,
}

const MAX_CHUNK_BYTES: usize = 256 << 10;
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
        while self.chunks.len() > MAX_CHUNKS || self.bytes > MAX_CHUNK_BYTES {
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

    fn kept(blocks: &[&str]) -> String {
        let mut content = StreamedContent::default();
        for block in blocks {
            content.push(&RawJson::parse(block.to_string()).unwrap());
        }
        let mut out = Vec::new();
        content.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_that_follow_each_other_are_one() {
        assert_eq!(kept(&[]), "[]");
        let image = r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#;
        let noted = r#"{"type":"text","text":"c","annotations":{"priority":1}}"#;
        let blocks =
            [r#"{"type":"text","text":"a\n"}"#, r#"{ "text":"b\"" , "type":"text"}"#, image, noted, noted];
        assert_eq!(kept(&blocks), format!(r#"[{{"type":"text","text":"a\nb\""}},{image},{noted},{noted}]"#));
    }

    #[test]
    fn a_text_is_found_without_a_scan_only_where_it_is_all_of_its_block() {
        for (block, text) in [
            (r#"{"type":"text","text":""}"#, Some("")),
            (r#"{"type":"text","text":"a \\ \" b"}"#, Some(r#"a \\ \" b"#)),
            (r#"{"type":"text","text":"a","_meta":{"b":"c"}}"#, None),
            (r#"{"type":"text","text":"\"","x":"\""}"#, None),
            (r#"{"type":"text","text":"a" }"#, None),
            (r#"{"text":"a","type":"text"}"#, None),
        ] {
            assert_eq!(bare_text(block.as_bytes()), text.map(str::as_bytes), "{block}");
        }
        // No valid JSON has such bytes; still they must not be read past their end.
        assert_eq!(bare_text(br#"{"type":"text","text":"\"}"#), None);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_said() {
        let mut content = StreamedContent::default();
        let block =
            RawJson::from_value(&serde_json::json!({"type": "text", "text": "x".repeat(1000)})).unwrap();
        for _ in 0..2000 {
            content.push(&block);
        }
        assert!(content.truncated && content.blocks.len() <= MAX_BYTES);
        let before = content.blocks.len();
        content.push(&RawJson::parse(r#"{"type":"text","text":"y"}"#).unwrap());
        assert_eq!(content.blocks.len(), before);
    }

    proptest::proptest! {
        #[test]
        fn joined_texts_are_the_text(parts: Vec<String>) {
            let blocks: Vec<_> = parts
                .iter()
                .map(|text| serde_json::json!({"type": "text", "text": text}).to_string())
                .collect();
            let blocks: Vec<_> = blocks.iter().map(String::as_str).collect();
            let read: serde_json::Value = serde_json::from_str(&kept(&blocks)).unwrap();
            let mut expected = serde_json::json!([{"type": "text", "text": parts.concat()}]);
            if parts.is_empty() {
                expected = serde_json::json!([]);
            }
            proptest::prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut resend = ResendBuffer::default();
        for index in 0..300 {
            resend.push(RawJson::parse(format!(r#"{{"index":{index}}}"#)).unwrap());
        }
        assert!(resend.get(43).is_none() && resend.get(300).is_none() && resend.get(u64::MAX).is_none());
        let again = resend.get(44).unwrap().to_raw();
        assert_eq!(again.as_bytes(), br#"{"index":44,"_mgp":{"retransmit":true}}"#);
        let large = RawJson::from_value(&"x".repeat(MAX_CHUNK_BYTES + 1)).unwrap();
        resend.push(large);
        assert!(resend.get(299).is_none() && resend.bytes == 0);
        resend.push(RawJson::parse(r#"{"index":301}"#).unwrap());
        assert!(resend.get(300).is_none() && resend.get(301).is_some());
    }
}
