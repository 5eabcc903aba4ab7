//! The two ways to call a method of MGP: by the method itself, or by the tool that stands for it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Extension, method};
use crate::mcp::{CallToolResult, ForRevision};
use crate::{Error, Method, Object, RawJson, Request, Response, Revision, code};

/// The way in which a request calls a method of MGP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a program calls the method, a model calls the tool")]
pub enum MethodForm {
    /// The request calls the method itself, which exists where its extension was negotiated.
    Method,
    /// The request calls the tool that stands for the method.
    Tool,
}

impl MethodForm {
    /// Returns the method that a request calls, if it may be a method of MGP, and the way of the call.
    pub fn of(request: &Request) -> Option<(Self, &str)> {
        if request.method == Method::TOOLS_CALL {
            return Some((Self::Tool, method::of_tool(&request.params.text("name")?)?));
        }
        Some((Self::Method, request.method.as_str()))
    }

    /// Checks that the method exists for the caller. It does not where `extension` was not negotiated.
    pub fn check(self, request: &Request, extension: &Extension) -> Result<(), Error> {
        let has = request.context.session.as_ref().is_some_and(|session| session.has(extension));
        if self == Self::Tool || has { Ok(()) } else { Err(Error::method_not_found(&request.method)) }
    }

    /// Returns the parameters of the method.
    pub fn params(self, request: &Request) -> Result<Object, Error> {
        if self == Self::Method {
            return Ok(request.params.clone());
        }
        match request.params.get("arguments").filter(|arguments| !arguments.is_null()) {
            Some(arguments) => Object::from_raw(&arguments)
                .map_err(|_| Error::invalid_params("`arguments` has to be an object")),
            None => Ok(Object::new()),
        }
    }

    /// Returns the parameters of the method as a `T`.
    pub fn read<T: DeserializeOwned>(self, request: &Request) -> Result<T, Error> {
        self.params(request)?.to().map_err(|error| Error::invalid_params(error.to_string()))
    }

    /// Turns the outcome of the method into the answer, in the form of the spoken revision.
    pub fn answer(self, outcome: Result<RawJson, Error>, revision: Revision) -> Result<Response, Error> {
        if self == Self::Method {
            return outcome.map(Response::plain);
        }
        let result = match outcome {
            Ok(result) => CallToolResult::structured(&result).map_err(unwritable)?,
            // A model that gave wrong arguments reads results, and hardly ever errors.
            Err(error) if error.code() == code::INVALID_PARAMS => CallToolResult::error(error.message()),
            Err(error) => return Err(error),
        };
        Response::with_body(&result.for_revision(revision))
    }
}

/// Returns the result of a method as JSON.
///
/// # Errors
/// The value's own `Serialize` refuses.
pub fn written<T: Serialize + ?Sized>(value: &T) -> Result<RawJson, Error> {
    RawJson::from_value(value).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("the result is not JSON").with_source(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(method: Method, params: &str) -> Request {
        Request::call(method, Object::parse(params.to_owned()).unwrap())
    }

    #[test]
    fn the_tool_is_the_method_with_its_arguments() {
        let tool = request(Method::TOOLS_CALL, r#"{"name":"mgp_access_query","arguments":{"agent_id":"a"}}"#);
        let plain = request(Method::new(method::ACCESS_QUERY), r#"{"agent_id":"a"}"#);
        for (asked, form) in [(&tool, MethodForm::Tool), (&plain, MethodForm::Method)] {
            assert_eq!(MethodForm::of(asked), Some((form, method::ACCESS_QUERY)));
            assert_eq!(form.params(asked).unwrap().text("agent_id").as_deref(), Some("a"));
        }
        assert_eq!(MethodForm::of(&request(Method::TOOLS_CALL, r#"{"name":"files.read"}"#)), None);
        assert!(MethodForm::Tool.check(&tool, &Extension::AccessControl).is_ok());
        let unknown = MethodForm::Method.check(&plain, &Extension::AccessControl).unwrap_err();
        assert_eq!(unknown.code(), code::METHOD_NOT_FOUND);
    }

    #[test]
    fn a_model_reads_what_is_wrong_with_its_arguments_in_the_result() {
        let wrong = request(Method::TOOLS_CALL, r#"{"name":"mgp.access.query","arguments":[]}"#);
        let refused = MethodForm::Tool.read::<Object>(&wrong).unwrap_err();
        let answer = MethodForm::Tool.answer(Err(refused), Revision::V2025_11_25).unwrap().to_raw();
        let answer: CallToolResult = serde_json::from_slice(answer.as_bytes()).unwrap();
        assert!(answer.is_error());
        let denied = Error::new(code::ACCESS_DENIED, "no");
        assert_eq!(
            MethodForm::Tool.answer(Err(denied), Revision::LATEST).unwrap_err().code(),
            code::ACCESS_DENIED
        );
    }

    #[test]
    fn a_result_has_what_its_revision_knows() {
        for (revision, has) in [(Revision::V2024_11_05, false), (Revision::V2025_11_25, true)] {
            let answer = MethodForm::Tool.answer(written(&json!({"a": 1})), revision).unwrap().to_raw();
            let text = std::str::from_utf8(answer.as_bytes()).unwrap();
            assert_eq!(text.contains("structuredContent"), has, "{text}");
        }
    }
}
