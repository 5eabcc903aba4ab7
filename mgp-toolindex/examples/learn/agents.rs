//! Agents that search for tools through the gate of tool discovery, and call what they found.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use mgp_toolindex::discovery::{ToolDiscoveryGate, ToolDiscoverySettings};
use mgp_toolindex::eval::{Corpus, EvalQuestion};
use mgp_toolindex::learn::{LearnSettings, LearnedUses};
use mgp_toolindex::session::{SessionSettings, ToolSessions};
use mgp_toolindex::{Index, budget};
use mgp_types::mgp::{
    DiscoverTools, DiscoveredTools, FoundTool, NameStyle, SearchStrategy, ToolContextBudget,
};
use mgp_types::{Error as CallError, Gate, Object, Principal, RawJson, Request, Response, Revision, Session};
use serde::{Deserialize, Serialize};
use tower::util::BoxCloneService;
use tower::{ServiceExt, service_fn};

/// The calls by which an agent came by its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentHistory {
    /// No calls.
    None,
    /// A call of a right tool for each need.
    Right,
    /// A call of the best tool among the first five that is not right.
    Wrong,
}

/// Agents in front of one gate, each with a history of its own.
pub(crate) struct ToolAgents {
    gate: BoxCloneService<Request, Response, CallError>,
    strategy: SearchStrategy,
    /// The ids of the tools in their file, by server and shown name.
    ids: HashMap<(String, String), String>,
}

#[derive(Serialize)]
struct CallParams<'a, T> {
    name: &'a str,
    arguments: &'a T,
}

#[derive(Deserialize)]
struct SearchAnswer {
    #[serde(rename = "structuredContent")]
    found: DiscoveredTools,
}

/// The number of tools among which the right ones are looked for.
const SEEN: u32 = 50;

/// The number of tools of which a wrong one is taken.
const FIRST: usize = 5;

/// The number of tools that are judged.
const JUDGED: u32 = 10;

/// The tokens of an answer, which leave no tool out.
const TOKENS: u32 = 100_000_000;

impl AgentHistory {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Right => "right",
            Self::Wrong => "wrong",
        }
    }
}

impl ToolAgents {
    pub(crate) fn new(
        index: Index,
        embedder: &str,
        corpus: &Corpus,
        strategy: SearchStrategy,
    ) -> Result<Self, Box<dyn Error>> {
        let snapshot = index.snapshot();
        let learned = LearnedUses::new(LearnSettings::default(), embedder);
        let style = NameStyle::DOTS;
        let ids = snapshot.tools().map(|tool| {
            let name = snapshot.shown_name(tool, style);
            ((tool.server.to_string(), name), corpus.id(tool).to_owned())
        });
        let ids = ids.collect();
        let mut budget = ToolContextBudget::of(TOKENS);
        (budget.discovery_reserve, budget.cache_limit) = (TOKENS, TOKENS);
        let sessions = ToolSessions::new(SessionSettings::new(budget, budget::default_counter()))?;
        let settings =
            ToolDiscoverySettings::new().strategy(strategy).learning(Arc::new(learned)).names(move |_| style);
        let done = RawJson::from_value(&serde_json::json!({ "content": [] }))?;
        let server = service_fn(move |_: Request| {
            let done = Response::new(done.clone());
            async move { Ok::<_, CallError>(done) }
        });
        let gate = ToolDiscoveryGate::new(index, Arc::new(sessions), settings).layer(server);
        Ok(Self { gate: BoxCloneService::new(gate), strategy, ids })
    }

    /// Lets an agent ask a question in a session of its own, and call what its history wants. Returns the number of
    /// calls.
    pub(crate) async fn live(
        &self,
        agent: AgentHistory,
        question: &EvalQuestion,
    ) -> Result<usize, Box<dyn Error>> {
        if agent == AgentHistory::None {
            return Ok(0);
        }
        let session = Arc::new(Session::new(Revision::V2025_11_25));
        let found = self.search(agent, &session, &question.text, SEEN).await?;
        let meets = |need: &[String], tool: &&FoundTool| need.iter().any(|id| id == self.id(tool));
        let called: Vec<&FoundTool> = match agent {
            AgentHistory::None => Vec::new(),
            AgentHistory::Right => {
                question.needs.iter().filter_map(|need| found.iter().find(|tool| meets(need, tool))).collect()
            }
            AgentHistory::Wrong => {
                let is_wrong = |tool: &&FoundTool| !question.needs.iter().any(|need| meets(need, tool));
                found.iter().take(FIRST).find(is_wrong).into_iter().collect()
            }
        };
        for tool in &called {
            self.call::<_, RawJson>(agent, &session, &tool.name, &Object::new().to_raw()).await?;
        }
        Ok(called.len())
    }

    /// Returns the ids of the tools that an agent finds for a query, the best first.
    pub(crate) async fn found(
        &self,
        agent: AgentHistory,
        query: &str,
    ) -> Result<Vec<String>, Box<dyn Error>> {
        let session = Arc::new(Session::new(Revision::V2025_11_25));
        let found = self.search(agent, &session, query, JUDGED).await?;
        Ok(found.iter().map(|tool| self.id(tool).to_owned()).collect())
    }

    fn id(&self, tool: &FoundTool) -> &str {
        self.ids.get(&(tool.server_id.to_string(), tool.name.clone())).map_or("", String::as_str)
    }

    async fn search(
        &self,
        agent: AgentHistory,
        session: &Arc<Session>,
        query: &str,
        limit: u32,
    ) -> Result<Vec<FoundTool>, Box<dyn Error>> {
        let wanted = DiscoverTools::new(query).max_results(limit).strategy(self.strategy);
        let answer: SearchAnswer = self.call(agent, session, "mgp.tools.discover", &wanted).await?;
        Ok(answer.found.tools)
    }

    async fn call<T: Serialize + Sync, R: serde::de::DeserializeOwned>(
        &self,
        agent: AgentHistory,
        session: &Arc<Session>,
        name: &str,
        arguments: &T,
    ) -> Result<R, Box<dyn Error>> {
        let mut request = Request::with_body("tools/call", &CallParams { name, arguments })?;
        request.context.session = Some(Arc::clone(session));
        request.context.principal = Some(Principal::new(agent.name()));
        Ok(self.gate.clone().oneshot(request).await?.to_raw().to()?)
    }
}
