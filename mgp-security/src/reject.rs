//! The gate that turns refusals into answers that a plain MCP client can use.

use mgp_types::ext::{ExtensionId, StructuredError};
use mgp_types::mgp::code::{CODE_SAFETY_VIOLATION, INVALID_TOOL_ARGS, RATE_LIMITED, category};
use mgp_types::mgp::{Category, Recovery};
use mgp_types::{
    AuthorizationDemand, Error, Flow, Gate, Method, Origin, RawJson, Request, Response, Session,
};

/// A gate that decides how a refusal of a tool call looks to the caller; nothing else does.
///
/// A peer that speaks MGP gets the error itself, with its code and what to do next. To a plain MCP client, an error
/// would look as if the protocol had failed, and most clients never show one to the model; such a client gets a result
/// with `isError`, whose text a model can read and act on. A call that was not refused but failed (a server is away, a
/// connection was lost, the time was over) stays an error, and for a plain client the error's message contains the
/// advice that an MGP peer gets as recovery data. A client that declared structured errors finds one in the metadata of
/// such a result (`_meta.error`); a client of the tool registry, which knows refusals as errors with numbers of its own,
/// gets the error. The gate belongs outside of the layers that refuse and of the one that records. It reads `context.session`, and allocates on refusal and failure only.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "the gate has no settings")]
pub struct RejectGate;

impl Gate for RejectGate {
    type Pass = Option<PlainRequest>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let plain = request.context.session.as_ref().filter(|session| session.mgp.is_none());
        Flow::Pass(plain.and_then(|session| PlainRequest::of(&request.method, session)))
    }

    fn leave(&self, plain: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(PlainRequest { is_tool_call, reads_structured }) = plain else { return };
        if let Err(error) = outcome {
            if is_tool_call && is_refusal(error) {
                *outcome = as_result(error, reads_structured);
            } else {
                advise(error);
            }
        }
    }
}

/// A request of a client without MGP, as far as it decides how its refusal looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainRequest {
    is_tool_call: bool,
    /// True if the client reads a structured error in the metadata of a failed result.
    reads_structured: bool,
}

impl PlainRequest {
    /// Returns `None` for a client of the tool registry, which reads refusals as errors.
    fn of(method: &Method, session: &Session) -> Option<Self> {
        let extensions = session.extensions();
        let reads_structured = extensions.has(ExtensionId::StructuredErrors);
        let is_tool_call = *method == Method::TOOLS_CALL;
        (!extensions.has(ExtensionId::ToolRegistry)).then_some(Self { is_tool_call, reads_structured })
    }
}

/// Returns whether this program decided against the call. A missing authentication is reported to the client program,
/// not to its model; arguments that do not fit are reported to the model, which can correct them.
fn is_refusal(error: &Error) -> bool {
    use mgp_types::code::{AUTH_EXPIRED, AUTH_REQUIRED};
    // A demand for authorization is answered by the client itself, which gets another token: HTTP tells it.
    if AuthorizationDemand::of(error).is_some() {
        return false;
    }
    let decided = category(error.code()) == Some(Category::Security)
        || matches!(error.code(), RATE_LIMITED | INVALID_TOOL_ARGS);
    error.origin() == Origin::Local && decided && !matches!(error.code(), AUTH_REQUIRED | AUTH_EXPIRED)
}

/// Adds to the message of a failure what to do next: a plain client gets no other advice. Errors from a peer stay as
/// they are.
fn advise(error: &mut Error) {
    let failed =
        matches!(category(error.code()), Some(Category::Lifecycle | Category::Resource | Category::External));
    if !failed || error.origin() == Origin::Peer {
        return;
    }
    let was_sent = matches!(error.origin(), Origin::Connection | Origin::Timeout | Origin::Misbehaved);
    let next = match error.recovery() {
        _ if was_sent && !error.is_not_executed() => {
            "whether the call was carried out is not known: find out before making it again".into()
        }
        Some(recovery) if recovery.may_retry() => match recovery.retry_after_ms.unwrap_or_default() {
            millis if millis <= SOON_MS => "try again in a moment".into(),
            millis => format!("try again in {} seconds", millis.div_ceil(1000)),
        },
        _ => "trying again changes nothing until somebody mends it".into(),
    };
    let done = if error.is_not_executed() { "the call was not carried out: " } else { "" };
    let message = format!("{}; {done}{next}", error.message());
    *error = error.clone().with_message(message);
}

/// The longest wait that is described as "a moment", in milliseconds.
const SOON_MS: u64 = 2000;

