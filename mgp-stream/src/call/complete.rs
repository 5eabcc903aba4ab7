//! The final result of a streamed call, with the summary that MGP adds to it and clients read, and the answers to a
//! cancelled one (§12.7).

use mgp_types::mgp::{MEMBER, StreamCancelled, StreamSummary};
use mgp_types::{Object, RawJson, Response, ResultShape};
use serde::Deserialize;

use super::active::StreamedResult;
use super::content::StreamedContent;

/// Adds to the answer of a handler all of the streamed content and the summary of the stream.
///
/// A result without content gets the streamed content. A result that was not streamed stays as it is.
pub(super) fn complete(mut response: Response, streamed: &StreamedResult) -> Response {
    let Ok(mut result) = Object::from_raw(&response.to_raw()) else { return response };
    let mut summary = streamed.summary;
    //= mgp §12.5
    //# The complete text is included in the final response
    let filled = lacks_content(&result);
    if filled {
        let mut content = Vec::new();
        streamed.content.write(&mut content);
        result.set("content", RawJson::from_written(content));
        if streamed.content.truncated {
            tracing::warn!("the tool streamed more than is kept, and returned no content of its own");
            summary = summary.truncated();
        }
    }
    let is_reported = summary.streamed || summary.truncated;
    if is_reported && !filled && !result.contains(MEMBER) {
        return stamp(response, &summary);
    }
    if is_reported {
        let own = result.object_mut_or_new(MEMBER);
        own.set_all(&Object::from_value(&summary).unwrap_or_default());
    }
    if filled || is_reported {
        response.result = result.to_raw().into();
        if response.context.stamp.take().is_some() {
            response.context.shape = ResultShape::Opaque;
        }
    }
    response
}

/// Appends the member `_mgp` of a result, with its name.
fn write_summary(out: &mut Vec<u8>, summary: &StreamSummary) {
    out.extend_from_slice(br#""_mgp":"#);
    let summary = RawJson::from_value(summary).unwrap_or(RawJson::null());
    out.extend_from_slice(summary.as_bytes());
}

/// Returns whether the handler left the content to the layer. A result of another kind, like a task, has other members
/// in its place.
fn lacks_content(result: &Object) -> bool {
    match result.bytes("content") {
        Some(content) => content.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start() == b"]"),
        None => result.is_empty(),
    }
}

/// Adds the summary to the result. Nothing is copied, unless the era has members to add and looks at the whole result
/// for them.
fn stamp(mut response: Response, summary: &StreamSummary) -> Response {
    let mut stamp = response.context.stamp.take().map(Vec::from).unwrap_or_default();
    if !stamp.is_empty() {
        stamp.push(b',');
    }
    write_summary(&mut stamp, summary);
    response.context.stamp = Some(stamp.into());
    // The era writes its own stamp over the summary of a plain result.
    response.context.shape = ResultShape::Opaque;
    response
}

