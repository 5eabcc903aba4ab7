//! Messages about a call: whose call it is, and how the peer names it.

use mgp_types::mgp::method;
use mgp_types::{Id, Method, Params};

/// Whose call a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// That of whoever sends the message: it is to be stopped, or slowed down.
    Senders,
    /// That of whoever gets it: a part of the result, or how far it is.
    Receivers,
}

impl Whose {
    /// `None` for a message that is about no call.
    ///
    /// Later drafts have further messages on the stream of a call; they go where the known ones go.
    pub(crate) fn call(method: &Method) -> Option<Self> {
        match method.as_str() {
            method::STREAM_CANCEL | method::STREAM_PACE | method::STREAM_GAP => Some(Self::Senders),
            method::CALLBACK_REQUEST => Some(Self::Receivers),
            name => name.starts_with(STREAM).then_some(Self::Receivers),
        }
    }
}

/// Takes the name of the call out of the parameters of a message about it; `None` if it is missing or no id.
///
/// Above the connection no id is seen, and none is relayed.
pub(crate) fn take_id(params: &mut Params) -> Option<Id> {
    Id::from_json(params.remove(REQUEST_ID)?.as_bytes())
}

/// Names the call that the message is about.
pub(crate) fn set_id(params: &mut Params, id: i64) {
    params.set(REQUEST_ID, Id::Number(id).to_raw());
}

/// The number of a call of ours; some peers write numbers as strings.
pub(crate) fn number(id: &Id) -> Option<i64> {
    match id {
        Id::Number(number) => Some(*number),
        Id::Text(text) => text.parse().ok(),
    }
}

/// What is wrong with a request about a call that it does not name.
pub(crate) const UNNAMED: &str = "`request_id` must be the id of the call, a string or an integer";

const REQUEST_ID: &str = "request_id";
const STREAM: &str = "notifications/mgp.stream.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_about_a_call_has_a_side() {
        for (name, whose) in [
            (method::STREAM_CHUNK, Whose::Receivers),
            (method::STREAM_PROGRESS, Whose::Receivers),
            (method::STREAM_GAP_UNRECOVERABLE, Whose::Receivers),
            (method::CALLBACK_REQUEST, Whose::Receivers),
            ("notifications/mgp.stream.later", Whose::Receivers),
            (method::STREAM_CANCEL, Whose::Senders),
            (method::STREAM_PACE, Whose::Senders),
            (method::STREAM_GAP, Whose::Senders),
        ] {
            assert_eq!(Whose::call(&Method::new(name)), Some(whose), "{name}");
        }
        assert_eq!(Whose::call(&Method::PROGRESS), None);
    }

    #[test]
    fn the_name_is_taken_out_good_or_bad() {
        let mut params = Params::parse(r#"{"request_id":"a","index":1}"#).unwrap();
        assert_eq!(take_id(&mut params), Some("a".into()));
        assert_eq!(params.to_raw().as_bytes(), br#"{"index":1}"#);
        for bad in ["{}", r#"{"request_id":null}"#, r#"{"request_id":1.5}"#, r#"{"request_id":[1]}"#] {
            let mut params = Params::parse(bad.to_owned()).unwrap();
            assert_eq!(take_id(&mut params), None, "{bad}");
            assert_eq!(params.to_raw().as_bytes(), b"{}");
        }
    }
}