fn as_result(error: &Error, reads_structured: bool) -> Result<Response, Error> {
    let details = |recovery: Recovery| recovery.details.filter(|_| error.code() == CODE_SAFETY_VIOLATION);
    let text = match error.recovery().and_then(details) {
        // This is the body of §7.4, from which an agent can correct its code.
        Some(details) => String::from_utf8_lossy(details.as_bytes()).into_owned(),
        None => error.message().to_owned(),
    };
    let mut result = serde_json::json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    if reads_structured {
        let structured = StructuredError::of(error).to_object().to_raw();
        result["_meta"] = serde_json::json!({ "error": structured });
    }
    RawJson::from_value(&result)
        .map(Response::plain)
        .map_err(|error| Error::internal("the refusal is not JSON").with_source(error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
    use mgp_types::{Object, Revision, code};
    use serde_json::Value;
    use tower_service::Service as _;

    use super::*;
    use crate::doubles::TestServer;

    async fn answer(error: Error, method: Method, speaks_mgp: bool) -> Result<Response, Error> {
        let mut session = Session::new(Revision::LATEST);
        let offer = Offer::new(ExtensionSet::standard());
        session.mgp = speaks_mgp.then(|| Negotiated::agree(&offer, &offer)).flatten();
        let mut request = Request::call(method, Object::new());
        request.context.session = Some(Arc::new(session));
        let server = TestServer::answering(move |_| Err(error.clone()));
        RejectGate.layer(server).call(request).await
    }

    fn rejected() -> Error {
        let body =
            RawJson::parse(r#"{"status":"rejected","violations":["Blocked import: 'subprocess'"]}"#).unwrap();
        let mut recovery = Recovery::for_code(code::CODE_SAFETY_VIOLATION).unwrap();
        recovery.details = Some(body);
        Error::new(code::CODE_SAFETY_VIOLATION, "the code was rejected").with_recovery(recovery)
    }

    // covers: MGP-7.4-01, MGP-7.4-06
    #[tokio::test]
    async fn rejected_code_is_an_error_to_a_peer_of_mgp_and_a_readable_result_to_a_plain_client() {
        let error = answer(rejected(), Method::TOOLS_CALL, true).await.unwrap_err();
        assert_eq!(error.code(), 1011);
        let data = error.wire_data().unwrap();
        assert!(std::str::from_utf8(data.as_bytes()).unwrap().contains(r#""details":{"status":"rejected""#));

        let response = answer(rejected(), Method::TOOLS_CALL, false).await.unwrap();
        let result: serde_json::Value = response.body().unwrap();
        assert_eq!(result["isError"], true);
        let text: serde_json::Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["violations"][0], "Blocked import: 'subprocess'");
    }

    #[tokio::test]
    async fn a_plain_client_is_told_in_words_what_to_do_about_a_failure() {
        let passing = |code| Error::new(code, "it failed").with_recovery(Recovery::for_code(code).unwrap());
        let later = Recovery::for_code(code::SERVER_RESTARTING).unwrap().with_retry_after_ms(4001);
        for (error, next) in [
            (passing(code::SERVER_NOT_READY), "it failed; try again in a moment"),
            (passing(code::SERVER_RESTARTING).with_recovery(later), "it failed; try again in 5 seconds"),
            (
                passing(code::QUOTA_EXCEEDED),
                "it failed; trying again changes nothing until somebody mends it",
            ),
            (
                Error::disconnected("it cannot be reached").not_executed().with_usual_recovery(),
                "it cannot be reached; the call was not carried out: try again in a moment",
            ),
            (
                Error::disconnected("it is gone"),
                "it is gone; whether the call was carried out is not known: find out before making it again",
            ),
        ] {
            for method in [Method::TOOLS_CALL, Method::RESOURCES_READ] {
                let returned = answer(error.clone(), method.clone(), false).await.unwrap_err();
                assert_eq!((returned.message(), returned.code()), (next, error.code()));
                let returned = answer(error.clone(), method, true).await.unwrap_err();
                assert_eq!(returned.message(), error.message(), "a peer of MGP has the advice itself");
            }
        }
        for error in
            [Error::from_origin(Origin::Peer, code::SERVER_NOT_READY, "theirs"), Error::internal("broken")]
        {
            let returned = answer(error.clone(), Method::TOOLS_CALL, false).await.unwrap_err();
            assert_eq!(returned.message(), error.message());
        }
    }

    #[tokio::test]
    async fn a_refusal_has_the_form_that_the_client_declared() {
        async fn refused_for(extension: ExtensionId) -> Result<Response, Error> {
            let mut session = Session::new(Revision::LATEST);
            let declared = format!(r#"{{"extensions":{{"{}":{{}}}}}}"#, extension.id());
            session.capabilities = Object::parse(declared).unwrap();
            let mut request = Request::call(Method::TOOLS_CALL, Object::new());
            request.context.session = Some(Arc::new(session));
            let server = TestServer::answering(|_| Err(Error::new(code::ACCESS_DENIED, "ask for access")));
            RejectGate.layer(server).call(request).await
        }
        let result: Value = refused_for(ExtensionId::StructuredErrors).await.unwrap().body().unwrap();
        assert_eq!(
            (&result["isError"], &result["_meta"]["error"]["code"]),
            (&true.into(), &"PERMISSION_DENIED".into())
        );
        assert_eq!(result["_meta"]["error"]["category"], "permanent");
        assert_eq!(refused_for(ExtensionId::ToolRegistry).await.unwrap_err().code(), code::ACCESS_DENIED);
        let plain: Value = refused_for(ExtensionId::Provenance).await.unwrap().body().unwrap();
        assert_eq!(plain.get("_meta"), None);
    }

    #[tokio::test]
    async fn only_refusals_of_tool_calls_become_results() {
        let denied = || Error::new(code::ACCESS_DENIED, "ask for access");
        assert!(answer(denied(), Method::TOOLS_CALL, false).await.is_ok());
        let misfit = Error::new(code::INVALID_TOOL_ARGS, "`/text` is not of type string");
        assert!(answer(misfit, Method::TOOLS_CALL, false).await.is_ok());
        assert!(answer(denied(), Method::RESOURCES_READ, false).await.is_err());
        let theirs = Error::from_origin(Origin::Peer, code::ACCESS_DENIED, "no");
        assert!(answer(theirs, Method::TOOLS_CALL, false).await.is_err());
        assert!(answer(Error::internal("broken"), Method::TOOLS_CALL, false).await.is_err());
        assert!(answer(Error::new(code::AUTH_REQUIRED, "who?"), Method::TOOLS_CALL, false).await.is_err());
    }
}
