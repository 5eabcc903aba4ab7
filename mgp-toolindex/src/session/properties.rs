//! Property tests: the promises that hold in any order of events.

use mgp_types::RawJson;
use mgp_types::mgp::{EvictTools, FoundTool, ToolContextBudget};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::budget::{ListedDefinition, TokenCounter, TokenEstimator};
use crate::embed::NullEmbedder;
use crate::{Index, ServerTools, Snapshot, ToolListing};

/// An event of a session; tools are named by their positions in the index.
#[derive(Debug, Clone)]
enum Step {
    Use(usize),
    Load(Vec<usize>),
    Find(Vec<usize>),
    Evict(usize),
    /// Hides the tools whose position this number divides.
    Hide(usize),
    /// Changes to the tools of another time.
    Change(usize),
}

const TIMES: usize = 3;
const TOOLS: usize = 30;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tool = 0..TOOLS;
    let step = prop_oneof![
        6 => tool.clone().prop_map(Step::Use),
        2 => prop::collection::vec(tool.clone(), 0..8).prop_map(Step::Load),
        3 => prop::collection::vec(tool.clone(), 0..8).prop_map(Step::Find),
        1 => tool.prop_map(Step::Evict),
        1 => (2_usize..9).prop_map(Step::Hide),
        1 => (0_usize..TIMES).prop_map(Step::Change),
    ];
    prop::collection::vec(step, 1..60)
}

fn budget() -> impl Strategy<Value = ToolContextBudget> {
    (300_u32..4000, 0_u32..1500, 0_u32..1500, 0_u32..1500).prop_map(|(max, pinned, discovery, cache)| {
        let mut budget = ToolContextBudget::of(max);
        (budget.pinned_reserve, budget.discovery_reserve, budget.cache_limit) = (pinned, discovery, cache);
        budget
    })
}

fn name(tool: usize) -> String {
    format!("tool_{tool}")
}

/// Returns the tools at some times: some are missing, and some are longer than at others.
fn snapshots() -> Vec<Arc<Snapshot>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let index = Index::new(Arc::new(NullEmbedder));
        let mut all = Vec::new();
        for time in 0..TIMES {
            let there = (0..TOOLS).filter(|tool| (tool + time) % 11 != 0);
            let tools = there.map(|tool| {
                let words = "words and words ".repeat(tool * 3 + if tool % 3 == 0 { time * 5 } else { 0 });
                let definition = json!({
                    "name": name(tool), "description": "Does it",
                    "inputSchema": {
                        "type": "object", "required": ["a"],
                        "properties": { "a": { "type": "string" }, "b": { "description": words } },
                    },
                });
                ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
            });
            index.put_server(ServerTools::new("s", tools.collect())).await;
            index.settled().await;
            all.push(index.snapshot());
        }
        all
    })
}

