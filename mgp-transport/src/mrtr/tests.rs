//! Tests of questions in results, and of relayed clients.

use std::sync::Arc;

use mgp_types::mcp::Implementation;
use mgp_types::{
    Error, Method, Object, Origin, Outbox, Params, Principal, Request, Revision, Session, StreamId, code,
};
use tower_service::Service;

use super::InputRounds;
use crate::era::script::{Reply, Script, stateless_server};
use crate::era::{ClientEra, ClientIdentity, EraMode, EraOptions};

const ASKED: &str = r#"{ "resultType":"input_required", "requestState":"s\u0074ate",
    "inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}} }"#;

/// Returns a server, or the service that answers its questions; each notes the requests that it sees.
fn peer(stateless: bool) -> Script {
    Script::new(move |request| {
        Reply::Result(match request.method.as_str() {
            "server/discover" => r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
            "initialize" => r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#,
            "tools/call" if stateless && !request.params.contains("inputResponses") => ASKED,
            "elicitation/create" => r#"{"action":"accept"}"#,
            _ => r#"{"content":[]}"#,
        })
    })
}

/// Returns a gateway's way to a server, the server, and the service that answers questions.
async fn gateway(stateless: bool) -> (ClientEra<Script, InputRounds<Script>>, Script, Script) {
    let (server, answers) = (peer(stateless), peer(stateless));
    (relaying(stateless, &server, &answers).await, server, answers)
}

async fn relaying(
    stateless: bool,
    server: &Script,
    answers: &Script,
) -> ClientEra<Script, InputRounds<Script>> {
    let mode = if stateless { EraMode::Stateless } else { EraMode::Session };
    let options = EraOptions { mode, relays: true, ..EraOptions::default() };
    let agreement = options.agreement.clone();
    let identity = ClientIdentity::new(Implementation::new("gateway", "1"));
    let era = ClientEra::negotiate(server.clone(), identity, options).await.unwrap();
    era.with_rules(InputRounds::new(answers.clone(), agreement))
}

