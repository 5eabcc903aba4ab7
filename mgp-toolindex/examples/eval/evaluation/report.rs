//! Reports of evaluations.

use std::fmt;
use std::time::Duration;

use mgp_types::mgp::SearchStrategy;
use serde::{Deserialize, Serialize};

use super::quality::share;
use super::{Measure, Quality};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuestionResult {
    /// The id of the question.
    pub(crate) question: String,
    /// The quality of the ranking.
    pub(crate) quality: Quality,
    /// The tokens of the definitions in the answer.
    pub(crate) tokens: u64,
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
    pub(crate) fn new(name: &str, strategy: SearchStrategy) -> Self {
        Self {
            name: name.to_owned(),
            strategy,
            fallback: None,
            quality: Quality::default(),
            tokens: 0.0,
            latency: Latency::default(),
            unknown: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Sums up the answers.
    pub(crate) fn finish(mut self) -> Self {
        self.quality = Quality::mean(self.answers.iter().map(|answer| &answer.quality));
        self.tokens = mean(self.answers.iter().map(|answer| answer.tokens).sum(), self.answers.len());
        self.latency = Latency::of(self.answers.iter().map(|answer| answer.micros).collect());
        self
    }

    /// Returns the heads of the columns of [`row`](Self::row).
    fn heads() -> Vec<String> {
        let measures = Measure::ALL.map(|measure| measure.name().to_owned());
        let rest = ["tokens", "p50 µs", "p95 µs", "p99 µs"].map(String::from);
        ["settings".to_owned()].into_iter().chain(measures).chain(rest).collect()
    }

    fn row(&self) -> Vec<String> {
        let measures = Measure::ALL.map(|measure| format!("{:.3}", measure.of(&self.quality)));
        let Latency { p50, p95, p99 } = self.latency;
        let times = [p50, p95, p99].map(|micros| micros.to_string());
        let front = [self.name.clone()].into_iter().chain(measures);
        front.chain([format!("{:.0}", self.tokens)]).chain(times).collect()
    }
}

impl fmt::Display for Report {
    /// Writes a table of one row, with remarks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_table(f, &[Self::heads(), self.row()])?;
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

fn mean(sum: u64, count: usize) -> f64 {
    share(usize::try_from(sum).unwrap_or(usize::MAX), count)
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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
