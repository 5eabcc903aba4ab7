//! The comparison of two reports.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use super::quality::share;
use super::report::write_table;
use super::{Quality, Report};

/// The differences of two reports on the same questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The names of the settings before and after.
    pub(crate) names: [String; 2],
    /// The mean quality before and after.
    pub(crate) quality: [Quality; 2],
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
}

/// The difference below which two values are the same: rounding differs by less.
const SAME: f64 = 1e-9;

/// The probability below which a difference is not put down to chance.
const RARE: f64 = 0.05;

/// The number of questions that a table names.
const SHOWN: usize = 20;

impl Comparison {
    /// Compares two reports by the questions that both have.
    pub(crate) fn of(before: &Report, after: &Report) -> Self {
        let earlier: HashMap<&str, &Quality> =
            before.answers.iter().map(|answer| (answer.question.as_str(), &answer.quality)).collect();
        let (mut wins, mut losses, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for now in &after.answers {
            let Some(then) = earlier.get(now.question.as_str()) else { continue };
            pairs.push((*then, &now.quality));
            let gain = now.quality.ndcg_5 - then.ndcg_5;
            if gain.abs() > SAME {
                let changed = if gain > 0.0 { &mut wins } else { &mut losses };
                changed.push(now.question.clone());
            }
        }
        let alone = |report: &Report| report.answers.len().saturating_sub(pairs.len());
        let (then, now): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        Self {
            names: [before.name.clone(), after.name.clone()],
            quality: [Quality::mean(then), Quality::mean(now)],
            ties: pairs.len() - wins.len() - losses.len(),
            unpaired: alone(before) + alone(after),
            chance: sign_test(wins.len(), losses.len()),
            wins,
            losses,
        }
    }

    /// Returns the verdict in words. The number of questions and the mean have to agree.
    pub(crate) fn verdict(&self) -> &'static str {
        let [before, after] = self.quality.map(|quality| quality.ndcg_5);
        match self.wins.len().cmp(&self.losses.len()) {
            std::cmp::Ordering::Greater if self.chance < RARE && after > before => {
                "better, and hardly by chance"
            }
            std::cmp::Ordering::Less if self.chance < RARE && after < before => "worse, and hardly by chance",
            _ => "what differs may be chance",
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = &self.names;
        let heads = ["measure", before, after, "difference"].map(String::from).to_vec();
        let [then, now] = self.quality.map(|quality| quality.measures());
        let rows = then.iter().zip(now).map(|((name, then), (_, now))| {
            vec![(*name).to_owned(), format!("{then:.3}"), format!("{now:.3}"), format!("{:+.3}", now - then)]
        });
        write_table(f, &std::iter::once(heads).chain(rows).collect::<Vec<_>>())?;
        let (wins, losses, ties) = (self.wins.len(), self.losses.len(), self.ties);
        writeln!(
            f,
            "{wins} better, {losses} worse, {ties} the same, by NDCG@5; by chance: {:.3}",
            self.chance
        )?;
        for (what, ids) in [("better", &self.wins), ("worse", &self.losses)] {
            let more = ids.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            if !ids.is_empty() {
                writeln!(f, "{what}: {}{more}", ids[..ids.len().min(SHOWN)].join(", "))?;
            }
        }
        if self.unpaired > 0 {
            writeln!(f, "{} questions are in one report only and left out", self.unpaired)?;
        }
        writeln!(f, "{after}: {}", self.verdict())
    }
}

/// Returns the probability of such uneven numbers of wins and losses, or more uneven ones, if a win is as likely as a
/// loss: the two-sided sign test.
pub(crate) fn sign_test(wins: usize, losses: usize) -> f64 {
    let games = wins + losses;
    // The sum is of logarithms, because 2^games exceeds the range of numbers.
    let (mut log_ways, mut tail) = (0.0, 0.0);
    let all = share(games, 1) * std::f64::consts::LN_2;
    for k in 0..=wins.min(losses) {
        tail += (log_ways - all).exp();
        log_ways += share(games - k, k + 1).ln();
    }
    (2.0 * tail).min(1.0)
}
