//! Large results that their handlers did not stream, split into chunks.

use mgp_types::{Error, Method, Object, RawJson, Request, Response};

use super::active::ActiveCall;

/// The bytes of a result up to which it is sent as a whole only.
const MAX_WHOLE: usize = 64 << 10;

/// The bytes of a text in one chunk at most.
const MAX_TEXT: usize = 16 << 10;

/// Returns the contents of the chunks of a large result; `None` if the result is small, is a failure, or has no content.
pub(super) fn split(outcome: &Result<Response, Error>) -> Option<Vec<RawJson>> {
    let response = outcome.as_ref().ok().filter(|response| response.result.as_bytes().len() > MAX_WHOLE)?;
    let result = Object::from_raw(&response.to_raw()).ok()?;
    if result.bytes("isError") == Some(b"true") {
        return None;
    }
    let blocks: Vec<Object> = result.get("content")?.to().ok()?;
    Some(blocks.iter().flat_map(pieces).collect())
}

/// Returns a block, cut into several ones if it is a long text.
fn pieces(block: &Object) -> Vec<RawJson> {
    let (Some("text"), Some(text)) = (block.text("type").as_deref(), block.text("text")) else {
        return vec![block.to_raw()];
    };
    let (mut pieces, mut rest) = (Vec::new(), &*text);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_TEXT));
        let piece = [("type", RawJson::from_text("text")), ("text", RawJson::from_text(piece))];
        pieces.push(Object::from(piece).to_raw());
        rest = after;
    }
    pieces
}

/// Sends the chunks, until the call ends in another way.
pub(super) async fn send(active: &ActiveCall, contents: Vec<RawJson>) {
    let last = contents.len().saturating_sub(1);
    for (index, content) in contents.into_iter().enumerate() {
        let done = RawJson::from_written(if index == last { b"true".to_vec() } else { b"false".to_vec() });
        let params = Object::from([("content", content), ("done", done)]);
        if active.chunk(Request::notify(Method::STREAM_CHUNK, params)).await.is_err() {
            return;
        }
    }
}
