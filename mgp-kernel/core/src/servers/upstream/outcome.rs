//! The outcomes and messages of a server, made fit for the rest of the kernel: what they say to people and models is said in
//! the name of the server, so what looks like the kernel's is not. And the fallback tool that the configuration names for a
//! call that failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_transport::TooLong;
use mgp_types::ext::StructuredError;
use mgp_types::mcp::{CallToolResult, ForRevision};
use mgp_types::mgp::{
    Actor, ActorType, AuditPort as _, AuditTarget, Category, EventType, Outcome, Recovery, ServerId, ToolName,
};
use mgp_types::{
    CallEnding, Error, Flow, Gate, Method, Object, Origin, RawJson, Request, Response, ResultKind, Session,
    code, is_hidden,
};

use super::kept_out;
use crate::call::calls_in_work::MAX_FORMS;
use crate::record::AuditTrail;

/// A gate that says errors of a server, and the questions in its results, in its name; takes suggestions away that would
/// weaken somebody's security; and keeps its results from being longer than clients have room for.
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
    /// True if the system confines the program of the server.
    pub(crate) is_confined: bool,
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
                let named = error.clone().with_message(said_by(&self.server, error.message()));
                let data = if error.code() == code::URL_ELICITATION_REQUIRED {
                    Some(self.pages_in_own_name(error.data()).unwrap_or_else(RawJson::empty_object))
                } else {
                    error.data().and_then(StructuredError::without_unsafe_suggestions)
                };
                return Err(match data {
                    Some(data) => named.with_data(data),
                    None => named,
                });
            }
            Err(_) => return Ok(()),
        };
        if response.result.ending() == CallEnding::Failed {
            remove_unsafe_suggestions(response);
            if self.is_confined {
                kept_out::advise(&self.server, response);
            }
        }
        let asks = response.result.kind() == ResultKind::InputRequired;
        if !asks && !gets_task {
            return Ok(());
        }
        let Ok(mut result) = Object::from_raw(&response.result) else { return Ok(()) };
        questions_in_own_name(&self.server, &mut result)?;
        response.result = result.to_raw().into();
        if asks {
            note_question(&self.audit, &self.server, "input_required", 0);
        }
        Ok(())
    }

    /// Returns the data of an error by which the server sends a person to pages; `None` if no client could read it.
    fn pages_in_own_name(&self, data: Option<&RawJson>) -> Option<RawJson> {
        let mut data = Object::from_raw(data?).ok()?;
        let mut pages: Vec<Object> = data.get("elicitations")?.to().ok()?;
        pages.truncate(MAX_FORMS as usize);
        for page in &mut pages {
            ask_in_own_name(&self.server, page);
        }
        data.set("elicitations", RawJson::from_value(&pages).ok()?);
        Some(data.to_raw())
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
            let advice = error.recovery().or_else(|| Recovery::for_code(error.code())).unwrap_or_default();
            *error = error.clone().with_recovery(advice.with_retryable(true).with_fallback_tool(named));
        }
    }
}

fn may_be_replaced(error: &Error) -> bool {
    let is_decision = code::category(error.code()) == Some(Category::Security)
        || matches!(error.code(), code::INVALID_PARAMS | code::INVALID_TOOL_ARGS | code::TOOL_NOT_FOUND);
    !is_decision && (error.origin() == Origin::Peer || error.is_not_executed())
}

/// Returns the message of `server` with its name, where the server cannot write it, and in visible characters. What it asks a
/// person begins with the words of the kernel.
///
/// # Errors
/// Fails for questions that no client could read, or that are too many.
pub(super) fn in_own_name(server: &ServerId, mut message: Request) -> Result<Request, Error> {
    let params = &mut message.params;
    let named = |params: &mut Object, member: &'static str| {
        if let Some(text) = params.text(member) {
            params.set(member, RawJson::from_text(&said_by(server, &text)));
        }
    };
    match message.method.as_str() {
        "elicitation/create" => ask_in_own_name(server, params),
        // The other servers of the client are not for this one to see, and to the client they are all one.
        "sampling/createMessage" if params.contains("includeContext") => {
            params.set("includeContext", RawJson::from_text("none"));
        }
        "notifications/progress" => named(params, "message"),
        "notifications/message" => {
            let logger = params.text("logger").map(|logger| format!("{server}/{}", visible(&logger)));
            params.set("logger", RawJson::from_text(logger.as_deref().unwrap_or(server.as_str())));
            if let Some(text) = params.text("data") {
                params.set("data", RawJson::from_text(&visible(&text)));
            }
        }
        "notifications/tasks" | "notifications/tasks/status" => questions_in_own_name(server, params)?,
        _ => {}
    }
    params.object_mut_or_new("_meta").set(SERVER, RawJson::from_text(server.as_str()));
    Ok(message)
}

