//! The comparison of two reports.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use super::chance::{interval, sign_test};
use super::report::write_table;
use super::{Measure, Quality, QuestionResult, Report};

/// The differences of two reports on the same questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The name of the settings before.
    pub(crate) before: String,
    /// The name of the settings after.
    pub(crate) after: String,
    /// The measures, before and after.
    pub(crate) changes: Vec<MeasureChange>,
    /// The questions whose NDCG@5 rose.
    pub(crate) wins: Vec<String>,
    /// The questions whose NDCG@5 fell.
    pub(crate) losses: Vec<String>,
    /// The number of questions with the same NDCG@5.
    pub(crate) ties: usize,
    /// The number of questions that only one of the reports has, which are left out.
    pub(crate) unpaired: usize,
    /// The probability of such uneven wins and losses if neither of the settings is better.
    pub(crate) chance: f64,
    /// The verdict.
    pub(crate) verdict: Verdict,
}

/// A measure, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct MeasureChange {
    /// The measure.
    pub(crate) measure: Measure,
    /// The value before.
    pub(crate) before: f64,
    /// The value after.
    pub(crate) after: f64,
    /// The lower end of the difference: with other questions of this kind it is higher in 39 of 40 cases.
    pub(crate) low: f64,
    /// The upper end of the difference.
    pub(crate) high: f64,
}

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The settings after are better, and hardly by chance.
    Better,
    /// The settings after are worse, and hardly by chance.
    Worse,
    /// The difference may be chance.
    MayBeChance,
}

/// The difference below which two values are the same: rounding differs by less.
const SAME: f64 = 1e-9;

impl Comparison {
    /// Compares two reports by the questions that both have.
    pub(crate) fn of(before: &Report, after: &Report) -> Self {
        let earlier: HashMap<&str, &QuestionResult> =
            before.answers.iter().map(|answer| (answer.question.as_str(), answer)).collect();
        let (mut wins, mut losses) = (Vec::new(), Vec::new());
        let mut pairs: Vec<(Quality, Quality)> = Vec::new();
        for now in &after.answers {
            let Some(then) = earlier.get(now.question.as_str()) else { continue };
            pairs.push((then.quality, now.quality));
            let gain = now.quality.ndcg_5 - then.quality.ndcg_5;
            if gain > SAME {
                wins.push(now.question.clone());
            } else if gain < -SAME {
                losses.push(now.question.clone());
            }
        }
        let changes: Vec<MeasureChange> =
            Measure::ALL.iter().map(|measure| MeasureChange::of(*measure, &pairs)).collect();
        let chance = sign_test(wins.len(), losses.len());
        let alone = |report: &Report| report.answers.len().saturating_sub(pairs.len());
        Self {
            before: before.name.clone(),
            after: after.name.clone(),
            ties: pairs.len() - wins.len() - losses.len(),
            unpaired: alone(before) + alone(after),
            verdict: Verdict::of(&changes, chance),
            changes,
            wins,
            losses,
            chance,
        }
    }
}

/// The number of questions that a table names.
const SHOWN: usize = 20;

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["measure", &self.before, &self.after, "difference", "95 of 100 times"].map(String::from);
        let rows = self.changes.iter().map(|change| {
            vec![
                change.measure.name().to_owned(),
                format!("{:.3}", change.before),
                format!("{:.3}", change.after),
                format!("{:+.3}", change.after - change.before),
                format!("{:+.3} to {:+.3}", change.low, change.high),
            ]
        });
        write_table(f, &[vec![heads.to_vec()], rows.collect()].concat())?;
        let (wins, losses) = (self.wins.len(), self.losses.len());
        writeln!(
            f,
            "{wins} better, {losses} worse, {} the same, by NDCG@5; by chance: {:.3}",
            self.ties, self.chance
        )?;
        for (what, ids) in [("better", &self.wins), ("worse", &self.losses)] {
            if !ids.is_empty() {
                let more = if ids.len() > SHOWN {
                    format!(" and {} more", ids.len() - SHOWN)
                } else {
                    String::new()
                };
                writeln!(f, "{what}: {}{more}", ids[..ids.len().min(SHOWN)].join(", "))?;
            }
        }
        if self.unpaired > 0 {
            writeln!(f, "{} questions are in one report only and left out", self.unpaired)?;
        }
        writeln!(f, "{}: {}", self.after, self.verdict)
    }
}

impl MeasureChange {
    fn of(measure: Measure, pairs: &[(Quality, Quality)]) -> Self {
        let differences: Vec<f64> =
            pairs.iter().map(|(then, now)| measure.of(now) - measure.of(then)).collect();
        let (low, high) = interval(&differences);
        Self {
            measure,
            before: measure.of(&Quality::mean(pairs.iter().map(|(then, _)| then))),
            after: measure.of(&Quality::mean(pairs.iter().map(|(_, now)| now))),
            low,
            high,
        }
    }
}

/// The probability below which a difference is not put down to chance.
const RARE: f64 = 0.05;

impl Verdict {
    /// Returns the verdict. Both tests have to agree: one counts questions, the other weighs them.
    fn of(changes: &[MeasureChange], chance: f64) -> Self {
        let ndcg = changes.iter().find(|change| change.measure == Measure::Ndcg5);
        match ndcg {
            Some(by) if chance < RARE && by.low > 0.0 => Self::Better,
            Some(by) if chance < RARE && by.high < 0.0 => Self::Worse,
            _ => Self::MayBeChance,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better, and hardly by chance",
            Self::Worse => "worse, and hardly by chance",
            Self::MayBeChance => "what differs may be chance",
        })
    }
}
