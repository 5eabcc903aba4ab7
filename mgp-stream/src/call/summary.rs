//! The summary of a stream, as a client reads it from a result.

use mgp_types::mgp::{MEMBER, StreamSummary};
use mgp_types::{Object, RawJson, Response};
use serde::Deserialize;

/// Returns the summary of a stream that a result carries (§12.5): its member `_mgp`.
///
/// Some servers write the summary into the JSON that is the text of the first block; that text is read if the result
/// has no such member. An incomplete summary counts as missing.
pub fn summary(response: &Response) -> Option<StreamSummary> {
    let result = Object::from_raw(&response.to_raw()).ok()?;
    if let Some(own) = result.get(MEMBER) {
        return own.to().ok();
    }
    let text = first_text(&result.get("content")?)?;
    if !text.trim_ascii_start().starts_with('{') {
        return None;
    }
    Object::parse(text).ok()?.get(MEMBER)?.to().ok()
}

fn first_text(content: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
    }
    content.to::<Vec<Block>>().ok()?.into_iter().next()?.text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<StreamSummary> {
        summary(&Response::new(RawJson::parse(json.to_owned()).unwrap()))
    }

    // covers: MGP-12.5-02..04
    #[test]
    fn a_summary_is_the_member_of_the_result() {
        let json = r#"{"content":[],"_mgp":{"streamed":true,"chunks_sent":15,"duration_ms":3200}}"#;
        assert_eq!(read(json), Some(StreamSummary::new(15, 3200)));
    }

    #[test]
    fn what_is_no_summary_is_none() {
        for json in [
            r#"{"content":[{"type":"text","text":"plain"}]}"#,
            r#"{"content":[{"type":"text","text":"{\"_mgp\":{}}"}]}"#,
            r#"{"content":[{"type":"image"},{"type":"text","text":"{\"_mgp\":{\"streamed\":true,\"chunks_sent\":8}}"}]}"#,
            r#"{"content":"{}","_mgp":null}"#,
            r#"{"content":[]}"#,
            "{}",
            "[]",
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }
}
