//! The fusion of evidence from words and meaning.
//!
//! Scores are added as they are. Scaling each side to its maximum makes the best of bad matches count as much as a
//! good one, which is how fusion loses to words alone. A small sum of words counts less than its share, because a
//! request meets one word of any tool by chance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mgp_types::mgp::MatchEvidence;

use crate::slot::Score;

/// The mean and the deviation of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f32,
    pub(super) deviation: f32,
}

mgp_types::with_defaults! {
    /// The weight of each kind of evidence in a search by words and meaning, in the unit of BM25. The default serves
    /// all kinds of requests about equally well.
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[non_exhaustive]
    pub struct FusionWeights {
        /// The worth of a standard deviation of likeness.
        pub meaning: f32 = 3.4,
        /// The score of words that is as likely met by chance as not: that of some words.
        pub by_chance: f32 = 15.0,
        /// The worth of the request's naming of the server.
        pub named_server: f32 = 4.0,
    }
}

/// Returns the evidence for each of some candidates for one part of a request: from the word score of each, or none for a
/// search without words, and from the likeness of each, or none for a search without meaning; a candidate without a vector
/// has no likeness. `typical` is the distribution of the likeness of tools in general, and `grasped` the share of the request
/// that likeness expresses, from 0 to 1.
///
/// A score of BM25 is a sum over the words that a tool has, each by its rarity: in theory the logarithm of the odds
/// that the tool is meant. The number of standard deviations by which a tool is liker to the request than tools in
/// general is such a logarithm too, up to a factor. Logarithms of odds of independent evidence are added, and that
/// is all.
///
/// No score is scaled to its maximum first, which makes the sum as good as the better of the two: where the words
/// of a request are those of a tool, their sum is great and decides; where they are not, it is small, and meaning
/// decides. Scaled to the maximum, the best of bad matches would count as much as a good one.
///
/// A small sum of words counts less than its share. People who do not know a tool's words meet one of them by
/// chance, as `site` or `red`, and a single word may be rare. Several are seldom met by chance.
pub(super) fn evidence(
    words: &[f32],
    likeness: &[Option<f32>],
    typical: Spread,
    grasped: f32,
    weights: &FusionWeights,
) -> Vec<MatchEvidence> {
    // Where there are no words, meaning alone decides.
    let weight = weights.meaning * if words.is_empty() { 1.0 } else { grasped };
    // Meaning that grasps less than half of the request cannot stand in for its words.
    let by_chance = weights.by_chance * 2.0_f32.mul_add(grasped, -1.0).max(0.0);
    let each_word_score = words.iter().copied().chain(std::iter::repeat(0.0));
    let each_likeness = likeness.iter().copied().chain(std::iter::repeat(None));
    let both = each_word_score.zip(each_likeness).map(|(score, alike)| MatchEvidence {
        words: if likeness.is_empty() { score } else { score * score / (score + by_chance) },
        meaning: weight * typical.above(alike),
        prior: 0.0,
    });
    both.take(words.len().max(likeness.len())).collect()
}

const USUAL_DEVIATION: f64 = 0.1;
const USUAL_COUNT: f64 = 16.0;

impl Spread {
    /// Returns the distribution of numbers with this count, sum, and sum of squares. Few numbers tell little, so that
    /// some of the usual deviation are added.
    #[expect(clippy::cast_possible_truncation, reason = "the precision is enough")]
    pub(super) fn of((count, sum, squares): (u32, f64, f64)) -> Self {
        let count = f64::from(count);
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        let variance =
            (squares - count * mean * mean).max(0.0) + USUAL_COUNT * USUAL_DEVIATION * USUAL_DEVIATION;
        Self { mean: mean as f32, deviation: (variance / (count + USUAL_COUNT)).sqrt() as f32 }
    }

    /// Returns the deviations of a number above the mean; an unknown number counts as the mean.
    fn above(self, number: Option<f32>) -> f32 {
        let deviations = number.map_or(0.0, |number| (number - self.mean) / self.deviation);
        if deviations.is_finite() { deviations } else { 0.0 }
    }
}

/// The factor of a need's worth after each tool that was chosen for it.
const MET: f32 = 0.75;
/// The worth of the request as a whole beside that of one of its needs, which lacks what the others say.
const WHOLE: f32 = 1.25;

/// Returns the first `most` candidates, the best first, by the evidence for the whole request and for each of its needs.
///
/// A candidate is worth its share of the best evidence for the whole, and its share of the best evidence for the need
/// that it meets best. Each candidate that is chosen for a need makes the next one for it worth less, so that every
/// need has its tool among the first.
pub(super) fn order(whole: &[f32], needs: &[Vec<f32>], most: usize) -> Vec<usize> {
    let whole = shares(whole);
    let needs: Vec<Vec<f32>> = needs.iter().map(|need| shares(need)).collect();
    let mut met = vec![1.0; needs.len()];
    let mut waiting: BinaryHeap<WaitingCandidate> =
        (0..whole.len()).map(|candidate| WaitingCandidate::new(candidate, &whole, &needs, &met)).collect();
    let mut order = Vec::with_capacity(whole.len().min(most));
    while order.len() < most
        && let Some(first) = waiting.pop()
    {
        // Worths only fall, so that a candidate still ahead with its current worth is ahead of all.
        let now = WaitingCandidate::new(first.candidate.0, &whole, &needs, &met);
        if waiting.peek().is_some_and(|next| *next > now) {
            waiting.push(now);
            continue;
        }
        order.push(now.candidate.0);
        if let Some(need) = now.need {
            met[need] *= MET;
        }
    }
    order
}

