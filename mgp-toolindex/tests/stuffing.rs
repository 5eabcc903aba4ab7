//! Attacks by a malicious server whose tools are written to be found, whatever the query is.
//!
//! ```sh
//! cargo test -p mgp-toolindex --test stuffing -- --nocapture
//! ```
//!
//! prints, for each attack, how often it succeeds: of all questions whose right tool stands among the first five
//! without it, the share where a tool of the attacker takes the first rank from the right tool, or a place among the
//! first five while the right tool is no longer among them. (Any further tool, an honest one too, makes words a little
//! rarer, and so turns round what stood close together; that is no success of the attacker.)
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod set;

use std::collections::BTreeMap;

use mgp_toolindex::{Index, Search};

use self::attacks::{Attack, Kind};
use self::set::Set;
use self::set::evaluation::EvalQuestion;

/// The success rate of attacks of one kind at most.
struct Bound {
    kind: Kind,
    /// The ranks within which the right tool has to stand without the attack, to have to stay among the first five.
    within: usize,
    /// Set if the attacker's taking the first rank counts, too.
    counts_overtaking: bool,
    most: f64,
}

/// The bounds for each kind of attack. A tool that says the same as an honest one may be honest, too, such as a second
/// account of one service. So it gives way to the tool that was there before it, but where it has a word of the request
/// more, it stands beside that one. If all tools have such a copy, the fourth tool may come to stand behind the fifth,
/// which is not counted. Many listed tools of which one takes the first rank are not counted either, as any fitting
/// tool may: they must not push others out.
const BOUNDS: [Bound; 3] = [
    Bound { kind: Kind::Stuffed, within: 5, counts_overtaking: true, most: 0.002 },
    Bound { kind: Kind::Copied, within: 3, counts_overtaking: true, most: 0.005 },
    Bound { kind: Kind::Crowding, within: 5, counts_overtaking: false, most: 0.01 },
];

/// The success rate of any single attack with one tool at most: one success among the questions that are tried.
const MAX_OF_ONE: f64 = 0.025;

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    questions: u32,
    overtaken: u32,
    /// The number of right tools that were pushed out, by their rank.
    pushed_out: [u32; 5],
}

impl Count {
    /// Counts a question with its answers without the attack and with it.
    fn question(&mut self, question: &EvalQuestion, before: &[String], after: &[String], attacker: &str) {
        let Some(rank) = right(before, &question.needs) else { return };
        let by_attacker = |tool: &String| tool.starts_with(attacker);
        self.questions += 1;
        if right(after, &question.needs).is_none() {
            self.pushed_out[rank] += u32::from(after.iter().any(by_attacker));
        } else if rank == 0 && after.first().is_some_and(by_attacker) {
            self.overtaken += 1;
        }
    }

    fn add(&mut self, other: Self) {
        self.questions += other.questions;
        self.overtaken += other.overtaken;
        self.pushed_out.iter_mut().zip(other.pushed_out).for_each(|(sum, count)| *sum += count);
    }

    fn pushed_out(&self, within: usize) -> u32 {
        self.pushed_out[..within].iter().sum()
    }

    /// Returns the share of questions for which the attack succeeds.
    fn rate(&self, bound: &Bound) -> f64 {
        let overtaken = if bound.counts_overtaking { self.overtaken } else { 0 };
        f64::from(overtaken + self.pushed_out(bound.within)) / f64::from(self.questions.max(1))
    }
}

/// Returns the ids of the first five tools for a question.
async fn first_five(index: &Index, question: &EvalQuestion) -> Vec<String> {
    let found = index.search(&Search::new(&question.text)).await;
    found.hits.iter().map(|hit| hit.tool.id()).collect()
}

/// Returns the right tool that stands foremost, and its rank.
fn right(answer: &[String], needs: &[Vec<String>]) -> Option<usize> {
    answer.iter().position(|tool| needs.iter().any(|need| need.contains(tool)))
}

#[tokio::test]
async fn tools_that_are_written_to_be_found_do_not_rise_above_honest_ones() {
    let set = Set::english();
    let (index, mut without) = (set.index().await, Vec::new());
    for question in &set.questions {
        without.push((question, first_five(&index, question).await));
    }
    let mut kinds: BTreeMap<Kind, Count> = BTreeMap::new();
    let mut too_often: Vec<String> = Vec::new();
    println!("{:40} {:>9} {:>9} {:>10}  by rank", "attack", "questions", "overtaken", "pushed out");
    let attacks = attacks::on(&set, &*set::embedder().await);
    for (number, Attack { name, kind, server }) in attacks.into_iter().enumerate() {
        let attacker = server.server.id.to_string();
        let index = set.index().await;
        index.put_server(server).await;
        index.embedded().await;
        // There are many attacks with one tool, which do little: each is tried with a part of the questions.
        let asked: Vec<_> = match kind {
            Kind::Stuffed => without.iter().skip(number % 3).step_by(3).collect(),
            Kind::Copied | Kind::Crowding => without.iter().collect(),
        };
        let mut count = Count::default();
        for (question, before) in asked {
            count.question(question, before, &first_five(&index, question).await, &attacker);
        }
        let (overtaken, out) = (count.overtaken, count.pushed_out(5));
        println!("{name:40} {:9} {overtaken:9} {out:10}  {:?}", count.questions, count.pushed_out);
        if kind == Kind::Stuffed && count.rate(&BOUNDS[0]) > MAX_OF_ONE {
            too_often.push(name.to_owned());
        }
        kinds.entry(kind).or_default().add(count);
    }
    for bound in &BOUNDS {
        let rate = kinds[&bound.kind].rate(bound);
        println!("{:?}: {rate:.4} succeed, at most {}", bound.kind, bound.most);
        if rate > bound.most {
            too_often.push(format!("{:?}", bound.kind));
        }
    }
    assert!(kinds[&Kind::Stuffed].questions > 1000, "too little was tried");
    assert!(too_often.is_empty(), "too often: {}", too_often.join(", "));
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
