//! The answers of all rules to a call that is not made.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mgp_types::{
    AskedRule, ClientFolders, Error, LOCAL_AGENT, Method, Object, Principal, RawJson, Request, RuleAnswer,
    code,
};
use serde::{Deserialize, Serialize};

use super::operation::{Operation, OperatorCall};
use crate::terminal::{TextForm, TextWriter, printable};

/// Asks every rule about a call, also those behind one that refuses it, and does not make it. The answers come from the set
/// of gates that decides about calls to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExplainCall {
    /// The name by which clients call the tool.
    pub(crate) name: String,
    pub(crate) arguments: RawJson,
    /// The agent that would call; the client of this user if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The folder in which the client of the agent would work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<PathBuf>,
}

/// The outcome that a call would have, and the answers of the rules that decide about it, in their order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExplainedCall {
    pub(crate) name: String,
    pub(crate) agent: String,
    /// The strictest answer.
    pub(crate) verdict: RuleAnswer,
    pub(crate) rules: Vec<AskedRule>,
}

impl Operation for ExplainCall {
    type Reply = ExplainedCall;

    async fn run(self, call: &OperatorCall) -> Result<ExplainedCall, Error> {
        let Self { name, arguments, agent, folder } = self;
        let agent = agent.unwrap_or_else(|| LOCAL_AGENT.to_owned());
        let unknown = || Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{name}`"));
        let tool =
            Arc::clone(&call.kernel.tools.catalog.snapshot().called(&name).ok_or_else(unknown)?.resolved);
        let caller = Principal::new(agent.clone());
        let upstream = call.kernel.fleet.get(tool.server.as_str());
        let stack = upstream.and_then(|upstream| upstream.stack(&caller)).ok_or_else(|| {
            let message = format!("the server `{}` has no connection that `{agent}` could use", tool.server);
            Error::new(code::SERVER_NOT_READY, message)
        })?;
        let params = Object::from([("name", tool.written_name()), ("arguments", arguments)]);
        let mut request = Request::call(Method::TOOLS_CALL, params);
        request.context.principal = Some(caller);
        request.context.folders = Some(Arc::new(ClientFolders::of_process(folder)));
        request.context.tool = Some(tool);
        // Long arguments take a while.
        let rules = tokio::task::spawn_blocking(move || (stack.explain)(&mut request)).await;
        let rules = rules.map_err(|panic| Error::internal("a rule could not answer").with_source(panic))?;
        let verdict = rules.iter().map(|asked| asked.answer).max().unwrap_or(RuleAnswer::Allows);
        Ok(ExplainedCall { name, agent, verdict, rules })
    }
}

impl TextForm for ExplainedCall {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let row = |asked: &AskedRule| {
            let answer = match asked.answer {
                RuleAnswer::Allows => "allows it",
                RuleAnswer::Asks => "asks a person",
                RuleAnswer::Refuses => "refuses it",
            };
            [asked.rule.to_string(), answer.to_owned(), printable(&asked.reason)]
        };
        out.table(&["RULE", "ANSWER", "WHY"], self.rules.iter().map(row), "no rules")
    }

    fn notes(&self) -> Vec<String> {
        let what = match self.verdict {
            RuleAnswer::Allows => "would be made",
            RuleAnswer::Asks => "would wait for a person",
            RuleAnswer::Refuses => "would be refused",
        };
        vec![format!(
            "this call of {} by {} {what}; the agent's own limit and flows were not asked",
            self.name, self.agent
        )]
    }
}