/// Returns the answer to a cancellation, with the content streamed so far.
pub(super) fn cancellation_answer(content: &StreamedContent) -> Response {
    let mut out = br#"{"cancelled":true,"partial_result":{"content":"#.to_vec();
    content.write(&mut out);
    if content.truncated {
        out.extend_from_slice(br#","truncated":true"#);
    }
    out.extend_from_slice(b"}}");
    Response::plain(RawJson::from_written(out))
}

/// Returns the content that an answer to a cancellation has.
pub(super) fn partial_content(answer: &Response) -> StreamedContent {
    let mut content = StreamedContent::default();
    let partial = answer.body::<StreamCancelled>().ok().and_then(|cancelled| cancelled.partial_result);
    if let Some(partial) = partial {
        partial
            .content
            .iter()
            .filter_map(|block| RawJson::from_value(block).ok())
            .for_each(|block| content.push(&block));
        content.truncated |= partial.truncated;
    }
    content
}

/// Returns the result of the cancelled call itself, which is answered in any case.
pub(super) fn cancelled_result(streamed: &StreamedResult) -> Response {
    let mut out = br#"{"content":"#.to_vec();
    streamed.content.write(&mut out);
    out.push(b',');
    let summary = streamed.summary;
    write_summary(&mut out, &if streamed.content.truncated { summary.truncated() } else { summary });
    out.push(b'}');
    Response::plain(RawJson::from_written(out))
}

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
    use crate::call::content::StreamedContent;

    fn streamed(chunks: u64) -> StreamedResult {
        let mut content = StreamedContent::default();
        content.push(&RawJson::parse(r#"{"type":"text","text":"ab"}"#).unwrap());
        StreamedResult { content, summary: StreamSummary::new(chunks, 5) }
    }

    fn completed(result: &'static str, chunks: u64) -> String {
        let response = complete(Response::plain(RawJson::parse(result).unwrap()), &streamed(chunks));
        String::from_utf8(response.to_raw().as_bytes().to_vec()).unwrap()
    }

    const SUMMARY: &str = r#""streamed":true,"chunks_sent":2,"duration_ms":5"#;

    // covers: MGP-12.5-01..05
    #[test]
    fn content_of_its_own_stays_and_the_summary_is_added() {
        let result = r#"{"content":[{"type":"text","text":"whole"}]}"#;
        let expected = format!(r#"{{"_mgp":{{{SUMMARY}}},"content":[{{"type":"text","text":"whole"}}]}}"#);
        assert_eq!(completed(result, 2), expected);
    }

    // covers: MGP-12.5-05
    #[test]
    fn a_result_without_content_gets_what_was_streamed() {
        let expected = format!(r#"{{"content":[{{"type":"text","text":"ab"}}],"_mgp":{{{SUMMARY}}}}}"#);
        for result in [r#"{"content":[]}"#, r#"{"content": [ ]}"#, "{}"] {
            assert_eq!(completed(result, 2), expected, "{result}");
        }
        assert_eq!(completed("{}", 0), r#"{"content":[{"type":"text","text":"ab"}]}"#);
        let task = r#"{"task":{"taskId":"1"}}"#;
        assert_eq!(completed(task, 0), task);
    }

    #[test]
    fn the_summary_goes_into_a_member_that_is_there() {
        let result = r#"{"content":[1],"_mgp":{"x":1,"streamed":false}}"#;
        let expected = r#"{"content":[1],"_mgp":{"x":1,"streamed":true,"chunks_sent":2,"duration_ms":5}}"#;
        assert_eq!(completed(result, 2), expected);
        assert_eq!(
            completed(r#"{"content":[1],"\u005fmgp":7}"#, 2),
            format!(r#"{{"content":[1],"_mgp":{{{SUMMARY}}}}}"#)
        );
    }

    #[test]
    fn a_stamp_that_is_there_stays() {
        let mut response = Response::plain(RawJson::parse(r#"{"content":[1]}"#).unwrap());
        response.context.stamp = Some(bytes::Bytes::from_static(br#""a":1"#));
        let raw = complete(response.clone(), &streamed(2)).to_raw();
        assert_eq!(raw.as_bytes(), format!(r#"{{"a":1,"_mgp":{{{SUMMARY}}},"content":[1]}}"#).as_bytes());
        response.context.stamp = Some(bytes::Bytes::from_static(br#""_mgp":{"a":1}"#));
        let raw = complete(response, &streamed(2)).to_raw();
        assert_eq!(raw.as_bytes(), format!(r#"{{"_mgp":{{"a":1,{SUMMARY}}},"content":[1]}}"#).as_bytes());
    }

    #[test]
    fn the_era_cannot_write_over_the_summary() {
        let response = Response::plain(RawJson::parse(r#"{"content":[1]}"#).unwrap());
        assert_eq!(complete(response, &streamed(2)).context.shape, ResultShape::Opaque);
    }

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
