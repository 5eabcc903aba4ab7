//! Decoding of frames: one scan of the bytes becomes calls, notifications and replies.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use super::spelling::{MisspelledName, check_envelope, check_error, check_method, check_params};
use crate::json::{Object, RawJson, Scanner, range, read_string, scan_members};
use crate::{Error, Id, JsonError, JsonFault, Method, Origin, Params};

/// The content of one frame.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "closed by JSON-RPC")]
pub enum Frame {
    /// One message.
    Single(Result<Message, Malformed>),
    /// An array of messages, never empty. Only revision 2025-03-26 allows it.
    Batch(Vec<Result<Message, Malformed>>),
}

/// One JSON-RPC message.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "closed by JSON-RPC")]
pub enum Message {
    /// A request, which expects an answer under the same id.
    Call {
        /// The sender's id.
        id: Id,
        /// The method that is called.
        method: Method,
        /// The parameters.
        params: Params,
    },
    /// A notification, which expects no answer.
    Notify {
        /// The name of the notification.
        method: Method,
        /// The parameters.
        params: Params,
    },
    /// The answer to a request.
    Reply {
        /// The id of the request; `None` if the peer could not read the id.
        id: Option<Id>,
        /// The result, or the peer's error.
        outcome: Result<RawJson, Error>,
    },
}

/// A frame or message that is not JSON-RPC.
#[derive(Debug)]
#[non_exhaustive]
pub struct Malformed {
    /// The id in the message, as far as it could be read.
    pub id: Option<Id>,
    /// The error that the specification prescribes for such a message.
    pub error: Error,
    /// True if the sender waits for an answer. On a byte stream, a broken notification or answer gets none.
    pub answerable: bool,
}

/// Decodes one frame.
///
/// The scan checks the whole frame (grammar, UTF-8, depth, repeated members) and splits `params` into its members. The
/// scan copies nothing, and allocates nothing for a well-formed request of usual size.
///
/// ```
/// use mgp_types::frame::{Frame, Message, decode};
///
/// let frame = decode(&r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.into());
/// let Frame::Single(Ok(Message::Call { id, method, .. })) = frame else { panic!("not a call") };
/// assert_eq!((id, method.as_str()), (7.into(), "ping"));
/// ```
pub fn decode(bytes: &Bytes) -> Frame {
    let mut scanner = Scanner::new(bytes);
    if let Err(error) = scanner.start() {
        return Frame::Single(Err(error.into()));
    }
    if scanner.peek() != Some(b'[') {
        return Frame::Single(message(&mut scanner, bytes));
    }
    match elements(&mut scanner) {
        Ok(spans) if spans.is_empty() => {
            Frame::Single(Err(Malformed::request(None, Error::invalid_request("a batch must not be empty"))))
        }
        Ok(spans) => Frame::Batch(spans.into_iter().map(|span| element(&bytes.slice(span))).collect()),
        Err(malformed) => Frame::Single(Err(malformed)),
    }
}

const MAX_BATCH: usize = 1024;

fn element(bytes: &Bytes) -> Result<Message, Malformed> {
    let mut scanner = Scanner::new(bytes);
    scanner.start()?;
    message(&mut scanner, bytes)
}

fn elements(scanner: &mut Scanner<'_>) -> Result<Vec<Range<usize>>, Malformed> {
    let mut spans = Vec::new();
    let mut first = true;
    scanner.open_array()?;
    while scanner.next_element(&mut first)? {
        // A decoded message takes many times the memory of the shortest message on the wire.
        if spans.len() == MAX_BATCH {
            let error = Error::invalid_request("a batch takes up to 1024 messages; send them in several");
            return Err(Malformed::request(None, error));
        }
        spans.push(range(&scanner.value()?));
    }
    scanner.skip_space();
    scanner.end()?;
    Ok(spans)
}

/// The members of a message, as the scan finds them.
#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Params>,
    /// True if the params are neither an object nor null.
    has_wrong_params: bool,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    trace_id: Option<Range<usize>>,
    /// True if a result or an error was begun.
    answers: bool,
    /// The first member whose name reads like another one.
    misspelled: Option<MisspelledName>,
}

#[inline]
fn message(scanner: &mut Scanner<'_>, bytes: &Bytes) -> Result<Message, Malformed> {
    if scanner.peek() == Some(b'{') {
        let mut envelope = Envelope::default();
        return match scan(scanner, bytes, &mut envelope) {
            Ok(()) => read(bytes, envelope),
            Err(error) => Err(broken(bytes, &envelope, error)),
        };
    }
    scanner.value()?;
    scanner.end()?;
    Err(Malformed::request(None, Error::invalid_request("a message is a JSON object")))
}

