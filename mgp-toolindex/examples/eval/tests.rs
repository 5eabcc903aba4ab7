//! Tests of the figures: those of one question, the chance in their differences, and a whole evaluation.

mod chance {
    use crate::evaluation::chance::{interval, sign_test};

    #[test]
    fn even_games_are_chance_and_uneven_ones_are_not() {
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-12);
        assert!((sign_test(5, 5) - 1.0).abs() < 1e-12);
        assert!((sign_test(1, 0) - 1.0).abs() < 1e-12);
        assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-9);
        assert!((sign_test(1, 9) - 22.0 / 1024.0).abs() < 1e-9);
        assert!(sign_test(40_000, 60_000) < 1e-9);
        assert!(sign_test(50_000, 50_100) > 0.5);
    }

    #[test]
    fn the_interval_holds_the_mean_and_narrows() {
        let few = [0.0, 1.0, 0.0, 1.0];
        let many: Vec<f64> = few.iter().copied().cycle().take(400).collect();
        let ((low, high), (lower, higher)) = (interval(&many), interval(&few));
        assert!(lower < low && low < 0.5 && 0.5 < high && high < higher);
        assert_eq!(interval(&many), interval(&many));
        assert_eq!(interval(&[]), (0.0, 0.0));
        assert_eq!(interval(&[0.25; 3]), (0.25, 0.25));
    }
}

mod quality {
    use crate::evaluation::{Measure, Quality};

    fn judged(ranking: &str, needs: &str) -> Quality {
        let names = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        Quality::of(&names(ranking), &needs.split('|').map(names).collect::<Vec<_>>())
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn the_right_tool_in_front_is_perfect() {
        let quality = judged("a b c", "a");
        for measure in Measure::ALL {
            assert_near(measure.of(&quality), 1.0);
        }
        let nothing = judged("", "a");
        for measure in Measure::ALL {
            assert_near(measure.of(&nothing), 0.0);
        }
    }

    #[test]
    fn each_need_counts_once_however_many_tools_meet_it() {
        let quality = judged("a a2 x y z b", "a a2|b");
        assert_near(quality.recall_1, 0.5);
        assert_near(quality.recall_5, 0.5);
        assert_near(quality.recall_10, 1.0);
        assert_near(quality.complete_5, 0.0);
        assert_near(quality.ndcg_5, 1.0 / (1.0 + 1.0 / 3.0_f64.log2()));
    }

    #[test]
    fn a_tool_of_two_needs_meets_one() {
        let quality = judged("a x", "a b|a c");
        assert_near(quality.recall_5, 0.5);
    }

    #[test]
    fn a_tool_further_back_is_worth_less() {
        let quality = judged("x y a", "a");
        assert_near(quality.ndcg_5, 0.5);
        assert_near(quality.mrr, 1.0 / 3.0);
        assert_near(quality.recall_1, 0.0);
    }

    #[test]
    fn the_mean_is_that_of_each_figure() {
        let mean = Quality::mean(&[judged("a", "a"), judged("x a", "a")]);
        assert_near(mean.recall_1, 0.5);
        assert_near(mean.mrr, 0.75);
        assert_eq!(Quality::mean(&[]), Quality::default());
    }
}

mod question {
    use std::io;

    use crate::evaluation::EvalQuestion;
    use crate::evaluation::question::QuestionError;

    fn read(lines: &str) -> Result<Vec<EvalQuestion>, QuestionError> {
        EvalQuestion::read_all(lines.as_bytes())
    }

    #[test]
    fn questions_are_read_line_by_line() {
        let lines = "{\"id\":\"a\",\"text\":\"x\",\"needs\":[[\"s.t\"]]}\n\n{\"id\":\"b\",\"text\":\"y\",\"needs\":[[\"s.t\",\"s.u\"],[\"s.v\"]]}";
        let questions = read(lines).unwrap();
        assert_eq!(questions.len(), 2);
        assert_eq!(questions[0], EvalQuestion::new("a", "x", vec![vec!["s.t".into()]]));
        assert_eq!(questions[1].needs[0], ["s.t", "s.u"]);
    }

    #[test]
    fn an_error_names_the_line() {
        let good = "{\"id\":\"a\",\"text\":\"x\",\"needs\":[[\"s.t\"]]}\n";
        let error = read(&format!("{good}\nnonsense\n")).unwrap_err();
        assert!(error.to_string().starts_with("line 3 "), "{error}");
        let error = read(&format!("{good}{{\"id\":\"a\",\"text\":\"x\",\"needs\":[]}}")).unwrap_err();
        assert!(matches!(error, QuestionError::NeedsNothing { line: 2 }));
        let error = read("{\"id\":\"a\",\"text\":\"x\",\"needs\":[[\"s.t\"],[]]}").unwrap_err();
        assert!(matches!(error, QuestionError::NeedsNothing { line: 1 }));
        let error = EvalQuestion::read_all(&b"{\"id\":\"\xff\"}"[..]).unwrap_err();
        assert!(matches!(error, QuestionError::Malformed { line: 1, .. }));
    }

    #[test]
    fn a_line_without_an_end_is_not_read_into_memory() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        assert!(matches!(
            EvalQuestion::read_all(endless).unwrap_err(),
            QuestionError::TooLong { line: 1, .. }
        ));
        let empty = io::BufReader::new(&b""[..]);
        assert!(EvalQuestion::read_all(empty).unwrap().is_empty());
    }
}

mod report {
    use mgp_types::mgp::SearchStrategy;

    use crate::evaluation::{Latency, Quality, QuestionResult, Report};

