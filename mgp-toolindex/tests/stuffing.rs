//! How far a malicious server gets with tools that are written to be found, whatever is asked.
//!
//! ```sh
//! cargo test -p mgp-toolindex --test stuffing -- --nocapture
//! ```
//! prints, for each attack, how often it succeeds: of all questions whose right tool stands among the first five
//! without it, the share where it takes the first rank from the right tool, or the right tool is no longer among the
//! first five.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod set;

use std::collections::BTreeMap;

use mgp_toolindex::{Index, Search};

use self::attacks::{Attack, Kind};
use self::set::Set;

/// How often attacks of a kind may succeed at the most.
///
/// What says the same as an honest tool fits as well, and search cannot tell which of them is honest: a copy may take
/// the first rank, but has to leave the honest tool among the first five.
const MOST: [(Kind, Outcome, f64); 3] = [
    (Kind::Stuffed, Outcome::Any, 0.002),
    (Kind::Copied, Outcome::PushedOut, 0.005),
    (Kind::Crowding, Outcome::PushedOut, 0.01),
];

/// Any single attack with one tool may succeed as often.
const MOST_OF_ONE: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Any,
    PushedOut,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    questions: u32,
    overtaken: u32,
    pushed_out: u32,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.questions += other.questions;
        self.overtaken += other.overtaken;
        self.pushed_out += other.pushed_out;
    }

    fn rate(self, outcome: Outcome) -> f64 {
        let successes = match outcome {
            Outcome::Any => self.overtaken + self.pushed_out,
            Outcome::PushedOut => self.pushed_out,
        };
        f64::from(successes) / f64::from(self.questions.max(1))
    }
}

/// The ids of the first five tools for each question.
async fn first_five(index: &Index, set: &Set) -> Vec<Vec<String>> {
    let mut answers = Vec::new();
    for question in &set.questions {
        let found = index.search(&Search::new(&question.text)).await;
        answers.push(found.hits.iter().map(|hit| hit.tool.id()).collect());
    }
    answers
}

/// The right tool that stands foremost, and its rank.
fn right(answer: &[String], needs: &[Vec<String>]) -> Option<usize> {
    answer.iter().position(|tool| needs.iter().any(|need| need.contains(tool)))
}

fn count(set: &Set, without: &[Vec<String>], with: &[Vec<String>], attacker: &str) -> Count {
    let mut count = Count::default();
    for ((question, before), after) in set.questions.iter().zip(without).zip(with) {
        let Some(rank) = right(before, &question.needs) else { continue };
        count.questions += 1;
        let first_is_attacker = after.first().is_some_and(|tool| tool.starts_with(attacker));
        if right(after, &question.needs).is_none() {
            count.pushed_out += 1;
        } else if rank == 0 && first_is_attacker {
            count.overtaken += 1;
        }
    }
    count
}

#[tokio::test]
async fn tools_that_are_written_to_be_found_do_not_rise_above_honest_ones() {
    let set = Set::english();
    let without = first_five(&set.index().await, &set).await;
    let mut kinds: BTreeMap<Kind, Count> = BTreeMap::new();
    let mut worst: Vec<String> = Vec::new();
    println!("{:40} {:>9} {:>9} {:>10}", "attack", "questions", "overtaken", "pushed out");
    for Attack { name, kind, server } in attacks::on(&set, &*set::embedder().await) {
        let attacker = server.server.id.to_string();
        let index = set.index().await;
        index.put_server(server).await;
        index.settled().await;
        let count = count(&set, &without, &first_five(&index, &set).await, &attacker);
        println!("{name:40} {:9} {:9} {:10}", count.questions, count.overtaken, count.pushed_out);
        if kind == Kind::Stuffed && count.rate(Outcome::Any) > MOST_OF_ONE {
            worst.push(name.to_owned());
        }
        kinds.entry(kind).or_default().add(count);
    }
    for (kind, count) in &kinds {
        let (any, out) = (count.rate(Outcome::Any), count.rate(Outcome::PushedOut));
        println!("{kind:?}: {any:.4} succeed, {out:.4} push the right tool out");
    }
    for (kind, outcome, most) in MOST {
        let rate = kinds[&kind].rate(outcome);
        assert!(rate <= most, "{kind:?}: {rate:.4} succeed ({outcome:?})");
    }
    assert!(worst.is_empty(), "too often: {}", worst.join(", "));
    assert!(kinds.values().next().is_some_and(|count| count.questions > 1000), "too little was tried");
}

#[tokio::test]
async fn a_verbatim_copy_stands_beside_the_honest_tool_and_not_above_others() {
    let set = Set::english();
    let index = set.index().await;
    let original = &set.tools[0];
    let copy = serde_json::json!({
        "name": original["name"], "description": original["description"], "inputSchema": original["inputSchema"],
    });
    let copy = set::listing(&copy);
    index.put_server(mgp_toolindex::ServerTools::new("helpful", vec![copy])).await;
    index.settled().await;
    let text = original["description"].as_str().unwrap();
    let found = index.search(&Search::new(text)).await;
    let ids: Vec<_> = found.hits.iter().map(|hit| hit.tool.id()).collect();
    let honest = original["id"].as_str().unwrap();
    assert!(ids[..2].iter().any(|id| id == honest), "{ids:?}");
}
