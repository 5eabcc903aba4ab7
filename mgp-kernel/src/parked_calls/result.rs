//! The result that asks a client without sessions.

use mgp_types::json::write_string;
use mgp_types::{Error, Method, Object, RawJson, Response};

/// A question as the client gets it.
#[derive(Clone)]
pub(super) struct ClientQuestion {
    pub(super) key: Box<str>,
    pub(super) method: Method,
    pub(super) params: Object,
}

/// Returns the result that asks these questions, to be answered with `state`.
///
/// # Errors
/// Fails if a question is nested too deeply for a result around it.
pub(super) fn input_required(questions: &[ClientQuestion], state: &str) -> Result<Response, Error> {
    let mut result = br#"{"resultType":"input_required","inputRequests":{"#.to_vec();
    for (index, ClientQuestion { key, method, params }) in questions.iter().enumerate() {
        if index > 0 {
            result.push(b',');
        }
        write_string(&mut result, key);
        result.extend_from_slice(br#":{"method":"#);
        write_string(&mut result, method.as_str());
        result.extend_from_slice(br#","params":"#);
        params.write(&mut result);
        result.push(b'}');
    }
    result.push(b'}');
    result.extend_from_slice(br#","requestState":"#);
    write_string(&mut result, state);
    result.push(b'}');
    Ok(Response::new(RawJson::parse(result)?))
}