    #[test]
    fn latencies_are_of_shares() {
        assert_eq!(Latency::of((1..=200).rev().collect()), Latency { p50: 100, p95: 190, p99: 198 });
        assert_eq!(Latency::of(vec![7]), Latency { p50: 7, p95: 7, p99: 7 });
        assert_eq!(Latency::of(vec![]), Latency::default());
    }

    #[test]
    fn a_report_reads_as_a_table_and_survives_json() {
        let mut report = Report::new("words", SearchStrategy::Keyword);
        report.answers.push(QuestionResult {
            question: "q".into(),
            quality: Quality::of(&["a".into()], &[vec!["a".into()]]),
            tokens: 90,
            micros: 12,
            first: vec!["a".into()],
        });
        report.unknown.push("b".into());
        let report = report.finish();
        let table = report.to_string();
        assert!(table.starts_with("| settings | R@1   | R@5 "), "{table}");
        assert!(table.contains("| words    | 1.000 | 1.000 "), "{table}");
        assert!(table.ends_with("1 questions; the index does not have b\n"), "{table}");
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}

mod comparison {
    use mgp_types::mgp::SearchStrategy;

    use crate::evaluation::comparison::Verdict;
    use crate::evaluation::{Comparison, Measure, Quality, QuestionResult, Report};

    /// Returns a report in which the right tool stands at these ranks.
    fn report(name: &str, ranks: impl IntoIterator<Item = usize>) -> Report {
        let mut report = Report::new(name, SearchStrategy::Hybrid);
        for (number, rank) in ranks.into_iter().enumerate() {
            let mut ranking = vec!["wrong".to_owned(); rank];
            ranking.push("right".into());
            report.answers.push(QuestionResult {
                question: format!("q{number}"),
                quality: Quality::of(&ranking, &[vec!["right".into()]]),
                tokens: 0,
                micros: 0,
                first: Vec::new(),
            });
        }
        report.finish()
    }

    #[test]
    fn a_few_questions_more_may_be_chance() {
        let before = report("a", (0..40).map(|n| n % 4));
        let after = report("b", (0..40).map(|n| if n < 4 { 0 } else { n % 4 }));
        let comparison = Comparison::of(&before, &after);
        assert_eq!((comparison.wins.len(), comparison.losses.len(), comparison.ties), (3, 0, 37));
        assert_eq!(comparison.verdict, Verdict::MayBeChance);
        assert!(comparison.to_string().ends_with("b: what differs may be chance\n"));
    }

    #[test]
    fn many_questions_more_are_not_chance() {
        let (before, after) = (report("a", vec![2; 40]), report("b", (0..40).map(|n| n / 20)));
        let comparison = Comparison::of(&before, &after);
        assert_eq!(comparison.verdict, Verdict::Better);
        assert_eq!(Comparison::of(&after, &before).verdict, Verdict::Worse);
        let recall = comparison.changes[1];
        assert_eq!(recall.measure, Measure::Recall5);
        assert!((recall.before - 1.0).abs() < 1e-9 && (recall.after - 1.0).abs() < 1e-9);
        assert!(comparison.to_string().contains("and 20 more"));
    }

    #[test]
    fn only_questions_of_both_reports_are_compared() {
        let comparison = Comparison::of(&report("a", [0, 0, 0]), &report("b", [0, 1]));
        assert_eq!((comparison.ties, comparison.losses.len(), comparison.unpaired), (1, 1, 1));
        assert_eq!(comparison.losses, ["q1"]);
        let nothing = Comparison::of(&report("a", []), &report("b", []));
        assert_eq!(nothing.verdict, Verdict::MayBeChance);
    }
}

mod run {
    use std::sync::Arc;

    use mgp_toolindex::budget::TokenCounter;
    use mgp_toolindex::embed::StaticEmbedder;
    use mgp_toolindex::{Index, ServerTools, ToolListing};
    use mgp_types::RawJson;
    use mgp_types::mgp::SearchStrategy;
    use serde_json::json;

    use crate::evaluation::{EvalQuestion, Settings, evaluate};

    #[derive(Debug)]
    struct Seven;

    impl TokenCounter for Seven {
        fn count(&self, _text: &str) -> u32 {
            7
        }

        fn name(&self) -> &'static str {
            "seven"
        }
    }

    fn tool(name: &str, description: &str) -> ToolListing {
        ToolListing::read(&RawJson::from_value(&json!({ "name": name, "description": description })).unwrap())
            .unwrap()
    }

    #[tokio::test]
    async fn an_evaluation_reports_what_was_found_and_what_cannot_be() {
        let index = Index::new(Arc::new(StaticEmbedder::new()));
        let tools = vec![tool("read_file", "Open a document"), tool("write_file", "Store text")];
        index.put_server(ServerTools::new("fs", tools)).await;
        index.settled().await;
        let question =
            |id: &str, text: &str, tool: &str| EvalQuestion::new(id, text, vec![vec![tool.into()]]);
        let questions = [
            question("1", "open a document", "fs.read_file"),
            question("2", "giraffe", "fs.write_file"),
            question("3", "open", "fs.gone"),
        ];
        let settings = Settings::new("words").strategy(SearchStrategy::Keyword).tokens(&Seven).answer(1);
        let report = evaluate(&index, &questions, settings).await;
        assert_eq!(report.answers.len(), 3);
        assert_eq!(report.answers[0].first, ["fs.read_file"]);
        assert_eq!((report.answers[0].tokens, report.answers[1].tokens), (7, 0));
        assert_eq!(report.unknown, ["fs.gone"]);
        assert!((report.quality.recall_5 - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(report.fallback, None);
    }
}