fn number(tool: &Tool) -> usize {
    tool.name.as_str()[5..].parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // covers: MGP-16.8-01, MGP-16.8-06, MGP-16.8-07, MGP-16.8-08
    #[test]
    fn no_part_of_the_budget_is_exceeded_and_the_list_only_grows(
        budget in budget(),
        steps in steps(),
        pins in prop::collection::vec(0..TOOLS, 0..6),
    ) {
        let snapshots = snapshots();
        let tokens = TokenEstimator::new();
        let own = ListedDefinition::new("mgp.tools.discover", "Finds tools", &RawJson::empty_object(), &tokens);
        let settings = SessionSettings::new(budget, Arc::new(tokens))
            .pins(PinnedTools::new(pins.into_iter().map(name)))
            .meta_tools([&own]);
        let sessions = ToolSessions::new(settings).unwrap();
        let key = SessionKey::new("one", None);
        let (mut hidden, mut time) = (usize::MAX, 0);
        let mut before: Vec<String> = Vec::new();
        let mut pinned_before: Option<Vec<String>> = None;
        for step in steps {
            let sees = move |tool: &Tool| number(tool) == 0 || !number(tool).is_multiple_of(hidden);
            let snapshot = &snapshots[time];
            let view = ToolView::new(snapshot, &sees);
            let tools = |numbers: &[usize]| -> Vec<Arc<Tool>> {
                numbers.iter().filter_map(|n| snapshot.tool("s", &name(*n)).cloned()).collect()
            };
            let mut answer = 0;
            match &step {
                Step::Use(n) => {
                    for tool in tools(&[*n]) {
                        sessions.used(&key, &view, &tool);
                    }
                }
                Step::Load(numbers) => {
                    let (added, held) = sessions.with(&key, &view, |session, settings| {
                        let loaded = session.load(&view, settings, &tools(numbers));
                        let held = loaded.loaded.iter().all(|tool| session.held(tool).is_some());
                        (loaded.context_tokens_added, held)
                    });
                    prop_assert!(added <= u64::from(budget.discovery_reserve));
                    prop_assert!(held);
                }
                Step::Find(numbers) => {
                    let all = tools(numbers);
                    let found = all.iter().map(|tool| {
                        let schema = tool.members().get("inputSchema").unwrap();
                        FoundTool::new(tool.name.as_str(), tool.server.clone(), schema)
                    });
                    let fitted = sessions.with(&key, &view, |session, settings| session.fit(settings, found));
                    prop_assert_eq!(fitted.tools.len() as u64 + fitted.omitted, all.len() as u64);
                    let counted: u32 =
                        fitted.tools.iter().map(|tool| tokens.count(&serde_json::to_string(tool).unwrap())).sum();
                    prop_assert_eq!(counted, fitted.tokens);
                    prop_assert!(counted <= budget.discovery_reserve);
                    answer = counted;
                    sessions.with(&key, &view, |session, settings| session.found(&view, settings, &all));
                }
                Step::Evict(n) => {
                    let tools = EvictTools::new([name(*n)]);
                    sessions.with(&key, &view, |session, settings| session.evict(settings, &tools));
                }
                Step::Hide(divisor) => hidden = *divisor,
                Step::Change(to) => time = *to,
            }
            let sees = move |tool: &Tool| number(tool) == 0 || !number(tool).is_multiple_of(hidden);
            let view = ToolView::new(&snapshots[time], &sees);
            let list = sessions.listed(&key, &view);
            let sum = |pinned: bool| -> u32 {
                let part = list.tools.iter().filter(|tool| tool.pinned == pinned);
                part.map(|tool| tokens.count(std::str::from_utf8(tool.definition.json().as_bytes()).unwrap())).sum()
            };
            prop_assert!(sum(true) + own.tokens() <= budget.pinned_reserve.max(own.tokens()));
            prop_assert!(sum(false) <= budget.cache_limit);
            prop_assert_eq!(own.tokens() + sum(true) + sum(false), list.tokens);
            prop_assert!(list.tokens + answer <= budget.max_tokens);
            prop_assert!(list.tools.iter().all(|tool| sees(&tool.tool)));
            prop_assert!(list.tools.is_sorted_by_key(|tool| !tool.pinned));
            let now: Vec<String> = list.tools.iter().map(|tool| {
                String::from_utf8_lossy(tool.definition.json().as_bytes()).into_owned()
            }).collect();
            let distinct: std::collections::HashSet<_> = list.tools.iter().map(|tool| &tool.name).collect();
            prop_assert_eq!(distinct.len(), now.len());
            let adds = matches!(step, Step::Use(_) | Step::Load(_) | Step::Find(_));
            if adds && before.iter().all(|definition| now.contains(definition)) {
                prop_assert!(now.starts_with(&before), "{:?} moved what stays", step);
            }
            before = now;
            let pinned: Vec<String> =
                list.tools.iter().filter(|tool| tool.pinned).map(|tool| tool.name.clone()).collect();
            if !matches!(step, Step::Hide(_) | Step::Change(_)) {
                prop_assert!(pinned_before.is_none_or(|before| before == pinned), "{:?} unpinned a tool", step);
            }
            pinned_before = Some(pinned);
        }
    }
}
