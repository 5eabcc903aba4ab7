//! Tests of vectors.

use proptest::prelude::*;

use super::*;

const DIMENSION: usize = 40;

impl Vectors {
    /// Returns the dimension of the vectors.
    pub(crate) const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the number of tools with a vector.
    pub(crate) fn len(&self) -> usize {
        self.chunks.iter().flat_map(|chunk| &chunk.scales).filter(|scale| **scale > 0.0).count()
    }

    /// Returns about the vector of a tool: its likeness to each axis.
    pub(crate) fn get(&self, slot: Slot) -> Option<Vec<f32>> {
        let axis = |number| (0..self.dimension).map(move |at| f32::from(u8::from(at == number)));
        let near = |number| {
            let query = [QueryVector::new(&axis(number).collect::<Vec<_>>())?];
            self.scan(&query).of(0, slot)
        };
        (0..self.dimension).map(near).collect()
    }
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter().map(|number| number / length).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn along(axis: usize) -> Vec<f32> {
    (0..DIMENSION).map(|at| f32::from(u8::from(at == axis))).collect()
}

fn vector() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.0_f32..1.0, DIMENSION)
        .prop_filter("it has a direction", |vector| vector.iter().any(|number| number.abs() > 0.01))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scores_are_those_of_exact_products(
        tools in prop::collection::vec((0..1500_u32, vector(), 0.1_f32..1.0), 1..40),
        queries in prop::collection::vec(vector(), 1..=9),
    ) {
        let mut vectors = Vectors::new(DIMENSION);
        let mut exact = std::collections::BTreeMap::new();
        for (slot, vector, length) in tools {
            let vector: Vec<f32> = unit(&vector).iter().map(|number| number * length).collect();
            assert!(vectors.set(Slot(slot), &vector));
            exact.insert(Slot(slot), vector);
        }
        prop_assert_eq!(vectors.len(), exact.len());
        let wanted: Vec<_> = queries.iter().map(|query| QueryVector::new(query).unwrap()).collect();
        let scores = vectors.scan(&wanted);
        for (number, query) in queries.iter().enumerate() {
            for (slot, vector) in &exact {
                let score = scores.of(number, *slot).unwrap();
                let difference = (score - dot(&unit(query), vector)).abs();
                prop_assert!(difference < 0.001, "{difference}");
            }
            let mut all: Vec<_> = exact.keys().map(|slot| (*slot, scores.of(number, *slot).unwrap())).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let even: Vec<_> = all.iter().copied().filter(|(slot, _)| slot.0 % 2 == 0).take(7).collect();
            prop_assert_eq!(scores.best(number, 7, |slot| slot.0 % 2 == 0), even);
            prop_assert_eq!(scores.best(number, usize::MAX, |_| true), all);
        }
    }
}

#[test]
fn what_is_no_vector_is_refused_and_the_old_one_kept() {
    let mut vectors = Vectors::new(2);
    assert!(vectors.set(Slot(0), &[1.0, 0.0]));
    for wrong in [&[1.0; 3][..], &[f32::NAN, 0.0], &[0.0, f32::INFINITY]] {
        assert!(!vectors.set(Slot(0), wrong), "{wrong:?}");
    }
    let query = [QueryVector::new(&[1.0, 0.0]).unwrap()];
    assert!((vectors.scan(&query).of(0, Slot(0)).unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn zeros_and_next_to_zeros_are_no_vector() {
    let mut vectors = Vectors::new(2);
    assert!(vectors.set(Slot(3), &[1.0, 0.0]));
    assert!(vectors.set(Slot(3), &[0.0, 0.0]));
    assert!(vectors.set(Slot(4), &[f32::from_bits(1), 0.0]));
    assert_eq!((vectors.has(Slot(3)), vectors.has(Slot(4)), vectors.len()), (false, false, 0));
    let query = [QueryVector::new(&[1.0, 0.0]).unwrap()];
    let scores = vectors.scan(&query);
    assert_eq!(scores.of(0, Slot(3)), None);
    assert!(scores.best(0, 5, |_| true).is_empty());
}

#[test]
fn a_long_vector_is_no_nearer_than_a_short_one() {
    let mut vectors = Vectors::new(DIMENSION);
    let long: Vec<f32> = along(1).iter().map(|number| number * f32::MAX).collect();
    assert!(vectors.set(Slot(0), &long));
    assert!(vectors.set(Slot(1), &along(1)));
    let best = vectors.scan(&[QueryVector::new(&long).unwrap()]).best(0, 2, |_| true);
    assert_eq!((best[0].0, best[1].0), (Slot(0), Slot(1)));
    assert!((best[0].1 - 1.0).abs() < 1e-4 && (best[1].1 - 1.0).abs() < 1e-4, "{best:?}");
}

#[test]
fn a_copy_keeps_what_it_had() {
    let mut vectors = Vectors::new(DIMENSION);
    assert!(vectors.set(Slot(700), &along(1)));
    let before = vectors.clone();
    vectors.clear(Slot(700));
    vectors.clear(Slot(9999));
    assert!(vectors.set(Slot(2), &along(2)));
    assert!(before.has(Slot(700)) && !before.has(Slot(2)));
    assert!(!vectors.has(Slot(700)) && vectors.has(Slot(2)));
}

#[test]
fn equal_scores_come_in_the_order_of_slots() {
    let mut vectors = Vectors::new(DIMENSION);
    for slot in (0..2000).rev() {
        assert!(vectors.set(Slot(slot), &along(0)));
    }
    let query = [QueryVector::new(&along(0)).unwrap()];
    let scores = vectors.scan(&query);
    let best: Vec<u32> = scores.best(0, 4, |slot| slot.0 >= 510).iter().map(|(slot, _)| slot.0).collect();
    assert_eq!(best, [510, 511, 512, 513]);
}

#[test]
fn only_what_would_be_among_the_best_is_asked_for() {
    let mut vectors = Vectors::new(2);
    for slot in 0..1000_u16 {
        let angle = f32::from(slot) / 1000.0;
        assert!(vectors.set(Slot(slot.into()), &[angle.cos(), angle.sin()]));
    }
    let query = [QueryVector::new(&[1.0, 0.0]).unwrap()];
    let scores = vectors.scan(&query);
    let mut asked = 0;
    let best = scores.best(0, 3, |_| {
        asked += 1;
        true
    });
    assert_eq!(best.len(), 3);
    assert!(asked < 20, "{asked}");
}

#[test]
fn nothing_is_near_where_there_is_nothing() {
    let query = QueryVector::new(&along(0)).unwrap();
    let vectors = Vectors::new(DIMENSION);
    let empty = vectors.scan(std::slice::from_ref(&query));
    assert!(empty.best(0, 5, |_| true).is_empty());
    assert_eq!(empty.of(0, Slot(0)), None);

    let mut vectors = Vectors::new(3);
    assert!(vectors.set(Slot(0), &[1.0; 3]));
    let queries = [query];
    let scores = vectors.scan(&queries);
    assert!(scores.best(0, 5, |_| true).is_empty(), "another dimension");
    assert!(scores.best(0, 0, |_| true).is_empty());
    assert!(scores.best(7, 5, |_| true).is_empty());
    assert_eq!(scores.of(7, Slot(0)), None);
    assert!(vectors.scan(&[]).best(0, 5, |_| true).is_empty());
}
