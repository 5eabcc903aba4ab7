//! Runs the test cases for servers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::assertion::short;
use crate::facts;
use crate::link::{Link, LinkError};
use crate::observation::Observation;
use crate::report::{Report, TestResult};
use crate::scenario::{Connection, Facts, Role};
use crate::session::{Session, StepFault, is_stateless};
use crate::suite::{Suite, TestCase};
use crate::{Outcome, RunOptions};

/// A server to test.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "one for each transport")]
pub enum ServerSubject {
    /// A program that speaks on its standard input and output.
    Command(Vec<String>),
    /// The URL of a server of Streamable HTTP.
    Url(String),
}

/// Runs the test cases for servers, one after another.
pub async fn check_server(suite: &Suite, subject: &ServerSubject, options: &RunOptions) -> Report {
    let mut run = ServerRun { subject, options, eras: BTreeMap::new() };
    let mut results = Vec::new();
    let is_meant = |test: &&TestCase| test.input.role == Role::Server && test.input.level <= options.level;
    for test in suite.tests.iter().filter(is_meant) {
        results.push(run.check(test).await);
    }
    let named = run.eras.values().find_map(|era| era.as_ref().ok()?.name.clone());
    let name = named.unwrap_or_else(|| ("unknown".into(), "unknown".into()));
    Report::new(name, suite.metadata.suite_version.clone(), results)
}

struct ServerRun<'a> {
    subject: &'a ServerSubject,
    options: &'a RunOptions,
    /// What is known of the server in each revision of MCP; why nothing, if it does not speak it.
    eras: BTreeMap<String, Result<Era, String>>,
}

/// A server in one revision of MCP.
struct Era {
    /// The connection that scenarios share, until it fails.
    shared: Option<Session>,
    capabilities: Value,
    facts: Facts,
    name: Option<(String, String)>,
}

impl ServerRun<'_> {
    async fn check(&mut self, test: &TestCase) -> TestResult {
        let began = Instant::now();
        let outcome = self.outcome(test).await;
        outcome.into_result(test, began.elapsed())
    }

    async fn outcome(&mut self, test: &TestCase) -> Outcome {
        let protocol = &test.input.protocol;
        if !self.eras.contains_key(protocol) {
            let era = self.meet(protocol).await;
            self.eras.insert(protocol.clone(), era);
        }
        let transport = match self.subject {
            ServerSubject::Command(_) => crate::Transport::Stdio,
            ServerSubject::Url(_) => crate::Transport::Http,
        };
        let era = match self.eras.get_mut(protocol) {
            Some(Ok(era)) => era,
            Some(Err(why)) => return Outcome::Skipped(why.clone()),
            None => return Outcome::Error("the revision was not tried".into()),
        };
        if let Some(unfit) = Outcome::unfit(test, transport, &era.capabilities) {
            return unfit;
        }
        let mut facts = era.facts.clone();
        let is_shared = test.input.connection == Connection::Shared && test.input.declare.is_empty();
        let shared = if is_shared { era.shared.take() } else { None };
        let session = match shared {
            Some(session) => Ok(session),
            None => self.connect(test).await,
        };
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return Outcome::Failed(format!("no connection: {error}")),
        };
        let mut seen = Observation::default();
        for step in &test.input.steps {
            match session.run(step, &facts, &mut seen).await {
                Ok(()) => facts::keep(&mut facts, &step.keep, &seen),
                Err(StepFault::Missing(fact)) => {
                    self.give_back(protocol, session, is_shared);
                    return Outcome::missing(&fact);
                }
                Err(StepFault::Link(error)) => {
                    let sent = step.request.as_ref().or(step.list.as_ref()).or(step.raw.as_ref());
                    let sent = sent.or(step.notification.as_ref()).map_or("", String::as_str);
                    return Outcome::Failed(format!(
                        "after `{sent}`: {error}; seen {}",
                        short(&seen.document())
                    ));
                }
            }
        }
        self.give_back(protocol, session, is_shared);
        Outcome::judge(test, &seen.document(), &facts)
    }

    /// Keeps a connection that did not fail for the next scenario.
    fn give_back(&mut self, protocol: &str, session: Session, is_shared: bool) {
        if let Some(Ok(era)) = self.eras.get_mut(protocol)
            && is_shared
        {
            era.shared = Some(session);
        }
    }

    async fn connect(&self, test: &TestCase) -> Result<Session, LinkError> {
        let mut session = self.open(&test.input.protocol, &test.input.declare)?;
        let is_greeted = test.input.connection != Connection::Silent && !is_stateless(&test.input.protocol);
        if is_greeted {
            session.shake_hands().await?;
        }
        Ok(session)
    }

    /// Finds out from the manifest which tool needs scopes.
    async fn read_manifest(
        &self,
        protocol: &str,
        declared: &Map<String, Value>,
        facts: &mut Facts,
    ) -> Result<(), LinkError> {
        let mut session = self.open(protocol, declared)?;
        if !is_stateless(protocol) {
            session.shake_hands().await?;
        }
        facts::find_scopes(&mut session, facts).await
    }

    fn open(&self, protocol: &str, declared: &Map<String, Value>) -> Result<Session, LinkError> {
        let link = match self.subject {
            ServerSubject::Command(command) => Link::start(command, self.options.patience)?,
            ServerSubject::Url(url) => Link::reach(url, self.options.patience)?,
        };
        Ok(Session::new(link, protocol, declared, &self.options.headers))
    }

    /// Begins in a revision, and finds out what the server has.
    async fn meet(&self, protocol: &str) -> Result<Era, String> {
        let unmet = |error: &LinkError| format!("the server does not speak {protocol}: {error}");
        let mut session = self.open(protocol, &Map::new()).map_err(|error| unmet(&error))?;
        let answer = session.shake_hands().await.map_err(|error| unmet(&error))?;
        let result = &answer["result"];
        if !result.is_object() {
            return Err(format!("the server does not speak {protocol}: it answers {}", short(&answer)));
        }
        let info = if is_stateless(protocol) {
            &result["_meta"]["io.modelcontextprotocol/serverInfo"]
        } else {
            &result["serverInfo"]
        };
        let text = |member: &str| Some(info[member].as_str()?.to_owned());
        let name = text("name").map(|name| (name, text("version").unwrap_or_else(|| "unknown".into())));
        let capabilities = result["capabilities"].clone();
        let mut facts = facts::start(protocol, self.options.tool.as_ref());
        // If it fails, the scenarios about lists say what is wrong.
        let is_listed = facts::find(&mut session, &capabilities, &mut facts).await.is_ok();
        if let Some(settings) = capabilities.pointer(MANIFEST) {
            let extensions = json!({ MANIFEST_ID: settings });
            let declared = Map::from_iter([("extensions".to_owned(), extensions)]);
            let _ = self.read_manifest(protocol, &declared, &mut facts).await;
        }
        let shared = is_listed.then_some(session);
        Ok(Era { shared, capabilities, facts, name })
    }
}

/// The extension whose manifest names the scopes that tools need, and where it is in capabilities.
const MANIFEST_ID: &str = "io.github.mcp-extension-proposals/service_manifest";
const MANIFEST: &str = "/extensions/io.github.mcp-extension-proposals~1service_manifest";
