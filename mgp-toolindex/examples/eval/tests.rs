//! Tests of the figures: those of one question, the chance in their differences, and a whole evaluation.

use std::sync::Arc;

use mgp_toolindex::embed::StaticEmbedder;
use mgp_toolindex::rows::read_rows;
use mgp_toolindex::{Index, ServerTools, ToolListing};
use mgp_types::RawJson;
use mgp_types::mgp::SearchStrategy;
use serde_json::json;

use crate::evaluation::comparison::sign_test;
use crate::evaluation::{Comparison, EvalQuestion, Latency, Quality, QuestionResult, Report, evaluate};

#[test]
fn even_games_are_chance_and_uneven_ones_are_not() {
    for (wins, losses, chance) in
        [(0, 0, 1.0), (5, 5, 1.0), (1, 0, 1.0), (9, 1, 22.0 / 1024.0), (1, 9, 22.0 / 1024.0)]
    {
        assert_near(sign_test(wins, losses), chance);
    }
    assert!(sign_test(40_000, 60_000) < 1e-9);
    assert!(sign_test(50_000, 50_100) > 0.5);
}

fn judged(ranking: &str, needs: &str) -> Quality {
    let names = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    Quality::of(&names(ranking), &needs.split('|').map(names).collect::<Vec<_>>())
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn rankings_are_judged_by_the_needs_that_their_first_tools_meet() {
    let second = 1.0 / 3.0_f64.log2();
    for (why, ranking, needs, expected) in [
        ("the right tool in front is perfect", "a b c", "a", [1.0; 6]),
        ("an empty ranking is worth nothing", "", "a", [0.0; 6]),
        (
            "each need counts once, however many tools meet it",
            "a a2 x y z b",
            "a a2|b",
            [0.5, 0.5, 1.0, 0.0, 1.0 / (1.0 + second), 1.0],
        ),
        ("a tool of two needs meets one", "a x", "a b|a c", [0.5, 0.5, 0.5, 0.0, 1.0 / (1.0 + second), 1.0]),
        ("a tool further back is worth less", "x y a", "a", [0.0, 1.0, 1.0, 1.0, 0.5, 1.0 / 3.0]),
    ] {
        for ((name, measure), expected) in judged(ranking, needs).measures().into_iter().zip(expected) {
            assert!((measure - expected).abs() < 1e-9, "{why}: {name} is {measure} and not {expected}");
        }
    }
    let mean = Quality::mean(&[judged("a", "a"), judged("x a", "a")]);
    assert_near(mean.recall_1, 0.5);
    assert_near(mean.mrr, 0.75);
    assert_eq!(Quality::mean(&[]), Quality::default());
}

#[test]
fn latencies_are_of_shares() {
    assert_eq!(Latency::of((1..=200).rev().collect()), Latency { p50: 100, p95: 190, p99: 198 });
    assert_eq!(Latency::of(vec![7]), Latency { p50: 7, p95: 7, p99: 7 });
    assert_eq!(Latency::of(vec![]), Latency::default());
}

/// Returns a report in which the right tool stands at these ranks.
fn report(name: &str, ranks: impl IntoIterator<Item = usize>) -> Report {
    let answer = |(number, rank): (usize, usize)| {
        let ranking = [vec!["wrong"; rank], vec!["right"]].concat().join(" ");
        let (question, quality) = (format!("q{number}"), judged(&ranking, "right"));
        QuestionResult { question, quality, tokens: 90, ..QuestionResult::default() }
    };
    Report::of(name, SearchStrategy::Keyword, ranks.into_iter().enumerate().map(answer).collect())
}

#[test]
fn a_report_reads_as_a_table_and_survives_json() {
    let report = Report { unknown: vec!["b".into()], ..report("words", [0]) };
    let table = report.to_string();
    assert!(table.starts_with("| settings | R@1   | R@5 "), "{table}");
    assert!(table.contains("| words    | 1.000 | 1.000 "), "{table}");
    assert!(table.ends_with("1 questions; the index does not have b\n"), "{table}");
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn what_differs_in_a_few_questions_may_be_chance_and_in_many_it_is_not() {
    let before = report("a", (0..40).map(|n| n % 4));
    let few = Comparison::of(&before, &report("b", (0..40).map(|n| if n < 4 { 0 } else { n % 4 })));
    assert_eq!((few.wins.len(), few.losses.len(), few.ties), (3, 0, 37));
    assert!(few.to_string().ends_with("b: what differs may be chance\n"));
    let (before, after) = (report("a", vec![2; 40]), report("b", (0..40).map(|n| n / 20)));
    let many = Comparison::of(&before, &after);
    assert_eq!(many.verdict(), "better, and hardly by chance");
    assert_eq!(Comparison::of(&after, &before).verdict(), "worse, and hardly by chance");
    many.quality.iter().for_each(|quality| assert_near(quality.recall_5, 1.0));
    assert!(many.to_string().contains("and 20 more"));
}

#[test]
fn only_questions_of_both_reports_are_compared() {
    let comparison = Comparison::of(&report("a", [0, 0, 0]), &report("b", [0, 1]));
    assert_eq!((comparison.ties, comparison.losses.len(), comparison.unpaired), (1, 1, 1));
    assert_eq!(comparison.losses, ["q1"]);
    let nothing = Comparison::of(&report("a", []), &report("b", []));
    assert_eq!(nothing.verdict(), "what differs may be chance");
}

#[test]
fn a_question_without_needs_is_refused_by_its_line() {
    let good = r#"{"id":"a","text":"x","needs":[["s.t"]]}"#;
    for needs in ["[]", r#"[["s.t"],[]]"#] {
        let lines = format!("{good}\n\n{}", good.replace(r#"[["s.t"]]"#, needs));
        let error = read_rows::<EvalQuestion>(lines.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 3: it needs nothing"), "{needs}: {error}");
    }
}

#[tokio::test]
async fn an_evaluation_reports_what_was_found_and_what_cannot_be() {
    let tools =
        [("read_file", "Open a document"), ("write_file", "Store text")].map(|(name, description)| {
            let definition = json!({ "name": name, "description": description });
            ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
        });
    let index = Index::new(Arc::new(StaticEmbedder::new()));
    index.put_server(ServerTools::new("fs", tools.into())).await;
    index.settled().await;
    let questions = r#"
        {"id":"1","text":"open a document","needs":[["fs.read_file"]]}
        {"id":"2","text":"giraffe","needs":[["fs.write_file"]]}

        {"id":"3","text":"open","needs":[["fs.gone"]]}"#;
    let questions: Vec<EvalQuestion> = read_rows(questions.as_bytes()).unwrap();
    let report = evaluate(&index, &questions, "words", SearchStrategy::Keyword, 1).await;
    assert_eq!(report.answers.len(), 3);
    assert_eq!(report.answers[0].first, ["fs.read_file"]);
    assert!(report.answers[0].tokens > 0 && report.answers[1].tokens == 0);
    assert_eq!(report.unknown, ["fs.gone"]);
    assert_near(report.quality.recall_5, 1.0 / 3.0);
    assert_eq!(report.fallback, None);
}