#[inline]
fn scan(scanner: &mut Scanner<'_>, bytes: &Bytes, envelope: &mut Envelope) -> Result<(), JsonError> {
    let mut object = scanner.open_object()?;
    while let Some(key) = scanner.next_key(&mut object)? {
        let name = scanner.name(&key);
        if *name == *b"params" && scanner.peek() == Some(b'{') {
            let mut members = SmallVec::new();
            let whole = scan_members(scanner, &mut members)?;
            envelope.params = Some(Object::from_scan(bytes.clone(), whole, members));
            continue;
        }
        envelope.answers |= *name == *b"result" || *name == *b"error";
        let value = range(&scanner.value()?);
        match &*name {
            b"jsonrpc" => envelope.jsonrpc = Some(value),
            b"id" => envelope.id = Some(value),
            b"method" => envelope.method = Some(value),
            b"params" => envelope.has_wrong_params = &bytes[value] != b"null",
            b"result" => envelope.result = Some(value),
            b"error" => envelope.error = Some(value),
            b"trace_id" => envelope.trace_id = Some(value),
            _ if envelope.misspelled.is_none() => envelope.misspelled = check_envelope(&name).err(),
            _ => {}
        }
    }
    scanner.skip_space();
    scanner.end()
}

/// Returns the report of a message that is not JSON. A message that began as an answer gets no answer, and its call
/// learns of it; a message that is cut short, like the last one of a broken connection, ends no call. A request that is
/// nested too deeply is answered under its id, if id and method stand before what is nested.
#[cold]
fn broken(bytes: &Bytes, envelope: &Envelope, error: JsonError) -> Malformed {
    let is_answer = envelope.answers && envelope.method.is_none() && error.fault != JsonFault::UnexpectedEnd;
    let is_too_deep = error.fault == JsonFault::TooDeep && envelope.method.is_some();
    let id = envelope.id.clone().filter(|_| is_answer || is_too_deep);
    match id.and_then(|span| Id::from_json(&bytes[span])) {
        Some(id) => Malformed { id: Some(id), error: error.into(), answerable: !is_answer },
        None => error.into(),
    }
}

const TRACE_ID: &str = "trace_id";

