//! Runs the test cases for clients: the kit is the server, and the client program is started for each scenario.

mod http;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kit_server::KitServer;
use crate::link::{Arrival, Headers, Link, LinkError};
use crate::report::Report;
use crate::scenario::{Facts, Role, Transport};
use crate::suite::{Suite, TestCase};
use crate::{Outcome, RunOptions};

/// A client to test: a program and its arguments.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a program and the way to it")]
pub struct ClientSubject {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Over HTTP, the URL of the kit is added as the last argument; over stdio, the kit speaks on the standard input and
    /// output of the program.
    pub transport: Transport,
}

/// Runs the test cases for clients. Test cases with the same steps share a run of the program.
pub async fn check_client(suite: &Suite, subject: &ClientSubject, options: &RunOptions) -> Report {
    let mut runs = BTreeMap::new();
    let (mut results, mut name) = (Vec::new(), None);
    let is_meant = |test: &&TestCase| test.input.role == Role::Client && test.input.level <= options.level;
    for test in suite.tests.iter().filter(is_meant) {
        let began = Instant::now();
        if let Some(only) = test.input.transport.filter(|only| *only != subject.transport) {
            results.push(Outcome::other_transport(only).into_result(test, began.elapsed()));
            continue;
        }
        let key = json!([test.input.protocol, test.input.steps]).to_string();
        if !runs.contains_key(&key) {
            let kit = KitServer::new(&test.input.protocol, &test.input.steps);
            let run = match subject.transport {
                Transport::Stdio => over_stdio(&subject.command, kit, options.patience).await,
                Transport::Http => http::serve(&subject.command, kit, options.patience).await,
            };
            runs.insert(key.clone(), run.map_err(|error| error.to_string()));
        }
        let outcome = match runs.get(&key) {
            Some(Ok(kit)) => {
                name = name.or_else(|| name_of(kit));
                outcome(test, subject.transport, kit)
            }
            Some(Err(error)) => Outcome::Error(error.clone()),
            None => Outcome::Error("the program was not started".into()),
        };
        results.push(outcome.into_result(test, began.elapsed()));
    }
    let name = name.unwrap_or_else(|| ("unknown".into(), "unknown".into()));
    Report::new(name, suite.metadata.suite_version.clone(), results)
}

fn outcome(test: &TestCase, transport: Transport, kit: &KitServer) -> Outcome {
    let Some(capabilities) = kit.capabilities() else {
        return Outcome::Skipped(format!("the client does not speak {}", test.input.protocol));
    };
    if let Some(unfit) = Outcome::unfit(test, transport, &capabilities) {
        return unfit;
    }
    if let Some(method) = kit.awaited() {
        return Outcome::Skipped(format!("the client did not send `{method}`"));
    }
    Outcome::judge(test, &kit.document(), &Facts::new())
}

/// Returns the name and version in the client's `clientInfo`.
fn name_of(kit: &KitServer) -> Option<(String, String)> {
    let document = kit.document();
    document["messages"].as_array()?.iter().find_map(|sent| {
        let params = &sent["message"]["params"];
        let own = params["_meta"].get("io.modelcontextprotocol/clientInfo");
        let info = params.get("clientInfo").or(own)?;
        let text = |member: &str| info[member].as_str().unwrap_or("unknown").to_owned();
        Some((text("name"), text("version")))
    })
}

/// Speaks on the standard input and output of a client until it ends, or says nothing any more.
async fn over_stdio(
    command: &[String],
    mut kit: KitServer,
    patience: Duration,
) -> Result<KitServer, LinkError> {
    let mut link = Link::start(command, patience)?;
    let mut answers: Vec<Value> = Vec::new();
    loop {
        match link.next().await {
            Ok(Arrival::Message(message)) => {
                let reaction = kit.receive(message, &Headers::new());
                for message in reaction.first {
                    send(&mut link, &message).await;
                }
                answers.extend(reaction.answer);
            }
            Ok(_) => {}
            Err(LinkError::Silent(_)) if kit.is_waiting() => kit.give_up(),
            Err(_) => return Ok(kit),
        }
        if !kit.is_waiting() {
            for answer in answers.drain(..) {
                send(&mut link, &answer).await;
            }
        }
    }
}

/// Sends a message. A client that has ended reads nothing, which the next look at what it sent notices.
async fn send(link: &mut Link, message: &Value) {
    let _ = link.send("POST", &message.to_string(), &Headers::new()).await;
}
