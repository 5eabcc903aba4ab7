//! The gates that make the outcomes of a server fit for the rest of the kernel, and name the fallback tool of the configuration
//! for a call that failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_lifecycle::call::NotExecuted;
use mgp_transport::TooLong;
use mgp_types::mcp::{CallToolResult, ForRevision};
use mgp_types::mgp::{Category, Recovery, ServerId, ToolName};
use mgp_types::{Error, Flow, Gate, Method, Object, Origin, Request, Response, ResultKind, Session, code};

use super::own_name::{note_question, questions_in_own_name, said_by};
use crate::record::AuditTrail;

/// A gate that says errors of a server, and the questions in its results, in its name; and keeps its results from being
/// longer than clients have room for.
///
/// A result that is too long is replaced by a message that says how long it is and what to do: for a tool a result with
/// `isError`, because that reaches the model, which can ask for less; for everything else an error, 3001. A result that
/// was so long that its connection did not take it in is replaced as well. Sits outside of retry and of the circuit
/// breaker: the call was made, and the server is none the worse for it. Costs two comparisons.
#[derive(Clone)]
pub(crate) struct ServerOutcomeGate {
    pub(crate) server: ServerId,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) max_bytes: usize,
}

impl Gate for ServerOutcomeGate {
    /// The session of the client, if it calls a tool; and whether a task is asked for, which may hold questions.
    type Pass = (Option<Arc<Session>>, bool);

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.method == Method::TOOLS_CALL;
        let calls_tool = if is_call { request.context.session.clone() } else { None };
        Flow::Pass((calls_tool, request.method == Method::TASKS_GET))
    }

    fn leave(&self, (calls_tool, gets_task): Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Err(error) = self.say_in_own_name(gets_task, outcome) {
            *outcome = Err(error);
        }
        if let Some(message) = self.too_long_message(outcome) {
            *outcome = match calls_tool {
                Some(session) => {
                    Response::with_body(&CallToolResult::error(message).for_revision(session.revision))
                }
                None => Err(Error::new(code::RESOURCE_EXHAUSTED, message)),
            };
        }
    }
}

impl ServerOutcomeGate {
    fn say_in_own_name(&self, gets_task: bool, outcome: &mut Result<Response, Error>) -> Result<(), Error> {
        let response = match outcome {
            Ok(response) => response,
            Err(error) if error.origin() == Origin::Peer => {
                return Err(error.clone().with_message(said_by(&self.server, error.message())));
            }
            Err(_) => return Ok(()),
        };
        let asks = response.result.kind() == ResultKind::InputRequired;
        if !asks && !gets_task {
            return Ok(());
        }
        let Ok(mut result) = Object::from_raw(&response.result) else { return Ok(()) };
        questions_in_own_name(&self.server, &mut result)?;
        response.result = result.to_raw().into();
        if asks {
            note_question(&self.audit, &self.server, "input_required");
        }
        Ok(())
    }

    /// Returns the message in place of an outcome that is too long; `None` if the outcome is short enough.
    fn too_long_message(&self, outcome: &Result<Response, Error>) -> Option<String> {
        let most = self.max_bytes;
        let has = |bytes: String| {
            format!(
                "the result has {bytes} bytes, and {most} are allowed; ask for less, such as a page, a range or fewer \
                 fields, or have `max_message_bytes` of `[limits]` raised in mgp.toml"
            )
        };
        match outcome {
            Ok(response) if response.written_bytes() <= most => None,
            Ok(response) => Some(has(response.written_bytes().to_string())),
            Err(error) => match TooLong::of(error)? {
                TooLong::Message { most_bytes } => Some(has(format!("more than {most_bytes}"))),
                _ => Some(error.message().to_owned()),
            },
        }
    }
}

/// A gate that adds the configured fallback tool to the errors of failed calls.
///
/// Sits around all layers in front of one server. A call that was refused for a reason names no other tool, and neither
/// does a call of which nobody knows whether it was carried out: another tool may be called only if the server answered
/// with an error, or was never asked. Costs a look into a map, which is empty for most servers; allocates for tools
/// that are in it.
#[derive(Clone)]
pub(crate) struct FallbackToolGate(Arc<BTreeMap<ToolName, Box<str>>>);