/// Returns what a client with these capabilities gets from a server without sessions that answers calls with `result`.
async fn relayed(
    (caller, capabilities): (Revision, &'static str),
    result: &'static str,
) -> Result<String, Error> {
    let server = Script::new(move |request| {
        if request.method == Method::TOOLS_CALL { Reply::Result(result) } else { stateless_server(request) }
    });
    let mut service = relaying(true, &server, &peer(true)).await;
    let mut session = Session::new(caller);
    session.capabilities = Object::parse(capabilities).unwrap();
    let mut request = call(None, r#"{"name":"t"}"#);
    request.context.session = Some(Arc::new(session));
    service.call(request).await.map(|response| response.result.to_string())
}

fn call(caller: Option<Revision>, params: &str) -> Request {
    let mut request = Request::call(Method::TOOLS_CALL, Params::parse(params.to_owned()).unwrap());
    request.context.session = caller.map(|revision| {
        let mut session = Session::new(revision);
        session.capabilities = Object::parse(r#"{"elicitation":{}}"#).unwrap();
        Arc::new(session)
    });
    request
}

#[tokio::test]
async fn who_asks_in_rounds_gets_the_questions_as_they_were_written() {
    let (mut service, server, answers) = gateway(true).await;
    let asked = service.call(call(Some(Revision::LATEST), r#"{"name":"t"}"#)).await.unwrap();
    assert_eq!(asked.result.as_bytes(), ASKED.as_bytes());
    let again = r#"{"name":"t","inputResponses":{ "k": {"action":"accept"} },"requestState":"s\u0074ate"}"#;
    let answer = service.call(call(Some(Revision::LATEST), again)).await.unwrap();
    assert_eq!(answer.result.as_bytes(), br#"{"content":[]}"#);
    let sent = server.last().params;
    assert_eq!(sent.bytes("inputResponses").unwrap(), br#"{ "k": {"action":"accept"} }"#);
    assert_eq!(sent.bytes("requestState").unwrap(), br#""s\u0074ate""#);
    assert!(answers.methods().is_empty());
}

const TASK: &str = r#"{"resultType":"task","taskId":"1","status":"working"}"#;
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const OTHER: &str = r#"{"resultType":"martian","content":[]}"#;

#[tokio::test]
async fn a_caller_gets_what_it_declared_and_nothing_that_is_wrong() {
    let sampling = r#"{"resultType":"input_required",
        "inputRequests":{"k":{"method":"sampling/createMessage"}}}"#;
    let no_question = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"tools/call"}}}"#;
    let elicitation = r#"{"elicitation":{}}"#;
    for (capabilities, result, refused) in [
        (elicitation, ASKED, None),
        ("{}", ASKED, Some(Origin::Local)),
        (r#"{"sampling":{}}"#, sampling, None),
        (elicitation, sampling, Some(Origin::Local)),
        (elicitation, no_question, Some(Origin::Misbehaved)),
        ("{}", r#"{"resultType":"input_required","requestState":"s"}"#, None),
        (elicitation, r#"{"resultType":"input_required"}"#, Some(Origin::Misbehaved)),
        (TASKS, TASK, None),
        (elicitation, TASK, Some(Origin::Misbehaved)),
        (TASKS, OTHER, Some(Origin::Misbehaved)),
    ] {
        let outcome = relayed((Revision::LATEST, capabilities), result).await;
        match refused {
            None => assert_eq!(outcome.unwrap(), result),
            Some(origin) => assert_eq!(outcome.unwrap_err().origin(), origin, "{capabilities} {result}"),
        }
    }
    let error = relayed((Revision::LATEST, "{}"), ASKED).await.unwrap_err();
    assert_eq!(error.code(), code::MISSING_CLIENT_CAPABILITY);
}

#[tokio::test]
async fn a_caller_with_a_session_gets_no_task_that_it_did_not_declare() {
    let caller = (Revision::V2025_11_25, r#"{"elicitation":{}}"#);
    let error = relayed(caller, TASK).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Misbehaved);
}

#[tokio::test]
async fn for_others_the_rounds_are_gone_through_and_each_question_has_the_context_of_its_call() {
    let (mut service, server, answers) = gateway(true).await;
    let stream = StreamId::fresh();
    let mut request = call(Some(Revision::V2025_11_25), r#"{"name":"t"}"#);
    request.context.principal = Some(Principal::new("somebody"));
    request.context.outbox = Outbox::on(stream);
    let answer = service.call(request).await.unwrap();
    assert_eq!(answer.result.as_bytes(), br#"{"content":[]}"#);
    let question = answers.last().context;
    assert_eq!((question.outbox.stream(), question.principal), (stream, Some(Principal::new("somebody"))));
    assert_eq!(question.session.unwrap().revision, Revision::LATEST);
    assert_eq!(server.last().params.bytes("inputResponses").unwrap(), br#"{"k":{"action":"accept"}}"#);

    let answer = service.call(call(None, r#"{"name":"t"}"#)).await.unwrap();
    assert_eq!(answer.result.as_bytes(), br#"{"content":[]}"#);
}

#[tokio::test]
async fn the_clients_own_session_is_no_callers() {
    let (mut service, ..) = gateway(true).await;
    let mut request = call(None, r#"{"name":"t"}"#);
    request.context.session = service.session();
    let answer = service.call(request).await.unwrap();
    assert_eq!(answer.result.as_bytes(), br#"{"content":[]}"#);
}

#[tokio::test]
async fn a_server_with_sessions_has_no_earlier_rounds() {
    let (mut service, server, _) = gateway(false).await;
    for params in [r#"{"requestState":"s"}"#, r#"{"inputResponses":{}}"#] {
        let error = service.call(call(Some(Revision::LATEST), params)).await.unwrap_err();
        assert_eq!(error.code(), -32602);
        assert!(error.message().contains("make the call again"), "{error}");
    }
    assert_eq!(server.last().method, Method::INITIALIZED);
    service.call(call(Some(Revision::LATEST), "{}")).await.unwrap();
    // To a client with a session these are members like any other.
    service.call(call(Some(Revision::V2025_11_25), r#"{"requestState":"s"}"#)).await.unwrap();
    assert_eq!(Object::from_raw(&server.last().params.to_raw()).unwrap().text("requestState").unwrap(), "s");
}
