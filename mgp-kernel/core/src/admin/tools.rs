//! All tools, with their definitions as their servers wrote them, where the list that a model gets is another one; and the
//! answers of all rules to a call of a tool that is not made.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use mgp_discovery::catalog::CatalogTool;
use mgp_security::definition::{DefinitionGuard, DefinitionKind, DefinitionName, server_of};
use mgp_types::mgp::{NameStyle, ResolvedTool, RiskLevel, ServerId, ToolName};
use mgp_types::{
    AskedRule, ClientFolders, Error, LOCAL_AGENT, Method, Object, Principal, RawJson, Request, RuleAnswer,
    code,
};
use serde::{Deserialize, Serialize};

use super::definition_status::{HeldTool, ShownDefinitionStatus, held_tools};
use super::operation::{Operation, OperatorCall, PageRequest};
use crate::terminal::{TextForm, TextWriter, printable};

/// Lists tools: all, those of a server, or the tool that clients call by a name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListTools {
    /// The server; all servers if left out.
    pub server_id: Option<ServerId>,
    /// A part of the names of tools; all names if left out.
    pub name: Option<String>,
    /// Words, all of which the name or the description of a tool has.
    pub words: Option<String>,
    /// The risk of tools; every risk if left out.
    pub risk: Option<RiskLevel>,
    /// The part of the list that is wanted.
    #[serde(flatten)]
    pub page: PageRequest,
}

/// A page of the tools.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolPage {
    /// The tools.
    pub tools: Vec<ToolRow>,
    /// The tools that are not offered because their definitions are held: all that the request asks for, on the first
    /// page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldTool>,
    /// The names that are like the requested one, if no tool has that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
    /// The start of the next part; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// A tool.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolRow {
    /// The name by which clients call the tool.
    pub name: String,
    /// The server.
    pub server_id: ServerId,
    /// The name of the tool at its server.
    pub tool_name: ToolName,
    pub(crate) risk: RiskLevel,
    /// True if the tool's definition is approved, so that it may be used.
    pub(crate) admitted: bool,
    /// The status of the tool's definition, if it is flagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standing: Option<ShownDefinitionStatus>,
    /// The definition of the tool.
    pub definition: RawJson,
}

impl Operation for ListTools {
    type Reply = ToolPage;

    async fn run(self, call: &OperatorCall) -> Result<ToolPage, Error> {
        let definitions = &call.kernel.policies.definitions;
        let snapshot = call.kernel.tools.catalog.snapshot();
        let row = |tool: &Arc<CatalogTool>| ToolRow::of(definitions, tool);
        if let Some(name) = &self.name {
            let tools: Vec<_> = snapshot.called(name).into_iter().map(row).collect();
            let near = if tools.is_empty() { snapshot.near(name, |_| true) } else { Vec::new() };
            return Ok(ToolPage {
                tools,
                held: held_tools(definitions, None, Some(name)),
                near: near.iter().map(|tool| tool.shown.to_string()).collect(),
                next_offset: None,
            });
        }
        let server = self.server_id.as_ref();
        let words = self.words.as_deref().unwrap_or_default().to_lowercase();
        let fits = |tool: &&Arc<CatalogTool>| {
            server.is_none_or(|server| *server == tool.resolved.server)
                && self.risk.is_none_or(|risk| risk == tool.resolved.security.risk)
                && has_words(tool, &words)
        };
        let (found, next_offset) = self.page.of(snapshot.tools().iter().filter(fits));
        let tools = found.into_iter().map(row).collect();
        let held = if self.page.offset == 0 { held_tools(definitions, server, None) } else { Vec::new() };
        Ok(ToolPage { tools, held, near: Vec::new(), next_offset })
    }
}