#[inline]
fn read(bytes: &Bytes, envelope: Envelope) -> Result<Message, Malformed> {
    let id_bytes = envelope.id.map(|span| &bytes[span]);
    let id = id_bytes.and_then(Id::from_json);
    let is_reply = envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some());
    let malformed = |id: Option<Id>, why: Cow<'static, str>| Malformed {
        id,
        error: Error::invalid_request(why),
        answerable: !is_reply,
    };
    if let Some(misspelled) = &envelope.misspelled {
        return Err(malformed(id, misspelled.to_string().into()));
    }
    if envelope.jsonrpc.map(|span| &bytes[span]) != Some(br#""2.0""#) {
        return Err(malformed(id, r#"`jsonrpc` must be "2.0""#.into()));
    }
    if is_reply {
        if id.is_none() && envelope.error.is_none() {
            return Err(malformed(None, "an answer needs the id of its request".into()));
        }
        let outcome = match (envelope.result, envelope.error) {
            (Some(result), None) if bytes[result.start] == b'{' => {
                Ok(RawJson::from_valid(bytes.slice(result)))
            }
            (Some(_), None) => Err(Error::misbehaved("the answer's result is not an object")),
            (None, Some(error)) => match check_error(&bytes[error.clone()]) {
                Ok(()) => Err(peer_error(&bytes[error])),
                Err(misspelled) => Err(Error::misbehaved(format!("in the answer, {misspelled}"))),
            },
            _ => Err(Error::misbehaved("the answer has both a result and an error")),
        };
        return Ok(Message::Reply { id, outcome });
    }
    let Some(method) = envelope.method.and_then(|span| read_string(&bytes[span])) else {
        return Err(malformed(id, "`method` must be a string".into()));
    };
    let method = Method::new(&method);
    if method.known().is_none()
        && let Err(misspelled) = check_method(method.as_str())
    {
        return Err(Malformed::request(id, Error::invalid_request(misspelled.to_string())));
    }
    if envelope.result.is_some() || envelope.error.is_some() {
        return Err(malformed(id, "a request has neither result nor error".into()));
    }
    // Some MGP programs write `"id":null` into their notifications.
    let is_notification = match id_bytes {
        None => true,
        Some(b"null") => method.is_notification(),
        Some(_) => false,
    };
    if envelope.has_wrong_params {
        let error = Error::invalid_params("`params` must be an object");
        return Err(Malformed { id, error, answerable: !is_notification });
    }
    let mut params = envelope.params.unwrap_or_default();
    if let Err(misspelled) = check_params(&method, &params) {
        let error = Error::invalid_params(misspelled.to_string());
        return Err(Malformed { id, error, answerable: !is_notification });
    }
    // MGP §6.5 allows the trace id in either place; the layers further in look in one.
    if let Some(trace_id) = envelope.trace_id.map(|span| bytes.slice(span))
        && !params.contains(TRACE_ID)
    {
        params.set(TRACE_ID, RawJson::from_valid(trace_id));
    }
    match id {
        _ if is_notification => Ok(Message::Notify { method, params }),
        Some(id) => Ok(Message::Call { id, method, params }),
        None => Err(malformed(None, "`id` must be a string or an integer".into())),
    }
}

/// Reads the peer's error and keeps its code, message and data untouched.
fn peer_error(bytes: &[u8]) -> Error {
    let Ok(object) = Object::parse(Bytes::copy_from_slice(bytes)) else {
        return Error::misbehaved("the answer's error is not an object");
    };
    let Some(code) = object.bytes("code").and_then(|code| std::str::from_utf8(code).ok()?.parse().ok())
    else {
        return Error::misbehaved("the answer's error has no code");
    };
    let message = object.text("message").map_or_else(String::new, Cow::into_owned);
    let error = Error::from_origin(Origin::Peer, code, message);
    if let Some(data) = object.get("data") { error.with_data(data) } else { error }
}

impl Malformed {
    fn request(id: Option<Id>, error: Error) -> Self {
        Self { id, error, answerable: true }
    }
}

crate::convert!(JsonError => Malformed, error => Self::request(None, error.into()));

crate::convert!(Malformed => Error, malformed => malformed.error);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    fn single(text: &str) -> Result<Message, Malformed> {
        match decode(&Bytes::copy_from_slice(text.as_bytes())) {
            Frame::Single(message) => message,
            Frame::Batch(_) => panic!("{text} is a batch"),
        }
    }

    fn refusal(text: &str) -> (Option<Id>, i64, bool) {
        let malformed = single(text).expect_err(text);
        (malformed.id, malformed.error.code(), malformed.answerable)
    }

    #[test]
    fn a_batch_has_a_bound() {
        let batch = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
        let bytes = |count| Bytes::from(batch(count));
        assert!(matches!(decode(&bytes(1024)), Frame::Batch(all) if all.len() == 1024));
        assert_eq!(refusal(&batch(1025)), (None, code::INVALID_REQUEST, true));
    }

    #[test]
    fn an_answer_that_is_not_json_says_whom_it_answers() {
        let parse = code::PARSE_ERROR;
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#, (Some(7.into()), false)),
            (r#"{"id":"x","error":nonsense}"#, (Some("x".into()), false)),
            (r#"{"id":7,"method":"a","params":{"a":1,"a":2}}"#, (None, true)),
            (
                &format!(r#"{{"id":7,"method":"a","params":{}"#, r#"{"a":"#.repeat(200)),
                (Some(7.into()), true),
            ),
            (&format!(r#"{{"id":7,"params":{}"#, r#"{"a":"#.repeat(200)), (None, true)),
            (r#"{"id":7,"what":}"#, (None, true)),
            (r#"{"result":{"a":1,"a":2},"id":7}"#, (None, true)),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":"#, (None, true)),
        ] {
            let (id, code, answerable) = refusal(text);
            assert!((id, answerable) == expected && [parse, code::INVALID_REQUEST].contains(&code), "{text}");
        }
    }

    // covers: BASE-01, BASE-14, MGP-1.5-01
    // covers: MGP-6.5-01
    #[test]
    fn a_trace_id_beside_the_parameters_is_read_as_one_among_them() {
        let trace = |frame: &'static str| match decode(&Bytes::from_static(frame.as_bytes())) {
            Frame::Single(Ok(Message::Call { params, .. } | Message::Notify { params, .. })) => {
                params.text("trace_id").map(Cow::into_owned)
            }
            other => panic!("{other:?}"),
        };
        let beside = r#"{"jsonrpc":"2.0","id":1,"method":"x","trace_id":"a"}"#;
        assert_eq!(trace(beside).as_deref(), Some("a"));
        let both = r#"{"jsonrpc":"2.0","method":"x","trace_id":"a","params":{"trace_id":"b"}}"#;
        assert_eq!(trace(both).as_deref(), Some("b"));
    }

    #[test]
    fn the_four_kinds_of_message_are_told_apart() {
        let call =
            single(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a"}}"#).unwrap();
        let Message::Call { id, method, params } = call else { panic!("{call:?}") };
        assert_eq!((id, method), ("x".into(), Method::TOOLS_CALL));
        assert_eq!(params.text("name").unwrap(), "a");

        let notify = single(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
        assert!(matches!(notify, Message::Notify { method, .. } if method == Method::INITIALIZED));

        let reply = single(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#).unwrap();
        let Message::Reply { id: Some(Id::Number(1)), outcome: Ok(result) } = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(result.as_bytes(), br#"{"a":1}"#);

        let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1000,"message":"no","data":{"x":[1]}}}"#;
        let Message::Reply { outcome: Err(error), .. } = single(text).unwrap() else { panic!("no error") };
        assert_eq!((error.code(), error.message(), error.origin()), (1000, "no", Origin::Peer));
        assert_eq!(error.data().unwrap().as_bytes(), br#"{"x":[1]}"#);
    }

    // covers: BASE-01
    #[test]
    fn broken_frames_get_the_exact_error() {
        let one = Some(Id::Number(1));
        for (text, id, code) in [
            ("{", None, -32700),
            ("", None, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, None, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, None, -32700),
            (r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#, None, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, None, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":{"y":1,"y":2}}}"#, None, -32600),
            ("{}", None, -32600),
            ("1", None, -32600),
            ("null", None, -32600),
            ("[]", None, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, one.clone(), -32600),
            (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, one.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#, one.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, one.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":1}"#, one.clone(), -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, one.clone(), -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, one, -32600),
        ] {
            assert_eq!(refusal(text), (id, code, true), "{text}");
        }
    }

    #[test]
    fn broken_answers_and_notifications_are_not_answered() {
        assert!(!refusal(r#"{"jsonrpc":"1.0","id":1,"result":{}}"#).2);
        assert!(!refusal(r#"{"jsonrpc":"2.0","result":{}}"#).2);
        assert!(!refusal(r#"{"jsonrpc":"2.0","method":"notifications/x","params":3}"#).2);
    }

    #[test]
    fn an_answer_with_result_and_error_is_the_peers_fault() {
        let both = single(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#).unwrap();
        let Message::Reply { outcome: Err(error), .. } = both else { panic!("{both:?}") };
        assert_eq!(error.origin(), Origin::Misbehaved);
    }

    #[test]
    fn a_result_that_is_no_object_is_the_peers_fault() {
        for result in ["5", "null", "true", "[]", r#""{}""#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result": {result}}}"#);
            let Ok(Message::Reply { id, outcome: Err(error) }) = single(&text) else { panic!("{text}") };
            assert_eq!((id, error.origin()), (Some(1.into()), Origin::Misbehaved), "{text}");
        }
        assert!(!refusal(r#"{"jsonrpc":"2.0","result":5}"#).2);
    }

    #[test]
    fn a_notification_with_a_null_id_is_a_notification() {
        let text = r#"{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}"#;
        assert!(matches!(single(text), Ok(Message::Notify { .. })));
    }

    #[test]
    fn escaped_member_names_mean_what_they_spell() {
        let text = r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"p\u0069ng","par\u0061ms":{}}"#;
        let Ok(Message::Call { method, .. }) = single(text) else { panic!("not a call") };
        assert_eq!(method, Method::PING);
    }

    #[test]
    fn a_batch_is_decoded_message_by_message() {
        let text = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 3 ,{"jsonrpc":"2.0","method":"a"}]"#;
        let Frame::Batch(messages) = decode(&text.into()) else { panic!("no batch") };
        assert!(matches!(messages[0], Ok(Message::Call { .. })));
        assert!(messages[1].is_err());
        assert!(matches!(messages[2], Ok(Message::Notify { .. })));
    }

    #[test]
    fn depth_bombs_are_refused() {
        let bomb = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{}"#, "[".repeat(100_000));
        assert_eq!(refusal(&bomb).1, -32600);
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = decode(&bytes.into());
        }
    }
}
