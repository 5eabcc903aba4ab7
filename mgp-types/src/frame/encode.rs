//! Encoding of messages: members are spliced into JSON-RPC frames without a copy in between.

use crate::json::write_string;
use crate::{Error, Id, Method, Params, Response};

/// Appends a request to `out`, without a line end.
pub fn write_call(out: &mut Vec<u8>, id: &Id, method: &Method, params: &Params) {
    out.reserve(params.written_bytes() + method.as_str().len() + 64);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    write_method(out, method, params);
}

/// Appends a notification to `out`, without a line end.
pub fn write_notification(out: &mut Vec<u8>, method: &Method, params: &Params) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    write_method(out, method, params);
}

/// The member that names the call that a message is about.
const REQUEST_ID: &str = "request_id";

/// Appends a notification [about the call](Method::is_about_a_call) `id` to `out`, without a line end.
///
/// The message names the call in front of `params`; a `request_id` in `params` is dropped, because the id may come from
/// another connection.
pub fn write_notification_about(out: &mut Vec<u8>, method: &Method, id: &Id, params: &Params) {
    if params.contains(REQUEST_ID) {
        let mut unnamed = params.clone();
        unnamed.remove(REQUEST_ID);
        return write_notification_about(out, method, id, &unnamed);
    }
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_string(out, method.as_str());
    out.extend_from_slice(br#","params":{"request_id":"#);
    id.write(out);
    let members = out.len();
    params.write(out);
    // The object continues with members of its own, so the comma has to follow.
    if out[members + 1..].trim_ascii_start() == b"}" {
        out.truncate(members);
        out.push(b'}');
    } else {
        out[members] = b',';
    }
    out.push(b'}');
}

/// Appends the answer to a request to `out`, without a line end.
pub fn write_reply(out: &mut Vec<u8>, id: &Id, response: &Response) {
    out.reserve(response.written_bytes() + 48);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
    response.write(out);
    out.push(b'}');
}

/// Appends an error to `out`, without a line end. `id` is `None` if the id of the request could not be read.
pub fn write_error(out: &mut Vec<u8>, id: Option<&Id>, error: &Error) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        id.write(out);
    }
    out.extend_from_slice(br#","error":{"code":"#);
    Id::Number(error.code()).write(out);
    out.extend_from_slice(br#","message":"#);
    write_string(out, error.message());
    if let Some(data) = error.wire_data() {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}}");
}

fn write_method(out: &mut Vec<u8>, method: &Method, params: &Params) {
    out.extend_from_slice(br#","method":"#);
    write_string(out, method.as_str());
    if !params.is_empty() {
        out.extend_from_slice(br#","params":"#);
        params.write(out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawJson;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn messages_are_written_compactly() {
        let params = Params::parse(r#"{"a":1}"#).unwrap();
        assert_eq!(
            written(|out| write_call(out, &1.into(), &Method::PING, &params)),
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1}}"#
        );
        assert_eq!(
            written(|out| write_notification(out, &Method::INITIALIZED, &Params::new())),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
        );
        assert_eq!(
            written(|out| write_reply(out, &"x".into(), &Response::empty())),
            r#"{"jsonrpc":"2.0","id":"x","result":{}}"#
        );
        let error = Error::new(7, "a \"b\"").with_data(RawJson::null());
        assert_eq!(
            written(|out| write_error(out, None, &error)),
            r#"{"jsonrpc":"2.0","error":{"code":7,"message":"a \"b\"","data":null}}"#
        );
    }
    // covers: MGP-12.4-02, MGP-12.6-02, MGP-13.4-04
    #[test]
    fn the_call_is_named_in_front_of_what_is_said_about_it() {
        let about = |id: Id, params: &str| {
            let params = Params::parse(params.to_owned()).unwrap();
            let written = written(|out| write_notification_about(out, &Method::STREAM_CHUNK, &id, &params));
            let head = r#"{"jsonrpc":"2.0","method":"notifications/mgp.stream.chunk","params":"#;
            written.strip_prefix(head).unwrap().strip_suffix('}').unwrap().to_owned()
        };
        assert_eq!(about(20.into(), r#"{"index":0}"#), r#"{"request_id":20,"index":0}"#);
        assert_eq!(about("a\"b".into(), r#"{ "index" : 0 }"#), r#"{"request_id":"a\"b", "index" : 0 }"#);
        assert_eq!(about(1.into(), "{}"), r#"{"request_id":1}"#);
        assert_eq!(about(1.into(), "{ \n }"), r#"{"request_id":1}"#);
        let relayed = r#"{"index":0,"request_id":"of another","done":true}"#;
        assert_eq!(about(1.into(), relayed), r#"{"request_id":1,"index":0,"done":true}"#);
        assert_eq!(about(1.into(), r#"{"request_id":7}"#), r#"{"request_id":1}"#);
        let built = written(|out| {
            write_notification_about(out, &Method::STREAM_CHUNK, &1.into(), &Params::new());
        });
        assert!(built.ends_with(r#""params":{"request_id":1}}"#), "{built}");
    }
}