impl TextForm for ToolPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.tools.iter().map(ToolRow::cells).chain(self.held.iter().map(HeldTool::cells));
        let none = "no tools; `mgp servers` shows the states of the servers";
        out.table(&["TOOL", "RISK", "WHAT IT DOES"], rows, none)
    }

    fn notes(&self) -> Vec<String> {
        let why = "`mgp pin list --waiting` shows why tools are held or flagged, and the command that approves them";
        let is_marked = self.tools.iter().any(|tool| tool.standing.is_some()) || !self.held.is_empty();
        let more = |offset| format!("there are more tools: `--offset {offset}` continues");
        is_marked.then(|| why.to_owned()).into_iter().chain(self.next_offset.map(more)).collect()
    }
}

impl ToolRow {
    fn of(definitions: &DefinitionGuard, tool: &CatalogTool) -> Self {
        let ResolvedTool { server, name, security, .. } = &*tool.resolved;
        Self {
            name: tool.shown.to_string(),
            server_id: server.clone(),
            tool_name: name.clone(),
            risk: security.risk,
            admitted: definitions.is_admitted_anywhere(server, DefinitionKind::Tool, name.as_str()),
            standing: standing(definitions, &tool.resolved),
            definition: tool.definition(NameStyle::DOTS),
        }
    }

    fn cells(&self) -> [String; 3] {
        let definition = Object::from_raw(&self.definition).ok();
        let description = definition.as_ref().and_then(|tool| tool.text("description"));
        let first = description.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
        let risk = if self.admitted { self.risk.to_string() } else { "held".to_owned() };
        let mark = self.standing.as_ref().map(|standing| format!(" ({})", standing.is));
        [self.name.clone(), risk + &mark.unwrap_or_default(), first.chars().take(LINE).collect()]
    }
}

impl TextForm for ToolRow {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let definition: serde_json::Value = self.definition.to().unwrap_or_default();
        writeln!(out, "{}  ({}, of {})", printable(&self.name), self.risk, self.server_id)?;
        if let Some(standing) = &self.standing {
            writeln!(out, "{}: {}", standing.is, printable(&standing.reason))?;
            writeln!(out, "{}", printable(&standing.way))?;
        }
        writeln!(out, "{}", printable(&serde_json::to_string_pretty(&definition).unwrap_or_default()))
    }
}

impl HeldTool {
    fn cells(&self) -> [String; 3] {
        let ShownDefinitionStatus { is, rules, reason, command, .. } = &self.standing;
        let why = if rules.is_empty() { reason.clone() } else { rules.join(", ") };
        [self.name.clone(), is.clone(), format!("{why}: {}", command.as_deref().unwrap_or_default())]
    }
}

/// Returns whether the name or the description of a tool has all of these words, which are in small letters.
fn has_words(tool: &CatalogTool, words: &str) -> bool {
    let mut missing = words.split_whitespace().filter(|word| !tool.shown.contains(word)).peekable();
    missing.peek().is_none() || {
        let text = tool.resolved.definition.text("description").unwrap_or_default().to_lowercase();
        let name = tool.shown.to_lowercase();
        missing.all(|word| name.contains(word) || text.contains(word))
    }
}

/// Returns the status of a tool's definition on any connection to its server, if it is held or flagged there.
fn standing(definitions: &DefinitionGuard, tool: &ResolvedTool) -> Option<ShownDefinitionStatus> {
    let name = DefinitionName::new(DefinitionKind::Tool, tool.name.as_str());
    let mut found = definitions.found().into_iter();
    let (holder, ..) =
        found.find(|(holder, found, _)| *found == name && server_of(holder) == tool.server.as_str())?;
    ShownDefinitionStatus::of(definitions, &holder, &name)
}

/// The largest number of characters of a description in a table.
const LINE: usize = 80;

/// Asks every rule about a call, also those behind one that refuses it, and does not make it. The answers come from the set
/// of gates that decides about calls to the server.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainCall {
    /// The name by which clients call the tool.
    pub name: String,
    /// The arguments of the call.
    pub arguments: RawJson,
    /// The agent that would call; the client of this user if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The folder in which the client of the agent would work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// The outcome that a call would have, and the answers of the rules that decide about it, in their order.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedCall {
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
