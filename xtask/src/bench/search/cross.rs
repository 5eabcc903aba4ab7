//! Whether the weights of the fusion carry over: each family of sets is left out in turn, the weights are chosen by
//! the others, and the family that was left out tells what they are worth.

use anyhow::{Context, Result};

use super::{Bench, EVERYDAY, Scores};
use crate::bench::origin::origin;
use crate::table::Table;

/// Sets that were made by the same people from the same tools.
struct Family {
    name: &'static str,
    sets: &'static [&'static str],
}

const FAMILIES: [Family; 5] = [
    Family {
        name: "livemcp",
        sets: &["livemcp-step", "livemcp-task", "livemcp-step-15k", "livemcp-task-15k"],
    },
    Family { name: "metatool", sets: &["metatool", "metatool-multi"] },
    Family { name: "toolbench", sets: &["toolbench"] },
    Family { name: "sealtools", sets: &["sealtools"] },
    Family { name: EVERYDAY, sets: &[EVERYDAY] },
];

/// The worth of a standard deviation of likeness.
const MEANING: [f64; 3] = [2.4, 3.4, 4.4];
/// The score of words that is as likely met by chance as not.
const BY_CHANCE: [f64; 4] = [0.0, 5.0, 15.0, 30.0];
/// The worth of the request's naming of the server.
const NAMED_SERVER: [f64; 2] = [0.0, 4.0];

/// The weights of the product: `FusionWeights` of `mgp-toolindex` as they are.
const OWN: Weights = Weights { meaning: 3.4, by_chance: 15.0, named_server: 4.0 };

#[derive(Debug, Clone, Copy, PartialEq)]
struct Weights {
    meaning: f64,
    by_chance: f64,
    named_server: f64,
}

/// What weights are worth, by family: the mean R@5 and NDCG@5 of its sets.
struct Trial {
    weights: Weights,
    worth: [[f64; 2]; FAMILIES.len()],
}

impl Bench {
    /// Measures what is found with weights that were chosen without the family they are measured with.
    pub(super) fn cross(&self) -> Result<()> {
        println!("scoring weights");
        let trials = self.trials()?;
        println!("\n{}", origin("cargo xtask bench --only search --cross", self.quick)?);
        println!("{}", left_out(&trials));
        Ok(())
    }

    fn trials(&self) -> Result<Vec<Trial>> {
        let mut trials = Vec::new();
        for meaning in MEANING {
            for by_chance in BY_CHANCE {
                for named_server in NAMED_SERVER {
                    let weights = Weights { meaning, by_chance, named_server };
                    let arguments = format!("--weights {meaning},{by_chance},{named_server}");
                    trials.push(Trial { weights, worth: worth(&self.score(&arguments)?)? });
                }
            }
        }
        Ok(trials)
    }
}

fn worth(scores: &Scores) -> Result<[[f64; 2]; FAMILIES.len()]> {
    let mut worth = [[0.0; 2]; FAMILIES.len()];
    for (family, worth) in FAMILIES.iter().zip(&mut worth) {
        for set in family.sets {
            let score = scores.get(*set).with_context(|| format!("{set} was not scored"))?;
            worth[0] += score.recall_5;
            worth[1] += score.ndcg_5;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few sets")]
        let sets = family.sets.len() as f64;
        *worth = worth.map(|sum| sum / sets);
    }
    Ok(worth)
}

/// Prints, for each family, which weights the others choose, and what they and the product's own find in it.
fn left_out(trials: &[Trial]) -> Table {
    let mut table = Table::new([
        "family left out", "weights by the others", "R@5", "NDCG@5", "R@5, own weights",
        "NDCG@5, own weights", "best R@5 of all weights",
    ]);
    let own = trials.iter().find(|trial| trial.weights == OWN);
    for (number, family) in FAMILIES.iter().enumerate() {
        let of_others = |trial: &&Trial| {
            let others = trial.worth.iter().enumerate().filter(|(other, _)| *other != number);
            others.map(|(_, [recall, ndcg])| recall + ndcg).sum::<f64>()
        };
        let Some(chosen) = trials.iter().max_by(|one, other| of_others(one).total_cmp(&of_others(other)))
        else {
            continue;
        };
        let Weights { meaning, by_chance, named_server } = chosen.weights;
        let best = trials.iter().map(|trial| trial.worth[number][0]).fold(0.0, f64::max);
        let [own_recall, own_ndcg] = own.map_or([f64::NAN; 2], |own| own.worth[number]);
        let [recall, ndcg] = chosen.worth[number];
        let [recall, ndcg, own_recall, own_ndcg, best] =
            [recall, ndcg, own_recall, own_ndcg, best].map(|share| format!("{share:.3}"));
        let weights = format!("{meaning}, {by_chance}, {named_server}");
        table.row([family.name.to_owned(), weights, recall, ndcg, own_recall, own_ndcg, best]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_no_say_in_the_weights_it_is_measured_with() {
        let weights = |meaning| Weights { meaning, ..OWN };
        let mut worth = [[0.5; 2]; FAMILIES.len()];
        let usual = Trial { weights: weights(OWN.meaning), worth };
        worth[0] = [1.0; 2];
        worth[1] = [0.4; 2];
        let only_for_the_first = Trial { weights: weights(9.0), worth };
        let table = left_out(&[usual, only_for_the_first]).to_string();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert!(rows[0].contains("3.4, 15, 4") && rows[0].contains("0.500"), "{table}");
        assert!(rows[1].contains("9, 15, 4") && rows[1].contains("0.400"), "{table}");
    }
}
