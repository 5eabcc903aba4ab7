//! Messages about a call: the call they belong to, and the name that the peer uses for it.

use memchr::memmem;
use mgp_types::mcp::meta::key;
use mgp_types::{CallSide, Id, Method, Object, Outbox, Params, RawJson, StreamId};

/// Returns the stream of our call that a message is about, if it is about one.
///
/// A relayed message has an outbox that leads somewhere; it is on the standalone stream if the call is over.
pub(crate) fn own(method: &Method, outbox: &Outbox) -> Option<StreamId> {
    (is_followed(outbox) && method.about_call() == Some(CallSide::Sender)).then(|| outbox.stream())
}

/// Returns whether a call with this outbox is followed: its caller gets messages about the call, or may send some.
pub(crate) fn is_followed(outbox: &Outbox) -> bool {
    outbox.is_open() || outbox.stream() != StreamId::STANDALONE
}

/// Returns the id of the listening call for which the peer sends a message.
pub(crate) fn subscription(params: &Params) -> Option<Id> {
    memmem::find(params.bytes("_meta")?, key::SUBSCRIPTION_ID.as_bytes())?;
    let meta = Object::from_raw(&params.get("_meta")?).ok()?;
    Id::from_json(meta.bytes(key::SUBSCRIPTION_ID)?)
}

/// Removes the name of the [subscription] from a message.
pub(crate) fn take_subscription_out(params: &mut Params) {
    let Some(meta) = params.object_mut("_meta") else { return };
    meta.remove(key::SUBSCRIPTION_ID);
    if meta.is_empty() {
        params.remove("_meta");
    }
}

/// The name by which the peer names the call that a message is about.
///
/// The name is read before it is taken out, so that a message that is dropped is not copied first.
pub(crate) struct PeerCallName(RawJson);

const REQUEST_ID: &str = "request_id";

impl PeerCallName {
    /// Returns the name in the parameters of a message.
    pub(crate) fn of(params: &Params) -> Option<Self> {
        params.get(REQUEST_ID).map(Self)
    }

    /// Returns the id; `None` if the name is no id.
    pub(crate) fn id(&self) -> Option<Id> {
        Id::from_json(self.0.as_bytes())
    }

    /// Takes the name out of the parameters, because ids are neither seen nor relayed above the connection.
    ///
    /// The remaining parameters get a buffer of their own: a waiting message must not keep the read buffer alive, which
    /// holds many others.
    pub(crate) fn take_out(self, params: &mut Params) {
        let whole = params.to_raw();
        let mut own = Vec::new();
        if let Some(members) = behind(whole.as_bytes(), self.0.as_bytes()) {
            own.reserve_exact(members.len() + 1);
            own.push(b'{');
            own.extend_from_slice(members);
        } else {
            without_name(params).write(&mut own);
        }
        // Parameters that were read under other limits may be too deep for the usual ones.
        *params = Params::parse(own).unwrap_or_else(|_| without_name(params));
    }
}

/// Takes the name of the call out of the parameters of a message about it; returns `None` if the name is missing or no
/// id.
pub(crate) fn take_id(params: &mut Params) -> Option<Id> {
    let name = PeerCallName::of(params)?;
    let id = name.id();
    name.take_out(params);
    id
}

/// Returns the text behind the name in an object that begins with it, as those of most peers do.
fn behind<'a>(whole: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = whole.strip_prefix(b"{")?.strip_prefix(br#""request_id":"#)?;
    let rest = value.trim_ascii_start().strip_prefix(name)?;
    rest.strip_prefix(b",").or_else(|| rest.starts_with(b"}").then_some(rest))
}

fn without_name(params: &Params) -> Params {
    let mut params = params.clone();
    params.remove(REQUEST_ID);
    params
}

/// Writes the name of the call that the message is about into the parameters.
pub(crate) fn name(params: &mut Params, id: &Id) {
    params.set(REQUEST_ID, id.to_raw());
}

/// Returns the number of our call. A string never names one, though it may hold the same digits: JSON-RPC returns an id
/// exactly as it was sent.
pub(crate) fn number(id: &Id) -> Option<i64> {
    if let Id::Number(number) = id { Some(*number) } else { None }
}

/// The message of the error for a request about a call that it does not name.
pub(crate) const UNNAMED: &str = "`request_id` must be the id of the call, a string or an integer";

/// The call during which a server asked a question. The mark stands among the extensions of the question.
///
/// Over HTTP a server with sessions asks where it answers the call that the question belongs to. Over a byte stream the
/// call is unknown. The mark names the call by the stream of its outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginatingCall(StreamId);

impl OriginatingCall {
    /// Creates the mark of a question asked during the call that has `stream`.
    pub const fn new(stream: StreamId) -> Self {
        Self(stream)
    }

    /// Returns the stream of the call.
    pub const fn stream(self) -> StreamId {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_taken_out_wherever_it_stands() {
        for (json, rest) in [
            (r#"{"request_id":20,"index":1}"#, r#"{"index":1}"#),
            (r#"{"request_id": 20, "index": 1}"#, r#"{ "index": 1}"#),
            (r#"{"index":1,"request_id":20}"#, r#"{"index":1}"#),
            (r#"{"request\u005fid":20,"index":1}"#, r#"{"index":1}"#),
            (r#"{ "request_id" : 20 , "index":1}"#, r#"{"index":1}"#),
            (r#"{"request_id":20}"#, "{}"),
        ] {
            let mut params = Params::parse(json).unwrap();
            assert_eq!(take_id(&mut params), Some(20.into()), "{json}");
            assert_eq!(params.to_raw().as_bytes(), rest.as_bytes());
            assert!(!params.contains(REQUEST_ID));
        }
    }

    #[test]
    fn a_bad_name_is_none_and_taken_out_too() {
        for bad in ["{}", r#"{"request_id":null}"#, r#"{"request_id":1.5}"#, r#"{"request_id":[1]}"#] {
            let mut params = Params::parse(bad.to_owned()).unwrap();
            assert_eq!(take_id(&mut params), None, "{bad}");
            assert_eq!(params.to_raw().as_bytes(), b"{}");
        }
    }

    #[test]
    fn what_is_left_keeps_no_foreign_buffer() {
        let frame = bytes::Bytes::from(vec![b' '; 100]);
        let at = |bytes: &[u8]| bytes.as_ptr() as usize;
        for json in
            [r#"{"request_id":20,"index":1}"#, r#"{"index":1,"request_id":20}"#, r#"{"request_id":2}"#]
        {
            let mut text = frame.to_vec();
            text.extend_from_slice(json.as_bytes());
            let frame = bytes::Bytes::from(text);
            let mut params = Params::parse(frame.clone()).unwrap();
            take_id(&mut params);
            let left = at(params.to_raw().as_bytes());
            assert!(left < at(&frame) || left >= at(&frame) + frame.len(), "{json}");
        }
    }
}
