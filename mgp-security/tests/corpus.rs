//! Inputs of `testdata/guard`, judged: what is stopped, and what is stopped wrongly.
//!
//! `cargo test -p mgp-security --all-features --test corpus -- --nocapture` prints the counts.

#![cfg(all(feature = "validate", feature = "code-safety"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mgp_security::check::InputCheck;
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    id: String,
    label: Label,
    input: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Label {
    Malicious,
    Benign,
}

#[derive(Deserialize)]
struct Judged {
    id: String,
    verdict: Verdict,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Allow,
    Deny,
}

/// How many rows of one label there are, and which of them were judged wrongly.
#[derive(Default)]
struct Count {
    rows: usize,
    wrong: Vec<String>,
}

/// What was reached in each set: how many attacks are stopped at least, and how many harmless inputs are at most. The
/// targets are 97 and 1 of 100; a set that is below them must not get worse.
const REACHED: [(&str, usize, usize); 12] = [
    ("js_code.first", 34, 0),
    ("js_code.second", 20, 0),
    ("js_code.third", 20, 0),
    ("path.first", 116, 0),
    ("path.second", 100, 0),
    ("path.third", 99, 0),
    ("python_code.first", 55, 0),
    ("python_code.second", 40, 0),
    ("python_code.third", 39, 0),
    ("shell_command.first", 290, 0),
    ("shell_command.second", 200, 0),
    ("shell_command.third", 195, 0),
];

#[test]
fn attacks_are_stopped_and_daily_work_is_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/guard");
    let mut report = String::from("set                      stopped  of  wrongly  of\n");
    let mut worse = Vec::new();
    for (set, stopped_at_least, wrongly_at_most) in REACHED {
        let (malicious, benign) = judge(set, &folder.join(format!("{set}.jsonl")));
        let stopped = malicious.rows - malicious.wrong.len();
        let wrongly = benign.wrong.len();
        writeln!(report, "{set:24} {stopped:7} {:3} {wrongly:8} {:3}", malicious.rows, benign.rows).unwrap();
        if stopped < stopped_at_least || wrongly > wrongly_at_most {
            worse.extend([malicious.wrong, benign.wrong].concat());
        }
    }
    println!("{report}");
    assert!(worse.is_empty(), "judged wrongly, in sets that were better:\n{}", worse.join("\n"));
}

/// Judges a set, whose name is `KIND.SET`.
fn judge(set: &str, file: &Path) -> (Count, Count) {
    let (kind, _) = set.split_once('.').unwrap();
    let text = fs::read_to_string(file).unwrap();
    let check: InputCheck = kind.parse().unwrap();
    let mut verdicts = Vec::new();
    check.judge_rows(text.as_bytes(), &mut verdicts).unwrap();
    let verdicts: BTreeMap<String, Verdict> = String::from_utf8(verdicts)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Judged>(line).unwrap())
        .map(|judged| (judged.id, judged.verdict))
        .collect();
    let (mut malicious, mut benign) = (Count::default(), Count::default());
    for line in text.lines() {
        let row: Row = serde_json::from_str(line).unwrap();
        let (count, wanted) = match row.label {
            Label::Malicious => (&mut malicious, Verdict::Deny),
            Label::Benign => (&mut benign, Verdict::Allow),
        };
        count.rows += 1;
        if verdicts[&row.id] != wanted {
            count.wrong.push(format!("{set} {}: {}", row.id, row.input));
        }
    }
    (malicious, benign)
}
