use std::fmt::Debug;
use std::sync::Arc;

use crate::input::InputExchange;
use crate::json::{Object, RawJson};
use crate::mgp::{
    Asking, CallEffect, CallFlow, CallRecord, CallSource, Operation, Refusal, ResolvedTool, TraceId,
    UnknownCommand,
};
use crate::{ClientFolders, ClientSession, Error, Method, Outbox, Principal, Request, Session, code};

/// The facts about a request beyond its bytes: one named slot for each thing that the layers exchange.
///
/// A security layer that finds its slot empty refuses.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Context {
    /// The agreement with the peer. Written by the era layer.
    pub session: Option<Arc<Session>>,
    /// The session of the client at this program, where there is one. Written by whoever accepts the connection.
    pub client: Option<Arc<ClientSession>>,
    /// The sender of the request. Written by whatever authenticates.
    pub principal: Option<Principal>,
    /// The party that speaks in the name of the principal, if one does. Written by whatever allows it.
    pub speaker: Option<Principal>,
    /// The scopes of the token that the request came with; `None` without a token. Written by whatever authenticates.
    pub scopes: Option<Arc<crate::ext::scope::Scopes>>,
    /// True if the request came by a way on which nobody is taken for the human in front of the caller, so that no
    /// answer of the caller decides anything. Written by whoever knows the way.
    pub unattended: bool,
    /// The folders in which the client works. Written by whoever knows the way.
    pub folders: Option<Arc<ClientFolders>>,
    /// The reverse channel of the request. Written by the transport.
    pub outbox: Outbox,
    /// The questions and answers of the request, where asking means answering with a question.
    /// Written by the layer that carries them.
    pub input: Option<Arc<InputExchange>>,
    /// The chain of requests to which the request belongs. Written by the layer that records.
    pub trace: Option<TraceId>,
    /// The findings of the layers about the request. Written by the layer that records, filled by those further in.
    pub trail: Option<Arc<CallRecord>>,
    /// The tool the request is for. Written by whoever knows the catalog.
    pub tool: Option<Arc<ResolvedTool>>,
    /// The operation that the request asks of a server, if it calls no tool. Written in front of the server.
    pub operation: Option<Arc<Operation>>,
    /// The arguments as a server reads them that converts them to the types of its schema, where that is something else
    /// than what is forwarded. Written by whoever checks arguments; whoever judges them judges both.
    pub converted: Option<RawJson>,
    /// The effect of the call, by its tool and its arguments; `None` where nobody guesses it. Written by whoever checks
    /// arguments.
    pub effect: Option<CallEffect>,
    /// What is unknown in the command that the call runs. Written by whoever checks arguments.
    pub command: Option<Arc<UnknownCommand>>,
    /// The kind of data that the call takes into the session of its client. Written by whoever checks arguments.
    pub source: Option<CallSource>,
    /// The flow that the call would complete. Written by whoever follows sessions.
    pub flow: Option<Arc<CallFlow>>,
    /// The answer of the operators' rules to the question whether a person is asked about the call; `None` if no rule is
    /// about it. Written by whoever knows the rules.
    pub asking: Option<Asking>,
    /// The listener that is told when the call waits for an operator. Written by whoever goes on with such a call behind an
    /// answer.
    pub wait_listener: Option<Arc<dyn WaitListener>>,
}

/// A listener that is told when a call begins to wait for an operator, and when that wait is over.
pub trait WaitListener: Debug + Send + Sync {
    /// Takes note of what the call waits for, in words for people; `None` says that a wait is over. Returns whether anybody
    /// goes on with the call while it waits, so that it may wait for long.
    fn hear(&self, waits_for: Option<&str>) -> bool;
}

impl Context {
    /// The session.
    ///
    /// # Errors
    /// -32600 if the request came past the layer that knows it.
    pub fn session(&self) -> Result<&Arc<Session>, Error> {
        self.session.as_ref().ok_or_else(|| Error::invalid_request("the request belongs to no session"))
    }

    /// Notes in the record of the call, where there is one, that the request is refused.
    pub fn note_refusal(&self, refusal: Refusal) {
        if let Some(trail) = &self.trail {
            trail.note_refusal(refusal);
        }
    }

    /// Asks the caller for input: `method` is `elicitation/create`, `sampling/createMessage` or `roots/list`.
    ///
    /// Where the peer can be asked directly, the question is sent and its answer awaited. Where it cannot,
    /// the answer is taken from those that came with the request; without one the question is noted and the
    /// error is one to be returned at once: the handler runs again from the start when the answer has come.
    /// `key` names the question and has to be the same in each run.
    ///
    /// # Errors
    /// The peer did not declare that it can be asked, the connection is lost, the peer refuses, or the
    /// answer is still to come ([`Origin::InputRequired`](crate::Origin::InputRequired)).
    pub async fn ask(&self, key: &str, method: Method, params: Object) -> Result<RawJson, Error> {
        let session = self.session()?;
        if let Some(missing) = missing_capability(session, &method, &params) {
            return Err(refuse(session, missing));
        }
        match &self.input {
            Some(exchange) => exchange.answer_or_ask(key, method, params),
            None => Ok(self.outbox.call(Request::call(method, params)).await?.to_raw()),
        }
    }
}

/// The capability a question needs and the peer did not declare, as the object that names it.
fn missing_capability(session: &Session, method: &Method, params: &Object) -> Option<&'static str> {
    let can = |path: &[&str]| session.peer_can(path);
    let (declared, needed) = match method.as_str() {
        "elicitation/create" if params.text("mode").as_deref() == Some("url") => {
            (can(&["elicitation", "url"]), r#"{"elicitation":{"url":{}}}"#)
        }
        "elicitation/create" => {
            // An empty object declares forms, for clients older than the choice.
            let unspecific = can(&["elicitation"]) && !can(&["elicitation", "url"]);
            (unspecific || can(&["elicitation", "form"]), r#"{"elicitation":{"form":{}}}"#)
        }
        "sampling/createMessage" if params.contains("tools") || params.contains("toolChoice") => {
            (can(&["sampling", "tools"]), r#"{"sampling":{"tools":{}}}"#)
        }
        "sampling/createMessage" => (can(&["sampling"]), r#"{"sampling":{}}"#),
        "roots/list" => (can(&["roots"]), r#"{"roots":{}}"#),
        _ => return None,
    };
    (!declared).then_some(needed)
}

fn refuse(session: &Session, missing: &'static str) -> Error {
    let error = Error::missing_client_capability(&RawJson::from_valid(missing));
    if session.revision.is_stateless() { error } else { error.with_code(code::INVALID_REQUEST) }
}
