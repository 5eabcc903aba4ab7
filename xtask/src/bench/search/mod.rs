//! The tool index: what it finds beside the searches of others, and how it grows. Driven by its examples `rank` and
//! `scale`.

mod cross;
mod growth;
mod two_steps;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::origin::origin;
use crate::workspace::{Features, Profile, Workspace};
use crate::{process, table::Table};

#[derive(clap::Args)]
pub(super) struct SearchOptions {
    /// The folder of the scorer of searches and its sets, relative to the workspace
    #[arg(long, value_name = "FOLDER", default_value = "../shared/bench-search")]
    search_dir: PathBuf,
    /// Measure too whether the weights of searches carry over to sets that did not choose them
    #[arg(long)]
    cross: bool,
}

impl SearchOptions {
    /// Returns the folder of the scorer and its sets.
    pub(super) fn folder(&self) -> &Path {
        &self.search_dir
    }
}

/// Measures searches. The names of the figures that are missed.
pub(super) fn run(workspace: &Workspace, options: &SearchOptions, quick: bool) -> Result<Vec<String>> {
    process::require("python3", "the package `python3` of your system")?;
    let folder = workspace.root.join(&options.search_dir);
    let scorer = folder.join("score.py");
    ensure!(
        scorer.exists(),
        "there is no score.py in {}; name its folder with --search-dir",
        folder.display()
    );
    let rank = workspace.build_example("mgp-toolindex", "rank", Features::Default, Profile::Dist)?;
    let scale = workspace.build_example("mgp-toolindex", "scale", Features::Default, Profile::Dist)?;

    let two_steps = workspace.target.join("bench/search");
    two_steps::choose(&folder.join("sets").join(EVERYDAY), &two_steps.join(TWO_STEPS))?;
    let bench = Bench { scorer, two_steps, rank, scale, quick };
    let mut missed = bench.quality()?;
    if options.cross {
        bench.cross()?;
    }
    missed.extend(bench.growth()?);
    Ok(missed)
}

struct Bench {
    scorer: PathBuf,
    /// The folder of the set [`TWO_STEPS`].
    two_steps: PathBuf,
    rank: PathBuf,
    scale: PathBuf,
    quick: bool,
}

/// The scores of a set, or the means of all sets.
#[derive(Debug, Clone, Default, Deserialize)]
struct Score {
    #[serde(rename = "R@1")]
    recall_1: f64,
    #[serde(rename = "R@5")]
    recall_5: f64,
    #[serde(rename = "R@10")]
    recall_10: f64,
    #[serde(rename = "C@5")]
    complete_5: f64,
    #[serde(rename = "N@5")]
    ndcg_5: f64,
    #[serde(rename = "MRR")]
    mrr: f64,
}

type Scores = BTreeMap<String, Score>;

/// Hybrid search with the built-in table of words, and its two sides.
struct Fusion {
    hybrid: Scores,
    keyword: Scores,
    semantic: Scores,
}

/// The least R@5 and NDCG@5 of a hybrid search in the mean of eight sets.
const TARGETS: [f64; 2] = [0.685, 0.625];

/// The least R@5 and R@1 of a hybrid search for everyday questions.
const EVERYDAY_TARGETS: [f64; 2] = [0.62, 0.32];

impl Bench {
    /// Measures the quality of searches, set by set.
    fn quality(&self) -> Result<Vec<String>> {
        println!("scoring searches");
        let rivals = [
            ("BM25 of four fields, as Anthropic documents it", self.score("--as anthropic-bm25")?),
            ("BM25 with Ratel's settings", self.score("--as ratel")?),
        ];
        let fusion = Fusion {
            hybrid: self.score("--strategy hybrid")?,
            keyword: self.score("--strategy keyword")?,
            semantic: self.score("--strategy semantic")?,
        };

        println!("\n{}", origin(COMMAND, self.quick)?);
        let mut table =
            Table::new(["search", "R@1", "R@5", "R@10", "C@5", "NDCG@5", "MRR", "target", "verdict"]);
        let mut missed = Vec::new();
        for (name, scores) in &rivals {
            table.row(row(name, mean(scores)?, None).0);
        }
        table.row(row("keyword only", mean(&fusion.keyword)?, None).0);
        table.row(row("semantic only", mean(&fusion.semantic)?, None).0);
        let (cells, met) = row("hybrid", mean(&fusion.hybrid)?, Some(TARGETS));
        table.row(cells);
        if !met {
            missed.push("hybrid".to_owned());
        }
        println!("{table}\nThe mean of eight sets; R@5 and NDCG@5 have targets.\n");
        missed.extend(fusion.everyday(&rivals)?);
        missed.extend(fusion.by_set(&rivals)?);
        Ok(missed)
    }

    /// Lets the scorer run the example with these arguments, on the eight sets and on everyday questions.
    fn score(&self, arguments: &str) -> Result<Scores> {
        let mut scores = self.score_sets(arguments, &[])?;
        let everyday = self.score_sets(arguments, &["--sets", EVERYDAY])?;
        scores.extend(everyday.into_iter().filter(|(set, _)| set == EVERYDAY));
        let root = self.two_steps.display().to_string();
        let two_steps = self.score_sets(arguments, &["--root", &root, "--sets", TWO_STEPS])?;
        scores.extend(two_steps.into_iter().filter(|(set, _)| set == TWO_STEPS));
        Ok(scores)
    }

    fn score_sets(&self, arguments: &str, sets: &[&str]) -> Result<Scores> {
        let rank = self.rank.display();
        let command = format!("{rank} --tools {{tools}} --queries {{queries}} --top 20 {arguments}");
        let mut python = Command::new("python3");
        python.arg(&self.scorer).args(["--json", "--cmd", &command]).args(sets);
        if self.quick {
            python.args(["--cap", "50"]);
        }
        serde_json::from_str(&process::output(&mut python)?).context("the scorer printed no scores")
    }
}

