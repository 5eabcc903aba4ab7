//! The content that a call has streamed so far, kept as JSON.

use mgp_types::{Object, RawJson};

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
}