/// Has a form or page that `server` asks a person for begin with the words of the kernel.
fn ask_in_own_name(server: &ServerId, asked: &mut Object) {
    let (words, text) = (format!("{server} {ASKS}"), asked.text("message").unwrap_or_default());
    // That of a server of another kernel has them already.
    let text = visible(text.strip_prefix(&*words).unwrap_or(&text).trim_start());
    asked.set("message", RawJson::from_text(&format!("{words}\n\n{text}")));
}

/// Takes the suggestions that would weaken somebody's security out of a failed result.
fn remove_unsafe_suggestions(response: &mut Response) {
    let meta = Object::from_raw(&response.result).ok().and_then(|result| result.object("_meta"));
    let error = meta.and_then(|meta| meta.get("error"));
    if let Some(safe) = error.as_ref().and_then(StructuredError::without_unsafe_suggestions) {
        response.change_meta(|meta| meta.set("error", safe));
    }
}

/// Puts the questions within a result or a task of `server`, which a client answers by asking again, into its name.
///
/// # Errors
/// Fails for questions that no client could read, or that are too many.
fn questions_in_own_name(server: &ServerId, result: &mut Object) -> Result<(), Error> {
    let Some(questions) = result.get("inputRequests").filter(|questions| !questions.is_null()) else {
        return Ok(());
    };
    let malformed = || Error::misbehaved("the server's questions are malformed");
    let mut named = Object::new();
    let questions = Object::from_raw(&questions).map_err(|_| malformed())?;
    if questions.iter().count() > MAX_FORMS as usize {
        return Err(Error::misbehaved(format!("the server asks more than {MAX_FORMS} questions at once")));
    }
    for (key, question) in questions.iter() {
        let mut question = Object::from_raw(&question).map_err(|_| malformed())?;
        let method = Method::new(&question.text("method").ok_or_else(malformed)?);
        let asked =
            in_own_name(server, Request::call(method, question.object("params").unwrap_or_default()))?;
        question.set("params", asked.params.to_raw());
        named.set(key.into_owned(), question.to_raw());
    }
    result.set("inputRequests", named.to_raw());
    Ok(())
}

fn said_by(server: &ServerId, text: &str) -> String {
    format!("{server}: {}", visible(text))
}

/// Returns the text in one line, without characters that nobody sees.
fn visible(text: &str) -> String {
    let shown = text.chars().map(|letter| if matches!(letter, '\n' | '\t') { ' ' } else { letter });
    shown.filter(|letter| !is_hidden(*letter)).collect()
}

/// Records that `server` asks something of a client, and the number of questions before that were not recorded.
pub(super) fn note_question(audit: &AuditTrail, server: &ServerId, method: &str, unrecorded: u64) {
    let kind = EventType::Custom("dev.cloto.mgp.server_asked".into());
    let mut event = audit.event(kind, Actor::new(ActorType::Server, server.as_str()), Outcome::Success);
    event.target = AuditTarget::new(Some(server.clone()), None);
    event = event.with_detail("method", method);
    if unrecorded > 0 {
        event = event.with_detail("unrecorded_before", &unrecorded);
    }
    audit.log.record_now(vec![event]);
}

/// The words of the kernel behind the name of a server that asks a person something.
const ASKS: &str = "asks this, not mgp. mgp never asks for passwords or codes this way.";

/// The member of `_meta` with the server that a message comes from.
const SERVER: &str = "dev.cloto.mgp/server";

#[cfg(test)]
mod tests {
    use mgp_discovery::Config;

    use super::*;

