use mgp_types::mgp::{DiscoverTools, DiscoveredTools, FoundTool};
use mgp_types::{Context, Error, Object};
use tokio::time::Instant;

use super::found::found;
use super::params;
use super::shared::Shared;
use crate::Search;

/// Mode A (§16.5): the tools that fit what is needed, as many as the budget has room for.
pub(super) async fn discover(
    shared: &Shared,
    context: &Context,
    params: &Object,
) -> Result<DiscoveredTools, Error> {
    let wanted = params::discover(params)?;
    let key = shared.key(context);
    let snapshot = shared.index.snapshot();
    let sight = shared.sights.of(&key, context, &snapshot);
    let DiscoverTools { query, strategy, max_results, filter, .. } = wanted;
    let strategy = strategy.unwrap_or(shared.settings.strategy);
    let limit = max_results.unwrap_or(USUAL_RESULTS).min(MOST_RESULTS);
    let mut search = Search::new(&query).strategy(strategy).limit(limit as usize).filter(filter);
    let learned = shared.learning.as_ref().and_then(|learning| learning.shift(context, &snapshot));
    if let Some(learned) = &learned {
        search = search.learned(learned);
    }
    if let Some(sight) = &sight {
        search = search.sight(sight);
    }
    let began = Instant::now();
    let result = snapshot.search(&search).await;
    let time = began.elapsed();
    let names = shared.names(context);
    let tools: Vec<FoundTool> = result
        .hits
        .iter()
        .map(|hit| {
            let mut tool = found(&snapshot, &hit.tool, names);
            tool.relevance_score = Some(hit.score);
            tool
        })
        .collect();
    let fitted = shared.with_view_of(&snapshot, context, |view| shared.sessions.fit(&key, view, tools));
    if let Some(learning) = &shared.learning {
        learning.found(&key, context, &snapshot, &result, |tool| {
            let name = snapshot.shown_name(tool, names);
            fitted.tools.iter().any(|given| given.name == name && given.server_id == tool.server)
        });
    }
    let available = sight.as_ref().map_or(snapshot.len(), |sight| sight.count());
    let mut answer = DiscoveredTools::new(strategy, available as u64);
    answer.tools = fitted.tools;
    answer.omitted = fitted.omitted;
    answer.fallback_strategy = result.fallback;
    answer.query_time_ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    Ok(answer)
}

const USUAL_RESULTS: u32 = 5;
const MOST_RESULTS: u32 = 50;