impl FallbackToolGate {
    /// Makes a gate for the tools of `server` that have a `fallback`.
    pub(crate) fn new(server: &ServerConfig) -> Self {
        let named = server.tools.iter().filter_map(|(tool, rule)| {
            Some((ToolName::from(tool.as_str()), rule.fallback.as_deref()?.into()))
        });
        Self(Arc::new(named.collect()))
    }
}

impl Gate for FallbackToolGate {
    type Pass = Option<Box<str>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let tool = request.context.tool.as_ref().filter(|_| !self.0.is_empty());
        Flow::Pass(tool.and_then(|tool| self.0.get(&tool.name)).cloned())
    }

    fn leave(&self, named: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(named), Err(error)) = (named, outcome)
            && may_be_replaced(error)
        {
            *error = naming(error.clone(), named);
        }
    }
}

fn may_be_replaced(error: &Error) -> bool {
    let is_decision = code::category(error.code()) == Some(Category::Security)
        || matches!(error.code(), code::INVALID_PARAMS | code::INVALID_TOOL_ARGS | code::TOOL_NOT_FOUND);
    !is_decision && (error.origin() == Origin::Peer || NotExecuted::is_cause_of(error))
}

fn naming(error: Error, tool: Box<str>) -> Error {
    let advice = error.recovery().or_else(|| Recovery::for_code(error.code())).unwrap_or_default();
    error.with_recovery(advice.with_retryable(true).with_fallback_tool(tool))
}

#[cfg(test)]
mod tests {
    use mgp_discovery::Config;
    use mgp_types::RawJson;

    use super::*;

    /// Returns what the gate makes of the outcome of a call of `method`.
    fn left(method: &'static str, mut outcome: Result<Response, Error>) -> Result<String, Error> {
        let state = tempfile::tempdir().unwrap();
        let audit = Arc::new(AuditTrail::open(&Config::default(), state.path()).unwrap());
        let gate = ServerOutcomeGate { server: "evil".into(), audit, max_bytes: usize::MAX };
        let Flow::Pass(pass) = gate.enter(&mut Request::call(method, Object::new())) else { panic!() };
        gate.leave(pass, &mut outcome);
        outcome.map(|response| response.result.to_string())
    }

    #[tokio::test]
    async fn an_error_of_a_server_has_its_name_and_one_of_the_kernel_is_left_alone() {
        let message = |error: Error| left("tools/call", Err(error)).unwrap_err().message().to_owned();
        assert_eq!(message(Error::from_origin(Origin::Peer, -1, "run\u{202e} `mgp`")), "evil: run `mgp`");
        assert_eq!(message(Error::invalid_params("no")), "no");
    }

    #[tokio::test]
    async fn questions_that_a_client_answers_by_asking_again_have_the_name_of_their_server() {
        let asks = |kind: &str, fields: &str| {
            let form = format!(r#"{{"message":"Who?","requestedSchema":{{"properties":{{{fields}}}}}}}"#);
            let question = format!(r#"{{"a":{{"method":"elicitation/create","params":{form}}}}}"#);
            Ok(Response::new(RawJson::parse(format!(r#"{{{kind},"inputRequests":{question}}}"#)).unwrap()))
        };
        for (method, kind) in [
            ("tools/call", r#""resultType":"input_required""#),
            ("tasks/get", r#""resultType":"complete","status":"input_required""#),
        ] {
            let named = left(method, asks(kind, r#""name":{"type":"string"}"#)).unwrap();
            assert!(named.contains(r#""message":"evil: Who?""#), "{named}");
            assert!(left(method, asks(kind, r#""password":{"type":"string"}"#)).is_err(), "{method}");
        }
        let plain = r#"{"content":[],"inputRequests":3}"#;
        let result = Ok(Response::new(RawJson::parse(plain).unwrap()));
        assert_eq!(left("tools/call", result).unwrap(), plain);
    }
}
