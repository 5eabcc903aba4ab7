//! The questions of a set that need two tools, as a set of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
struct Question {
    id: String,
}

/// Writes a set to the folder `to`: the tools of the set `from`, and those of its questions that need two tools.
pub(super) fn choose(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let read = |name: &str| {
        let file = from.join(name);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let needed = read("qrels.dev.tsv")?;
    let several = with_several_needs(&needed);
    let mut questions = String::new();
    for line in read("queries.dev.jsonl")?.lines() {
        if several.contains(serde_json::from_str::<Question>(line)?.id.as_str()) {
            questions.push_str(line);
            questions.push('\n');
        }
    }
    fs::write(to.join("queries.dev.jsonl"), questions)?;
    fs::write(to.join("qrels.dev.tsv"), &needed)?;
    fs::write(to.join("tools.jsonl"), read("tools.jsonl")?)?;
    Ok(())
}

/// Returns the ids of the questions with more than one slot; tools of one slot do the same.
fn with_several_needs(needed: &str) -> BTreeSet<&str> {
    let mut slots: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in needed.lines().skip(1) {
        if let [question, _, _, slot] = line.split('\t').collect::<Vec<_>>()[..] {
            slots.entry(question).or_default().insert(slot);
        }
    }
    slots.into_iter().filter(|(_, slots)| slots.len() > 1).map(|(question, _)| question).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tools_that_do_the_same_are_one_need() {
        let needed = "query-id\tcorpus-id\tscore\tslot\nq1\ta\t1\t0\nq1\tb\t1\t0\nq2\ta\t1\t0\nq2\tb\t1\t1\n";
        assert_eq!(with_several_needs(needed), ["q2"].into());
    }
}