/// Returns each number as a share of the greatest. Where all evidence is small, it stays small.
fn shares(numbers: &[f32]) -> Vec<f32> {
    let greatest = numbers.iter().copied().fold(1.0, f32::max);
    numbers.iter().map(|number| number / greatest).collect()
}

/// A candidate that has no place yet. Of two that are worth the same, the first one is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WaitingCandidate {
    worth: Score,
    candidate: Reverse<usize>,
    /// The need that the candidate meets best.
    need: Option<usize>,
}

impl WaitingCandidate {
    fn new(candidate: usize, whole: &[f32], needs: &[Vec<f32>], met: &[f32]) -> Self {
        // Without the lower bound, negative evidence would become worth more with each tool before it.
        let each = needs.iter().zip(met).map(|(need, met)| need[candidate].max(0.0) * met).enumerate();
        let best = each.max_by(|a, b| a.1.total_cmp(&b.1));
        let worth = WHOLE * whole[candidate] + best.map_or(0.0, |best| best.1);
        Self { worth: Score(worth), candidate: Reverse(candidate), need: best.map(|best| best.0) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNLIMITED: usize = usize::MAX;

    fn scored(words: &[f32], likeness: &[f32]) -> Vec<f32> {
        let count = u32::try_from(likeness.len()).unwrap();
        let numbers = || likeness.iter().map(|number| f64::from(*number));
        let typical = Spread::of((count, numbers().sum(), numbers().map(|number| number * number).sum()));
        let likeness: Vec<_> = likeness.iter().copied().map(Some).collect();
        let evidence = evidence(words, &likeness, typical, 1.0, &FusionWeights::default());
        evidence.iter().map(MatchEvidence::sum).collect()
    }

    #[test]
    fn words_decide_where_many_rare_ones_are_met() {
        let evidence = scored(&[30.0, 3.0, 0.0, 0.0], &[0.4, 0.5, 0.1, 0.2]);
        assert_eq!(order(&evidence, &[], UNLIMITED), [0, 1, 3, 2]);
    }

    #[test]
    fn meaning_decides_where_few_words_are_met() {
        let evidence = scored(&[2.0, 0.0, 0.0, 1.0], &[0.1, 0.6, 0.1, 0.1]);
        assert_eq!(order(&evidence, &[], UNLIMITED)[0], 1);
    }

    #[test]
    fn a_tool_without_a_vector_is_taken_to_be_as_like_as_any() {
        let typical = Spread { mean: 0.3, deviation: 0.1 };
        let likeness = [Some(0.3), None, Some(0.2)];
        let evidence = evidence(&[5.0; 3], &likeness, typical, 1.0, &FusionWeights::default());
        assert!((evidence[0].sum() - evidence[1].sum()).abs() < 1e-5);
        assert!(evidence[2].sum() < evidence[1].sum());
    }

    #[test]
    fn words_count_in_full_where_meaning_does_not_know_them() {
        let typical = Spread { mean: 0.3, deviation: 0.1 };
        let words =
            |grasped| evidence(&[10.0], &[Some(0.3)], typical, grasped, &FusionWeights::default())[0].words;
        assert!((words(0.25) - 10.0).abs() < 1e-5);
        assert!(words(1.0) < 5.0);
    }

    #[test]
    fn one_side_is_enough() {
        assert_eq!(order(&scored(&[1.0, 3.0, 2.0], &[]), &[], UNLIMITED), [1, 2, 0]);
        assert_eq!(order(&scored(&[], &[0.1, 0.3, 0.2]), &[], UNLIMITED), [1, 2, 0]);
        assert_eq!(order(&scored(&[], &[]), &[], UNLIMITED), Vec::<usize>::new());
    }

    #[test]
    fn every_need_has_its_tool_among_the_first() {
        // Six tools read, and one sends, of which the request as a whole hardly speaks.
        let whole = [9.0, 8.9, 8.8, 8.7, 8.6, 8.5, 4.0];
        let read = vec![9.0, 8.9, 8.8, 8.7, 8.6, 8.5, 0.0];
        let send = vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0];
        let place = |order: Vec<usize>| order.iter().position(|tool| *tool == 6).unwrap();
        assert_eq!(place(order(&whole, &[], UNLIMITED)), 6);
        assert!(place(order(&whole, &[read, send], UNLIMITED)) < 5);
    }

    #[test]
    fn of_few_tools_it_is_not_believed_that_all_are_alike() {
        let spread = Spread::of((2, 0.8, 0.32));
        assert!((spread.mean - 0.4).abs() < 1e-6);
        assert!(spread.deviation > 0.05);
        assert!(spread.above(Some(0.5)) < 2.0);
    }

    proptest! {
        #[test]
        fn everybody_has_one_place(
            whole in prop::collection::vec(-50.0_f32..50.0, 0..40),
            seeds in prop::collection::vec(-50.0_f32..50.0, 0..8),
        ) {
            let needs: Vec<Vec<f32>> =
                seeds.iter().map(|seed| whole.iter().map(|number| (number * seed).sin() * 9.0).collect()).collect();
            let mut places = order(&whole, &needs, UNLIMITED);
            places.sort_unstable();
            prop_assert_eq!(places, (0..whole.len()).collect::<Vec<_>>());
        }

        #[test]
        fn without_needs_the_order_is_that_of_the_evidence(whole in prop::collection::vec(-50.0_f32..50.0, 0..40)) {
            let order = order(&whole, &[], UNLIMITED);
            prop_assert!(order.is_sorted_by(|a, b| whole[*a] >= whole[*b]));
        }
    }
}
