//! The search for tools at several kernels at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_server_sdk::{Cx, Json, ToolError, schemars};
use mgp_types::mgp::{DiscoverTools, FoundTool, SearchStrategy};
use mgp_types::{Error, RawJson};
use tokio::task::JoinSet;

use super::remote::Instances;

/// The arguments of `federated_discover`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct FederatedDiscover {
    /// The need, in words.
    query: String,
    /// The instances to search; all of them if left out.
    #[serde(default)]
    instances: Option<Vec<String>>,
    /// The method of the search; each kernel chooses its own if left out.
    #[serde(default)]
    strategy: Option<Strategy>,
}

/// The methods of a search (§16.5).
#[derive(Clone, Copy, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    Keyword,
    Semantic,
    Category,
    Hybrid,
}

/// The tools that were found, and the instances that were searched.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct FederatedTools {
    /// The tools, the most relevant first.
    tools: Vec<FederatedTool>,
    /// The instances, with the failures of those that did not answer.
    instances: Vec<SearchedInstance>,
}

/// A tool of an instance, with all that `federated_call` needs.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct FederatedTool {
    instance: String,
    server_id: String,
    tool_name: String,
    description: String,
    /// The relevance, from 0 to 1; each kernel judges its own tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance_score: Option<f32>,
    /// The JSON Schema of the arguments.
    #[serde(rename = "inputSchema")]
    #[schemars(with = "serde_json::Value")]
    input_schema: RawJson,
}

/// The outcome of a search at one instance.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct SearchedInstance {
    instance: String,
    /// The number of all tools that may be called there.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_available: Option<u64>,
    /// The failure of an instance that did not answer: its code and its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<SearchFailure>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct SearchFailure {
    code: i64,
    message: String,
}

/// Searches the tools of the instances, all at once. An instance that fails is named in the result; only if all fail,
/// the search does.
pub(super) async fn federated_discover(
    search: FederatedDiscover,
    cx: Cx,
) -> Result<Json<FederatedTools>, ToolError> {
    let instances = cx.state::<Instances>()?;
    let chosen: BTreeMap<_, _> = match &search.instances {
        Some(names) => {
            names.iter().map(|name| Ok((name, instances.get(name)?))).collect::<Result<_, ToolError>>()?
        }
        None => instances.all().collect(),
    };
    let mut wanted = DiscoverTools::new(search.query);
    wanted.strategy = search.strategy.map(Strategy::into_wire);
    let mut asked = JoinSet::new();
    for (name, remote) in chosen {
        let (name, remote, wanted) = (name.clone(), Arc::clone(remote), wanted.clone());
        asked.spawn(async move { (name, remote.discover(&wanted).await) });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut found = FederatedTools { tools: Vec::new(), instances: Vec::new() };
    let mut failed: Vec<Error> = Vec::new();
    for (instance, answer) in answers {
        let mut outcome =
            SearchedInstance { instance: instance.clone(), total_available: None, failure: None };
        match answer {
            Ok(answer) => {
                outcome.total_available = Some(answer.total_available);
                found.tools.extend(answer.tools.into_iter().map(|tool| FederatedTool::of(&instance, tool)));
            }
            Err(error) => {
                outcome.failure =
                    Some(SearchFailure { code: error.code(), message: error.message().to_owned() });
                failed.push(error);
            }
        }
        found.instances.push(outcome);
    }
    if let Some(error) = failed.pop().filter(|_| failed.len() + 1 == found.instances.len()) {
        return Err(error.into());
    }
    let score = |tool: &FederatedTool| tool.relevance_score.unwrap_or_default();
    found.tools.sort_by(|one, other| score(other).total_cmp(&score(one)));
    Ok(Json(found))
}

impl FederatedTool {
    fn of(instance: &str, tool: FoundTool) -> Self {
        let server_id = tool.server_id.as_str().to_owned();
        let own = tool.name.strip_prefix(&server_id).and_then(|rest| rest.strip_prefix('.'));
        Self {
            instance: instance.to_owned(),
            // A name that the kernel had to shorten stands for its tool as it is.
            tool_name: own.unwrap_or(&tool.name).to_owned(),
            server_id,
            description: tool.description,
            relevance_score: tool.relevance_score,
            input_schema: tool.input_schema,
        }
    }
}

impl Strategy {
    const fn into_wire(self) -> SearchStrategy {
        match self {
            Self::Keyword => SearchStrategy::Keyword,
            Self::Semantic => SearchStrategy::Semantic,
            Self::Category => SearchStrategy::Category,
            Self::Hybrid => SearchStrategy::Hybrid,
        }
    }
}
