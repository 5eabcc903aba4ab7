//! Evaluations: all questions are asked, and the answers judged.

use std::collections::HashSet;

use mgp_toolindex::budget::{ListedDefinition, TokenCounter, default_counter};
use mgp_toolindex::{Index, Search, SearchHit, VisibleTools};
use mgp_types::mgp::{NameStyle, SearchStrategy, ToolFilter};
use tokio::time::Instant;

use super::report::micros;
use super::{EvalQuestion, Quality, QuestionResult, Report};

/// The settings of an evaluation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    name: &'a str,
    strategy: SearchStrategy,
    filter: Option<&'a ToolFilter>,
    sight: Option<&'a VisibleTools>,
    answer: usize,
    tokens: Option<&'a dyn TokenCounter>,
}

impl<'a> Settings<'a> {
    /// Creates settings with searches by words and meaning, and five tools in an answer. The name is for reports.
    pub(crate) const fn new(name: &'a str) -> Self {
        Self { name, strategy: SearchStrategy::Hybrid, filter: None, sight: None, answer: 5, tokens: None }
    }

    /// Sets the strategy of the search.
    pub(crate) const fn strategy(mut self, strategy: SearchStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Searches only among these tools.
    pub(crate) const fn filter(mut self, filter: &'a ToolFilter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Searches only the tools that may be seen.
    pub(crate) const fn sight(mut self, sight: &'a VisibleTools) -> Self {
        self.sight = Some(sight);
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
        let mut search =
            Search::new(&question.text).strategy(settings.strategy).limit(settings.answer.max(DEPTH));
        search.filter = settings.filter.cloned().unwrap_or_default();
        search.sight = settings.sight;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_types::RawJson;
    use serde_json::json;

    use super::*;
    use mgp_toolindex::embed::StaticEmbedder;
    use mgp_toolindex::{ServerTools, ToolListing};

    #[derive(Debug)]
    struct Seven;

    impl TokenCounter for Seven {
        fn count(&self, _text: &str) -> u32 {
            7
        }

        fn name(&self) -> &'static str {
            "seven"
        }
    }

    fn tool(name: &str, description: &str) -> ToolListing {
        ToolListing::read(&RawJson::from_value(&json!({ "name": name, "description": description })).unwrap())
            .unwrap()
    }

    #[tokio::test]
    async fn an_evaluation_reports_what_was_found_and_what_cannot_be() {
        let index = Index::new(Arc::new(StaticEmbedder::new()));
        let tools = vec![tool("read_file", "Open a document"), tool("write_file", "Store text")];
        index.put_server(ServerTools::new("fs", tools)).await;
        index.settled().await;
        let question =
            |id: &str, text: &str, tool: &str| EvalQuestion::new(id, text, vec![vec![tool.into()]]);
        let questions = [
            question("1", "open a document", "fs.read_file"),
            question("2", "giraffe", "fs.write_file"),
            question("3", "open", "fs.gone"),
        ];
        let settings = Settings::new("words").strategy(SearchStrategy::Keyword).tokens(&Seven).answer(1);
        let report = evaluate(&index, &questions, settings).await;
        assert_eq!(report.answers.len(), 3);
        assert_eq!(report.answers[0].first, ["fs.read_file"]);
        assert_eq!((report.answers[0].tokens, report.answers[1].tokens), (7, 0));
        assert_eq!(report.unknown, ["fs.gone"]);
        assert!((report.quality.recall_5 - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(report.fallback, None);
    }
}
