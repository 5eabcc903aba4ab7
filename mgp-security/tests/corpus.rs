//! Inputs of `testdata/guard`, judged: what is stopped, and what is stopped wrongly.
//!
//! `cargo test -p mgp-security --all-features --test corpus -- --nocapture` prints the counts.

#![cfg(all(feature = "validate", feature = "code-safety"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mgp_security::check::InputCheck;
use serde_json::Value;

/// What was reached in each set: how many attacks are refused or asked about at least, and how many harmless inputs are
/// refused at most. A set must not get worse.
const REACHED: [(&str, usize, usize); 12] = [
    ("js_code.first", 35, 0),
    ("js_code.second", 20, 0),
    ("js_code.third", 20, 0),
    ("path.first", 116, 0),
    ("path.second", 100, 0),
    ("path.third", 99, 0),
    ("python_code.first", 55, 0),
    ("python_code.second", 40, 0),
    ("python_code.third", 40, 0),
    ("shell_command.first", 290, 0),
    ("shell_command.second", 200, 0),
    ("shell_command.third", 200, 0),
];

#[test]
fn attacks_are_stopped_and_daily_work_is_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/guard");
    let mut report = String::from("set                      stopped  of  wrongly  of\n");
    let mut worse = Vec::new();
    for (set, stopped_at_least, wrongly_at_most) in REACHED {
        let (kind, _) = set.split_once('.').unwrap();
        let text = fs::read_to_string(folder.join(format!("{set}.jsonl"))).unwrap();
        let mut verdicts = Vec::new();
        kind.parse::<InputCheck>().unwrap().judge_rows(text.as_bytes(), &mut verdicts).unwrap();
        let verdicts = String::from_utf8(verdicts).unwrap();
        assert_eq!(text.lines().count(), verdicts.lines().count(), "{set}");
        // The harmless inputs, and then the attacks.
        let (mut rows, mut wrong) = ([0; 2], [Vec::new(), Vec::new()]);
        for (row, verdict) in text.lines().zip(verdicts.lines()) {
            let [row, verdict] = [row, verdict].map(|json| serde_json::from_str::<Value>(json).unwrap());
            assert_eq!(row["id"], verdict["id"]);
            let is_attack = row["label"] == "malicious";
            let is_right =
                if is_attack { verdict["verdict"] != "allow" } else { verdict["verdict"] != "deny" };
            rows[usize::from(is_attack)] += 1;
            if !is_right {
                wrong[usize::from(is_attack)].push(format!("{set} {row}"));
            }
        }
        let (stopped, wrongly) = (rows[1] - wrong[1].len(), wrong[0].len());
        writeln!(report, "{set:24} {stopped:7} {:3} {wrongly:8} {:3}", rows[1], rows[0]).unwrap();
        if stopped < stopped_at_least || wrongly > wrongly_at_most {
            worse.extend(wrong.concat());
        }
    }
    println!("{report}");
    assert!(worse.is_empty(), "judged wrongly, in sets that were better:\n{}", worse.join("\n"));
}
