//! Evaluations: all questions are asked, and the answers judged.

use std::collections::HashSet;

use mgp_types::mgp::{NameStyle, SearchStrategy};
use tokio::time::Instant;

use super::report::micros;
use super::{EvalQuestion, Quality, QuestionResult, Report};
use mgp_toolindex::budget::{ListedDefinition, TokenCounter, default_counter};
use mgp_toolindex::{Index, Search, SearchHit};

/// The settings of an evaluation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    name: &'a str,
    strategy: SearchStrategy,
    answer: usize,
    tokens: Option<&'a dyn TokenCounter>,
}

impl<'a> Settings<'a> {
    /// Creates settings with searches by words and meaning, and five tools in an answer. The name is for reports.
    pub(crate) const fn new(name: &'a str) -> Self {
        Self { name, strategy: SearchStrategy::Hybrid, answer: 5, tokens: None }
    }

    /// Sets the strategy of the search.
    pub(crate) const fn strategy(mut self, strategy: SearchStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the number of tools in an answer, which are counted in tokens.
    pub(crate) const fn answer(mut self, tools: usize) -> Self {
        self.answer = tools;
        self
    }

    /// Sets the counter of tokens, in place of [`default_counter`].
    pub(crate) const fn tokens(mut self, counter: &'a dyn TokenCounter) -> Self {
        self.tokens = Some(counter);
        self
    }
}

/// The number of ranks that count for measures without a cut at five or ten.
const DEPTH: usize = 20;

/// Asks an index questions, one after the other, and judges the answers.
pub(crate) async fn evaluate(index: &Index, questions: &[EvalQuestion], settings: Settings<'_>) -> Report {
    let default = default_counter();
    let counter = settings.tokens.unwrap_or(&*default);
    let shown = index.snapshot();
    let known: HashSet<String> = shown.tools().map(|tool| tool.id()).collect();
    let tokens = |hit: &SearchHit| {
        ListedDefinition::of(&hit.tool, &shown.shown_name(&hit.tool, NameStyle::UNDERSCORES), counter)
            .tokens()
    };
    let mut report = Report::new(settings.name, settings.strategy);
    for question in questions {
        let search =
            Search::new(&question.text).strategy(settings.strategy).limit(settings.answer.max(DEPTH));
        let began = Instant::now();
        let found = index.search(&search).await;
        let took = began.elapsed();
        let ranking: Vec<String> = found.hits.iter().map(|hit| hit.tool.id()).collect();
        let answer = found.hits.iter().take(settings.answer);
        report.fallback = report.fallback.or(found.fallback);
        report.answers.push(QuestionResult {
            question: question.id.clone(),
            quality: Quality::of(&ranking, &question.needs),
            tokens: answer.map(|hit| u64::from(tokens(hit))).sum(),
            micros: micros(took),
            first: ranking.into_iter().take(settings.answer).collect(),
        });
        for id in question.needs.iter().flatten() {
            if !known.contains(id) && !report.unknown.contains(id) {
                report.unknown.push(id.clone());
            }
        }
    }
    report.finish()
}
