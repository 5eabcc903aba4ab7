//! The uses of one tool.

use std::collections::VecDeque;

use super::DefinitionDigest;

/// The queries for which a tool was used.
#[derive(Debug, Clone)]
pub(super) struct Uses {
    /// The mean of the queries, each of length 1. The less they have in common, the shorter the mean.
    centroid: Box<[f32]>,
    /// The number of queries, up to [`MOST_WEIGHT`].
    weight: u8,
    /// The sessions that counted, the last one at the end.
    sessions: VecDeque<u64>,
    /// The definition that the tool had.
    pub(super) definition: DefinitionDigest,
    pub(super) used: u64,
}

/// The squared length of a mean at most: means of vectors of length 1 are no longer, but for rounding.
const LONGEST_SQUARE: f32 = 1.05;

const MOST_SESSIONS: usize = 16;
const MOST_WEIGHT: u8 = 16;

impl Uses {
    pub(super) fn first(query: &[f32], session: u64, definition: DefinitionDigest, used: u64) -> Self {
        Self { centroid: query.into(), weight: 1, sessions: VecDeque::from([session]), definition, used }
    }

    /// Returns stored uses; `None` if they are invalid.
    pub(super) fn kept(
        centroid: Vec<f32>,
        weight: u8,
        definition: DefinitionDigest,
        used: u64,
    ) -> Option<Self> {
        let square: f32 = centroid.iter().map(|number| number * number).sum();
        let is_vector = (1..=LONGEST).contains(&centroid.len());
        let sound = weight > 0 && square.is_finite() && square <= LONGEST_SQUARE && is_vector;
        let weight = weight.min(MOST_WEIGHT);
        sound.then(|| Self { centroid: centroid.into(), weight, sessions: VecDeque::new(), definition, used })
    }

    /// Returns whether one more query of this session would count.
    pub(super) fn admits(&self, query: &[f32], session: u64) -> bool {
        query.len() == self.centroid.len() && !self.sessions.contains(&session)
    }

    pub(super) fn add(&mut self, query: &[f32], session: u64, used: u64) {
        // From the largest weight on, old uses fade, so that a tool can find another use.
        self.weight = (self.weight + 1).min(MOST_WEIGHT);
        for (mean, number) in self.centroid.iter_mut().zip(query) {
            *mean += (number - *mean) / f32::from(self.weight);
        }
        if self.sessions.len() == MOST_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back(session);
        self.used = used;
    }

    pub(super) const fn centroid(&self) -> &[f32] {
        &self.centroid
    }

    pub(super) const fn weight(&self) -> u8 {
        self.weight
    }

    /// Returns the weight of the queries beside the tool's own words.
    pub(super) fn share(&self) -> f32 {
        0.2 + 0.1 * f32::from(self.weight.min(3))
    }
}

const LONGEST: usize = 4096;

/// Returns the vector of length 1 in the same direction; `None` if there is no direction.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let square: f64 = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
    let length = square.sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "no number is larger than 1")]
    let unit = || vector.iter().map(|number| (f64::from(*number) / length) as f32).collect();
    (length.is_finite() && length > 0.0 && vector.len() <= LONGEST).then(unit)
}
