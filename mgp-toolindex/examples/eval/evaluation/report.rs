//! Reports of evaluations.

use std::fmt;

use mgp_types::mgp::SearchStrategy;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Quality;
use super::quality::share;

/// The quality of a search on a set of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The name of the settings.
    pub(crate) name: String,
    /// The strategy of the search.
    pub(crate) strategy: SearchStrategy,
    /// The actual strategy, if a question could not be searched as asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fallback: Option<SearchStrategy>,
    /// The mean quality.
    pub(crate) quality: Quality,
    /// The mean number of tokens of an answer.
    pub(crate) tokens: f64,
    /// The latency of answers.
    pub(crate) latency: Latency,
    /// The tools that questions need and the index does not have: they lower the quality whatever the settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown: Vec<String>,
    /// The outcome of each question.
    pub(crate) answers: Vec<QuestionResult>,
}

/// The outcome of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuestionResult {
    /// The id of the question.
    pub(crate) question: String,
    /// The quality of the ranking.
    pub(crate) quality: Quality,
    /// The tokens of the definitions in the answer.
    pub(crate) tokens: u32,
    /// The time of the answer in microseconds.
    pub(crate) micros: u64,
    /// The tools of the answer, the best first.
    pub(crate) first: Vec<String>,
}

/// The microseconds that the given share of answers took at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// The median.
    pub(crate) p50: u64,
    /// The time of 95 of 100 answers.
    pub(crate) p95: u64,
    /// The time of 99 of 100 answers.
    pub(crate) p99: u64,
}

impl Report {
    /// Sums up the answers of a search.
    pub(crate) fn of(name: &str, strategy: SearchStrategy, answers: Vec<QuestionResult>) -> Self {
        let tokens: f64 = answers.iter().map(|answer| f64::from(answer.tokens)).sum();
        Self {
            name: name.to_owned(),
            strategy,
            fallback: None,
            quality: Quality::mean(answers.iter().map(|answer| &answer.quality)),
            tokens: tokens * share(1, answers.len()),
            latency: Latency::of(answers.iter().map(|answer| answer.micros).collect()),
            unknown: Vec::new(),
            answers,
        }
    }
}

impl fmt::Display for Report {
    /// Writes a table of one row, with remarks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, values): (Vec<_>, Vec<_>) = self.quality.measures().into_iter().unzip();
        let heads = [&["settings"][..], &names, &["tokens", "p50 µs", "p95 µs", "p99 µs"]].concat();
        let Latency { p50, p95, p99 } = self.latency;
        let mut row = vec![self.name.clone()];
        row.extend(values.iter().map(|value| format!("{value:.3}")));
        row.push(format!("{:.0}", self.tokens));
        row.extend([p50, p95, p99].map(|micros| micros.to_string()));
        write_table(f, &[heads.into_iter().map(str::to_owned).collect(), row])?;
        write!(f, "{} questions", self.answers.len())?;
        if let Some(fallback) = &self.fallback {
            write!(f, "; searched by {fallback:?} where {:?} was not possible", self.strategy)?;
        }
        if !self.unknown.is_empty() {
            write!(f, "; the index does not have {}", self.unknown.join(", "))?;
        }
        writeln!(f)
    }
}

impl Latency {
    /// Creates the latency of these times in microseconds.
    pub(crate) fn of(mut micros: Vec<u64>) -> Self {
        micros.sort_unstable();
        let at = |hundredths: usize| {
            let rank = (micros.len() * hundredths).div_ceil(100).saturating_sub(1);
            micros.get(rank).copied().unwrap_or(0)
        };
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}

/// Returns the microseconds that have passed.
pub(crate) fn micros_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Writes rows of equal length under a head, as Markdown.
pub(crate) fn write_table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let columns = rows.first().map_or(0, Vec::len);
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            write!(f, "| {cell:width$} ")?;
        }
        writeln!(f, "|")?;
        if number == 0 {
            for width in &widths {
                write!(f, "|{}", "-".repeat(width + 2))?;
            }
            writeln!(f, "|")?;
        }
    }
    Ok(())
}
