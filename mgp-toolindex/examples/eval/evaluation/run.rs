//! Evaluations: all questions are asked, and the answers judged.

use std::collections::HashSet;

use mgp_toolindex::budget::{ListedDefinition, default_counter};
use mgp_toolindex::{Index, Search};
use mgp_types::mgp::{NameStyle, SearchStrategy};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tokio::time::Instant;

use super::{Quality, QuestionResult, Report, micros_since};

/// A question, and the tools that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct EvalQuestion {
    /// The id of the question in reports.
    pub(crate) id: String,
    /// The text of the query.
    pub(crate) text: String,
    /// The needs, each by the ids of tools that meet it equally well.
    #[serde(deserialize_with = "needs")]
    pub(crate) needs: Vec<Vec<String>>,
}

/// Reads needs, without which there is nothing to measure.
fn needs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<String>>, D::Error> {
    let needs = Vec::<Vec<String>>::deserialize(from)?;
    let can_be_met = !needs.is_empty() && !needs.iter().any(Vec::is_empty);
    can_be_met
        .then_some(needs)
        .ok_or_else(|| D::Error::custom("it needs nothing, or has a need that no tool meets"))
}

/// The number of ranks that count for measures without a cut at five or ten.
const DEPTH: usize = 20;

/// Asks an index questions, one after the other, and judges the answers, of which the first `answer` tools are counted
/// in tokens. The name of the settings is for reports.
pub(crate) async fn evaluate(
    index: &Index,
    questions: &[EvalQuestion],
    name: &str,
    strategy: SearchStrategy,
    answer: usize,
) -> Report {
    let counter = default_counter();
    let shown = index.snapshot();
    let known: HashSet<String> = shown.tools().map(|tool| tool.id()).collect();
    let (mut answers, mut unknown, mut fallback) = (Vec::new(), Vec::new(), None);
    for question in questions {
        let search = Search::new(&question.text).strategy(strategy).limit(answer.max(DEPTH));
        let began = Instant::now();
        let found = index.search(&search).await;
        let micros = micros_since(began);
        fallback = fallback.or(found.fallback);
        let tokens = found.hits.iter().take(answer).map(|hit| {
            let name = shown.shown_name(&hit.tool, NameStyle::UNDERSCORES);
            ListedDefinition::of(&hit.tool, &name, &*counter).tokens()
        });
        let tokens = tokens.sum();
        let mut first: Vec<String> = found.hits.iter().map(|hit| hit.tool.id()).collect();
        let quality = Quality::of(&first, &question.needs);
        first.truncate(answer);
        answers.push(QuestionResult { question: question.id.clone(), quality, tokens, micros, first });
        for id in question.needs.iter().flatten() {
            if !known.contains(id) && !unknown.contains(id) {
                unknown.push(id.clone());
            }
        }
    }
    Report { fallback, unknown, ..Report::of(name, strategy, answers) }
}
