//! Relevance: the fit of a tool as a number that means the same for all requests.
//!
//! Relevance is not the number that tools are ordered by, which is a sum without bounds. Relevance is a mean of two
//! shares: the share of the words' worth that the tool has, and the share of the way from any tool to one that says
//! just the same. A request that no tool fits gives low numbers for all tools, because no number is scaled to the best.

/// The weight of the words beside the meaning. A word or two are met by chance in many tools, and words that no tool
/// has count against all of them: meaning tells better whether there is a tool at all.
const WORDS: f32 = 0.5;

/// Returns the fit of a tool to a part of a request, from 0 to 1: by the share of its words that the tool has and by the
/// likeness of the tool, each if the search was by it. `typical` is the likeness of tools in general, and `grasped` the share
/// of the part that likeness expresses, from 0 to 1.
pub(super) fn share(covered: Option<f32>, likeness: Option<f32>, typical: f32, grasped: f32) -> f32 {
    let near = likeness.map(|likeness| (likeness - typical) / (1.0 - typical));
    let share = match (covered, near) {
        (Some(covered), Some(near)) => {
            let (covered, near) = (covered.clamp(0.0, 1.0), near.clamp(0.0, 1.0));
            (WORDS * covered + grasped * near) / (WORDS + grasped)
        }
        (Some(share), None) | (None, Some(share)) => share,
        (None, None) => 0.0,
    };
    // A share of no way at all is NaN.
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

/// Lowers each score to that of the tool in front: a tool behind fits no better.
///
/// Raising those in front instead would make a tool that fits badly look like the one behind it that fits well, and
/// where no tool fits there is always one that fits by chance.
pub(super) fn in_order<'s>(scores: impl IntoIterator<Item = &'s mut f32>) {
    let mut least = 1.0_f32;
    for score in scores {
        least = least.min(*score);
        *score = least;
    }
}

const LEAST_OF_NAME: f32 = 0.95;

/// Returns the score of a tool that the request names exactly, from its score without this.
pub(super) fn of_name(score: f32) -> f32 {
    LEAST_OF_NAME + (1.0 - LEAST_OF_NAME) * score
}

/// Returns whether a score is that of a tool that the request names exactly.
pub(super) fn is_of_name(score: f32) -> bool {
    score >= LEAST_OF_NAME
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn meaning_has_twice_the_say_of_words() {
        let share = |covered, likeness| share(covered, likeness, 0.2, 1.0);
        assert!((share(Some(1.0), Some(1.0)) - 1.0).abs() < 1e-6);
        assert!((share(Some(1.0), Some(0.2)) - 1.0 / 3.0).abs() < 1e-6);
        assert!((share(Some(0.0), Some(0.6)) - 1.0 / 3.0).abs() < 1e-6);
        assert!((share(Some(0.4), None) - 0.4).abs() < 1e-6);
        assert!((share(None, Some(0.6)) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn what_is_less_like_than_any_tool_does_not_fit() {
        assert!(share(None, Some(-0.3), 0.1, 1.0) < f32::EPSILON);
    }

    #[test]
    fn who_is_behind_has_no_higher_score() {
        let mut scores = [0.5, 0.7, 0.2, 0.3];
        in_order(&mut scores);
        assert_near(&scores, &[0.5, 0.5, 0.2, 0.2]);
    }

    fn assert_near(scores: &[f32], expected: &[f32]) {
        let near = |(score, expected): (&f32, &f32)| (score - expected).abs() < 1e-6;
        assert!(scores.iter().zip(expected).all(near), "{scores:?}");
    }

    proptest! {
        #[test]
        fn it_is_a_share_whatever_goes_in(
            covered in prop::option::of(any::<f32>()),
            likeness in prop::option::of(any::<f32>()),
            typical in any::<f32>(),
            grasped in 0.0_f32..=1.0,
        ) {
            let share = share(covered, likeness, typical, grasped);
            prop_assert!((0.0..=1.0).contains(&share));
            prop_assert!((0.95..=1.0).contains(&of_name(share)));
        }
    }
}