impl Fusion {
    /// Prints how everyday questions fare.
    fn everyday(&self, rivals: &[(&str, Scores)]) -> Result<Vec<String>> {
        let of =
            |scores: &Scores| scores.get(EVERYDAY).cloned().context("everyday questions were not scored");
        let with_two_steps = |cells: [String; 9], scores: &Scores| {
            let two_steps = scores.get(TWO_STEPS).context("the questions with two steps were not scored")?;
            let [name, one, five, ten, complete, ndcg, mrr, target, verdict] = cells;
            let two_steps = format!("{:.3}", two_steps.complete_5);
            anyhow::Ok([name, one, five, ten, complete, two_steps, ndcg, mrr, target, verdict])
        };
        let mut table = Table::new([
            "search", "R@1", "R@5", "R@10", "C@5", "C@5, two steps", "NDCG@5", "MRR", "target", "verdict",
        ]);
        let sides = [("keyword only", &self.keyword), ("semantic only", &self.semantic)];
        for (name, scores) in rivals.iter().map(|(name, scores)| (*name, scores)).chain(sides) {
            table.row(with_two_steps(row(name, &of(scores)?, None).0, scores)?);
        }
        let scores = of(&self.hybrid)?;
        let (mut cells, _) = row("hybrid", &scores, None);
        let [recall_5, recall_1] = EVERYDAY_TARGETS;
        let met = scores.recall_5 >= recall_5 && scores.recall_1 >= recall_1;
        cells[7] = format!("R@5 ≥ {recall_5}, R@1 ≥ {recall_1}");
        cells[8] = verdict(met);
        table.row(with_two_steps(cells, &self.hybrid)?);
        println!(
            "{table}\nEveryday questions, the set {EVERYDAY}; R@5 and R@1 have targets. Two steps: those that need two tools.\n"
        );
        Ok(if met { Vec::new() } else { vec!["hybrid, everyday questions".to_owned()] })
    }

    /// The R@5 of each set, and what hybrid search loses to the better of its sides.
    fn by_set(&self, rivals: &[(&str, Scores); 2]) -> Result<Vec<String>> {
        let mut table = Table::new([
            "R@5", "Anthropic", "Ratel", "keyword", "semantic", "hybrid", "beside the better side", "target",
            "verdict",
        ]);
        let mut missed = Vec::new();
        for (set, hybrid) in self.hybrid.iter().filter(|(set, _)| *set != MEAN && *set != TWO_STEPS) {
            let of =
                |scores: &Scores| scores.get(set).map(|score| score.recall_5).context("a set was not scored");
            let [anthropic, ratel] = [of(&rivals[0].1)?, of(&rivals[1].1)?];
            let [keyword, semantic] = [of(&self.keyword)?, of(&self.semantic)?];
            let gain = hybrid.recall_5 - keyword.max(semantic);
            let met = gain >= -POINT;
            if !met {
                missed.push(format!("{set}: hybrid beside the better side"));
            }
            let shares =
                [anthropic, ratel, keyword, semantic, hybrid.recall_5].map(|share| format!("{share:.3}"));
            let [anthropic, ratel, keyword, semantic, hybrid] = shares;
            let (gain, target) = (format!("{gain:+.3}"), format!("≥ -{POINT}"));
            let verdict = verdict(met);
            table.row([set.clone(), anthropic, ratel, keyword, semantic, hybrid, gain, target, verdict]);
        }
        println!("{table}");
        Ok(missed)
    }
}

fn row(name: &str, score: &Score, targets: Option<[f64; 2]>) -> ([String; 9], bool) {
    let Score { recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr } = score;
    let met = targets.is_none_or(|[recall, ndcg]| *recall_5 >= recall && *ndcg_5 >= ndcg);
    let shares = [recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr].map(|share| format!("{share:.3}"));
    let [one, five, ten, complete, ndcg, mrr] = shares;
    let target = targets.map(|[recall, ndcg]| format!("≥ {recall}, ≥ {ndcg}"));
    let verdict = if target.is_some() { verdict(met) } else { String::new() };
    ([name.to_owned(), one, five, ten, complete, ndcg, mrr, target.unwrap_or_default(), verdict], met)
}

fn mean(scores: &Scores) -> Result<&Score> {
    scores.get(MEAN).context("the scorer gave no mean")
}

fn verdict(met: bool) -> String {
    if met { "ok" } else { "MISSED" }.to_owned()
}

const COMMAND: &str = "cargo xtask bench --only search";

const MEAN: &str = "MACRO";

/// The set of everyday questions about servers that people run.
const EVERYDAY: &str = "real-servers";

/// Those of the everyday questions that need two tools.
const TWO_STEPS: &str = "two-steps";

/// The largest amount by which hybrid search may be worse in a set than the better of its sides.
const POINT: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scores_are_understood_and_held_against_targets() {
        let printed =
            r#"{"MACRO": {"R@1": 0.3, "R@5": 0.66, "R@10": 0.7, "C@5": 0.5, "N@5": 0.58, "MRR": 0.6}}"#;
        let scores: Scores = serde_json::from_str(printed).unwrap();
        let (cells, met) = row("hybrid", mean(&scores).unwrap(), Some([0.655, 0.585]));
        assert!(!met);
        assert_eq!(cells[2], "0.660");
        assert_eq!(cells[7..], ["≥ 0.655, ≥ 0.585", "MISSED"]);
        assert!(row("hybrid", mean(&scores).unwrap(), Some([0.655, 0.58])).1);
        assert!(mean(&Scores::new()).is_err());
    }
}
