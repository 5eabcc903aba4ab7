//! The facts that both ends of an unread message tell: its kind and its id.

use mgp_types::Id;

/// The facts that the first bytes of a message tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MessageHead {
    /// The message answers the request of this id.
    Answer(Id),
    /// The message is a request or a notification.
    Request(Option<Id>),
    /// The last bytes are needed to tell.
    Unclear,
}

/// The two ends and the length so far of a message that is read and not kept.
#[derive(Debug, Default)]
pub(crate) struct SkippedMessage {
    /// The number of bytes that were skipped.
    pub(crate) bytes: usize,
    /// The first bytes of the message, 512 at most.
    pub(crate) first: Vec<u8>,
    /// The last bytes that have come of the message, 512 at most.
    pub(crate) last: Vec<u8>,
}

/// The number of bytes that are kept of each end: enough for the members beside a result in an answer.
const KEPT_BYTES: usize = 512;

impl SkippedMessage {
    /// Notes the next bytes of the message.
    pub(crate) fn skip(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let room = KEPT_BYTES - self.first.len();
        self.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT_BYTES)..]);
        let more = self.last.len().saturating_sub(KEPT_BYTES);
        self.last.drain(..more);
    }
}

/// Reads the members that stand in front of the long member.
pub(crate) fn head(bytes: &[u8]) -> MessageHead {
    let (mut id, mut is_request) = (None, false);
    let mut rest = bytes.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    while let Some((name, value)) = member(rest) {
        is_request |= name == b"method" || name == b"params";
        let Some((value, behind)) = scalar(value) else { break };
        if name == b"id" {
            id = Id::from_json(value);
        }
        rest = behind;
    }
    match id {
        id if is_request => MessageHead::Request(id),
        Some(id) => MessageHead::Answer(id),
        None => MessageHead::Unclear,
    }
}

/// Returns the id of a message whose id stands behind its result or its parameters.
pub(crate) fn id_at_end(bytes: &[u8]) -> Option<Id> {
    let mut rest = bytes.trim_ascii_end().strip_suffix(b"}")?;
    loop {
        let comma = rest.iter().rposition(|byte| *byte == b',')?;
        let (name, value) = member(&rest[comma + 1..])?;
        match name {
            b"id" => return Id::from_json(value.trim_ascii()),
            b"jsonrpc" => rest = &rest[..comma],
            _ => return None,
        }
    }
}

/// Returns the name in front, as it is written, and the text behind its colon.
fn member(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = string(bytes.trim_ascii_start())?;
    Some((name, rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start()))
}

/// Returns a value that is no array and no object, and the text behind the comma after it.
fn scalar(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = match bytes.first()? {
        b'{' | b'[' => return None,
        b'"' => bytes.len() - string(bytes)?.1.len(),
        _ => bytes.iter().position(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace())?,
    };
    let (value, rest) = bytes.split_at(length);
    Some((value, rest.trim_ascii_start().strip_prefix(b",")?))
}

/// Returns the content of the string in front, as it is written, and the text behind it.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = bytes.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match inside.get(at)? {
            b'"' => return Some((&inside[..at], &inside[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_name_the_request_that_is_answered_or_made() {
        let text = |text: &str| Some(Id::from(text));
        for (bytes, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"te"#, MessageHead::Answer(7.into())),
            (r#" { "id" : 7 , "result" : "abc"#, MessageHead::Answer(7.into())),
            (r#"{"id":"a\"b,","error":{"message":"xx"#, MessageHead::Answer(Id::from("a\"b,"))),
            (
                r#"{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"#,
                MessageHead::Request(text("q")),
            ),
            (r#"{"id":7,"params":{"name":"xxx"#, MessageHead::Request(Some(7.into()))),
            (r#"{"method":"notifications/message","params":{"#, MessageHead::Request(None)),
            (r#"{"result":{"id":7,"content":"#, MessageHead::Unclear),
            (r#"{"result":"id\":7,"#, MessageHead::Unclear),
            ("[{", MessageHead::Unclear),
            ("xxxxx", MessageHead::Unclear),
            ("", MessageHead::Unclear),
            (r#"{"id":12"#, MessageHead::Unclear),
        ] {
            assert_eq!(head(bytes.as_bytes()), expected, "{bytes}");
        }
    }

    #[test]
    fn the_last_bytes_name_it_where_the_first_do_not() {
        for (bytes, expected) in [
            (r#"xxx"}]},"jsonrpc":"2.0","id":7}"#, Some(7)),
            (r#"xxx"}]} , "id" : 7 , "jsonrpc" : "2.0" } "#, Some(7)),
            (r#"xxx","id":7}}"#, None),
            (r#"xxx","id":7,"other":1}"#, None),
            (r#""id":7}"#, None),
            (r#"xxx"}]}"#, None),
            ("xxx", None),
        ] {
            assert_eq!(id_at_end(bytes.as_bytes()), expected.map(Id::Number), "{bytes}");
        }
    }
}