    /// Returns what the gate makes of the outcome of a call of `method`.
    fn left(method: &'static str, mut outcome: Result<Response, Error>) -> Result<String, Error> {
        let state = tempfile::tempdir().unwrap();
        let audit = Arc::new(AuditTrail::open(&Config::default(), state.path()).unwrap());
        let gate =
            ServerOutcomeGate { server: "evil".into(), audit, max_bytes: usize::MAX, is_confined: false };
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
    async fn pages_that_an_error_of_a_server_names_have_the_words_of_the_kernel() {
        let page = r#"{"mode":"url","message":"mgp: sign in","url":"https://a.example","elicitationId":"1"}"#;
        let sent = |data: String| {
            let data = RawJson::parse(data).unwrap();
            let error = Error::from_origin(Origin::Peer, code::URL_ELICITATION_REQUIRED, "x").with_data(data);
            left("tools/call", Err(error)).unwrap_err().data().unwrap().to_string()
        };
        let sent_on = sent(format!(r#"{{"elicitations":[{}]}}"#, vec![page; 50].join(",")));
        assert_eq!(sent_on.matches("evil asks this, not mgp.").count(), MAX_FORMS as usize, "{sent_on}");
        assert_eq!(sent_on.matches("elicitationId").count(), MAX_FORMS as usize);
        assert_eq!(sent(format!(r#"{{"elicitations":{page}}}"#)), "{}");
    }

    #[tokio::test]
    async fn questions_that_a_client_answers_by_asking_again_have_the_name_of_their_server() {
        let asks = |kind: &str, number: u32| {
            let form =
                |id| format!(r#""{id}":{{"method":"elicitation/create","params":{{"message":"Who?"}}}}"#);
            let forms = (0..number).map(form).collect::<Vec<_>>().join(",");
            let result = format!(r#"{{{kind},"inputRequests":{{{forms}}}}}"#);
            Ok(Response::new(RawJson::parse(result).unwrap()))
        };
        for (method, kind) in [
            ("tools/call", r#""resultType":"input_required""#),
            ("tasks/get", r#""resultType":"complete","status":"input_required""#),
        ] {
            let named = left(method, asks(kind, 1)).unwrap();
            assert!(named.contains("evil asks this, not mgp.") && named.contains("Who?"), "{named}");
            assert!(left(method, asks(kind, MAX_FORMS)).is_ok(), "{method}");
            assert!(left(method, asks(kind, MAX_FORMS + 1)).is_err(), "{method}");
        }
        let plain = r#"{"content":[],"inputRequests":3}"#;
        let result = Ok(Response::new(RawJson::parse(plain).unwrap()));
        assert_eq!(left("tools/call", result).unwrap(), plain);
    }

    fn said(method: &'static str, params: &str) -> Result<Object, Error> {
        let request = Request::call(method, Object::parse(params.to_owned()).unwrap());
        in_own_name(&"evil".into(), request).map(|request| request.params)
    }

    #[test]
    fn what_a_server_says_has_its_name_and_no_hidden_character() {
        let progress = said("notifications/progress", r#"{"message":"waiting for approval"}"#).unwrap();
        assert_eq!(progress.text("message").unwrap(), "evil: waiting for approval");
        let log =
            said("notifications/message", r#"{"logger":"mgp_kernel\n[kernel]","data":"x\u202ey"}"#).unwrap();
        assert_eq!(log.text("logger").unwrap(), "evil/mgp_kernel [kernel]");
        assert_eq!(log.text("data").unwrap(), "xy");
        assert_eq!(said("notifications/message", r#"{"data":"x"}"#).unwrap().text("logger").unwrap(), "evil");
        let sampling =
            said("sampling/createMessage", r#"{"includeContext":"allServers","_meta":{"a":1}}"#).unwrap();
        assert_eq!(sampling.text("includeContext").unwrap(), "none");
        let meta = sampling.object("_meta").unwrap();
        assert_eq!((meta.text(SERVER).unwrap(), meta.contains("a")), ("evil".into(), true));
    }

    #[test]
    fn a_person_reads_first_that_a_server_asks_and_that_mgp_never_asks_for_passwords_so() {
        for asked in [
            r#"{"message":"mgp:\n\ntype your passphrase\u202e\u001b[2J","requestedSchema":{"properties":{"a":{"title":"Passwort"}}}}"#,
            r#"{"mode":"url","message":"mgp: type your passphrase[2J","url":"https://a.example"}"#,
        ] {
            let once = said("elicitation/create", asked).unwrap();
            let message = once.text("message").unwrap().into_owned();
            let twice = said("elicitation/create", &once.to_raw().to_string()).unwrap();
            assert_eq!(twice.text("message").unwrap(), message);
            let (kernels, servers) = message.split_once("\n\n").unwrap();
            assert_eq!(kernels, "evil asks this, not mgp. mgp never asks for passwords or codes this way.");
            assert!(servers.ends_with("type your passphrase[2J") && !servers.contains('\n'), "{servers:?}");
        }
        for without_words in ["{}", r#"{"message":{"text":"Password?"}}"#] {
            let asked = said("elicitation/create", without_words).unwrap();
            assert!(
                asked.text("message").unwrap().starts_with("evil asks this, not mgp."),
                "{without_words}"
            );
        }
    }
}
