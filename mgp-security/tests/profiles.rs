//! Tools of `testdata/servers`: whether honest ones are held back, and whether what they are is understood.
//!
//! `cargo test -p mgp-security --all-features --test profiles -- --nocapture` prints the counts.

#![cfg(all(feature = "validate", feature = "code-safety"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use mgp_security::definition::{DefinitionKind, is_flag, judge_definition};
use mgp_security::tool::Profile;
use mgp_types::Object;
use mgp_types::mgp::RiskLevel;
use serde::Deserialize;

#[derive(Deserialize)]
struct Tool {
    id: String,
    tool: Object,
}

#[derive(Deserialize)]
struct Label {
    id: String,
    permissions: BTreeSet<String>,
    risk: RiskLevel,
    arguments: BTreeMap<String, String>,
    #[serde(default)]
    unsure: bool,
}

/// What was found, and what the labels say: in both, in ours only, in the labels only.
#[derive(Default)]
struct Count {
    both: usize,
    ours: usize,
    labels: usize,
}

impl Count {
    fn add(&mut self, ours: &BTreeSet<String>, labels: &BTreeSet<String>) {
        self.both += ours.intersection(labels).count();
        self.ours += ours.difference(labels).count();
        self.labels += labels.difference(ours).count();
    }
}

/// Natures that decide what an argument is checked for.
const CHECKED: [&str; 6] = ["path", "url", "host", "command", "code", "sql"];

/// What was reached: what is not as the labels say, at most. Rules that do worse do not pass.
const RISKS_WRONG: usize = 1;
const FLAGGED: usize = 2;

#[test]
fn honest_tools_are_let_pass_and_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/servers");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let tools: BTreeMap<String, Object> = read("tools.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Tool>(line).unwrap())
        .map(|row| (row.id, row.tool))
        .collect();
    let (mut permissions, mut natures) = (Count::default(), Count::default());
    let (mut scored, mut risks_wrong, mut flagged, mut held) = (0, Vec::new(), Vec::new(), Vec::new());
    for line in read("labels.jsonl").lines() {
        let label: Label = serde_json::from_str(line).unwrap();
        let tool = &tools[&label.id];
        for finding in judge_definition(DefinitionKind::Tool, tool) {
            let findings = if is_flag(finding.rule) { &mut flagged } else { &mut held };
            findings.push(format!("{}: {finding}", label.id));
        }
        if label.unsure {
            continue;
        }
        scored += 1;
        let profile = Profile::of(tool);
        permissions.add(&profile.permissions.iter().map(ToString::to_string).collect(), &label.permissions);
        let known = profile.arguments.iter().filter(|(_, nature)| CHECKED.contains(nature));
        let known = known.map(|(name, nature)| format!("{name}: {nature}")).collect();
        let wanted = label.arguments.iter().map(|(name, nature)| format!("{name}: {nature}")).collect();
        natures.add(&known, &wanted);
        if profile.risk != label.risk {
            risks_wrong.push(format!("{}: {:?}", label.id, profile.risk));
        }
    }
    println!("{} tools, {scored} scored", tools.len());
    for (name, count) in [("permissions", &permissions), ("natures", &natures)] {
        println!("{name:12} right {:3}, too much {:2}, lacking {:2}", count.both, count.ours, count.labels);
    }
    println!("risks wrong {}, flagged {}, held {}", risks_wrong.len(), flagged.len(), held.len());
    assert!(held.is_empty(), "{held:#?}");
    assert!(flagged.len() <= FLAGGED, "{flagged:#?}");
    assert!(risks_wrong.len() <= RISKS_WRONG, "{risks_wrong:#?}");
    assert_eq!(permissions.ours + permissions.labels, 0, "permissions are worse than they were");
    assert_eq!(natures.ours + natures.labels, 0, "natures are worse than they were");
}
