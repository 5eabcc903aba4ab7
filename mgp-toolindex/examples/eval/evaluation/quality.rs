//! Measures of the quality of rankings.

use serde::{Deserialize, Serialize};

/// The quality of a ranking, or the mean of many; each measure from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quality {
    /// The share of needs that the first tool meets.
    pub(crate) recall_1: f64,
    /// The share of needs that the first five tools meet.
    pub(crate) recall_5: f64,
    /// The share of needs that the first ten tools meet.
    pub(crate) recall_10: f64,
    /// 1 if the first five tools meet all needs.
    pub(crate) complete_5: f64,
    /// The NDCG of the first five tools: how far in front the tools stand that meet a need, beside the best possible
    /// order.
    pub(crate) ndcg_5: f64,
    /// 1 divided by the rank of the first tool that meets a need.
    pub(crate) mrr: f64,
}

impl Quality {
    /// Judges a ranking by needs, each of which names the tools that meet it.
    ///
    /// A tool meets at most one need, even if it stands in several.
    pub(crate) fn of(ranking: &[String], needs: &[Vec<String>]) -> Self {
        let mut met = vec![false; needs.len()];
        let mut met_by_rank = Vec::with_capacity(ranking.len());
        let mut first = None;
        for (rank, tool) in ranking.iter().enumerate() {
            let meets = |need: &Vec<String>| need.contains(tool);
            if first.is_none() && needs.iter().any(meets) {
                first = Some(rank);
            }
            let gain = (0..needs.len()).find(|&at| !met[at] && meets(&needs[at]));
            if let Some(at) = gain {
                met[at] = true;
            }
            met_by_rank.push(gain.is_some());
        }
        let among = |first: usize| met_by_rank.iter().take(first).filter(|met| **met).count();
        let recall = |first: usize| share(among(first), needs.len());
        let gained = |gains: &mut dyn Iterator<Item = bool>| -> f64 {
            gains.take(5).enumerate().filter(|(_, gain)| *gain).map(|(rank, _)| discount(rank)).sum()
        };
        let ideal = gained(&mut needs.iter().map(|_| true));
        Self {
            recall_1: recall(1),
            recall_5: recall(5),
            recall_10: recall(10),
            complete_5: if among(5) == needs.len() { 1.0 } else { 0.0 },
            ndcg_5: if ideal > 0.0 { gained(&mut met_by_rank.into_iter()) / ideal } else { 0.0 },
            mrr: first.map_or(0.0, |rank| share(1, rank + 1)),
        }
    }

    /// Returns the mean of many.
    pub(crate) fn mean<'a>(of: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut sums, mut count) = ([0.0; 6], 0);
        for quality in of {
            count += 1;
            sums.iter_mut().zip(quality.measures()).for_each(|(sum, (_, measure))| *sum += measure);
        }
        let [recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr] = sums.map(|sum| sum * share(1, count));
        Self { recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr }
    }

    /// Returns all measures with their names in tables, in the order of the members.
    pub(crate) const fn measures(&self) -> [(&'static str, f64); 6] {
        let Self { recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr } = *self;
        [
            ("R@1", recall_1),
            ("R@5", recall_5),
            ("R@10", recall_10),
            ("C@5", complete_5),
            ("NDCG@5", ndcg_5),
            ("MRR", mrr),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "nothing that is counted here comes near 2^52")]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the weight of a tool at this rank, which counts from 0.
#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn discount(rank: usize) -> f64 {
    1.0 / ((rank + 2) as f64).log2()
}
