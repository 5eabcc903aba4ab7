//! The costs of levels, as the example `economy` tells them.
#![allow(dead_code, reason = "the example needs all of it")]

use std::sync::Arc;

use mgp_toolindex::Index;
use mgp_toolindex::budget::TokenEstimator;
use mgp_toolindex::embed::StaticEmbedder;
use mgp_toolindex::level::{Level, Sizes};
use mgp_toolindex::session::ToolView;
use serde_json::json;

use self::comparison::{LevelComparison, LevelReason};
use self::host::{HostProfile, HostToolLists};

#[path = "../examples/economy/comparison.rs"]
mod comparison;
#[path = "../examples/economy/host.rs"]
mod host;

/// Returns sizes of tools that take as much as real ones do on average, with the kernel's own.
fn sizes(tools: u64) -> Sizes {
    let sizes = json_sizes(tools, tools * 160);
    sizes.fixed(450, 800)
}

/// Returns the sizes of an index without tools, as those of so many.
fn json_sizes(tools: u64, definition_tokens: u64) -> Sizes {
    let index = Index::new(Arc::new(StaticEmbedder::new()));
    let mut sizes = Sizes::of(&ToolView::all(&index.snapshot()), &TokenEstimator::new());
    (sizes.tools, sizes.definition_tokens, sizes.category_tokens) = (tools, definition_tokens, tools * 2);
    sizes.counter = "estimate".into();
    sizes
}

fn hosted(change: impl FnOnce(&mut HostProfile)) -> HostProfile {
    let mut host = HostProfile::default();
    change(&mut host);
    host
}

#[test]
fn the_report_says_what_each_level_takes_and_what_searching_costs() {
    let economy = LevelComparison::of(sizes(1000), HostProfile::default());
    let at_start = economy.levels.map(|cost| cost.definition_tokens);
    assert_eq!(at_start, [160_000, 2450, 450, 1250]);
    assert_eq!(economy.levels.map(|cost| cost.extra_turns.to_string()), ["0", "2", "2", "1"]);
    assert!(economy.search_cost > 0 && economy.list_change_cost > 0);
    let [all, .., hybrid] = economy.levels;
    assert!(hybrid.cost_per_task > economy.search_cost + economy.list_change_cost);
    assert!(all.cost_per_task > hybrid.cost_per_task);
    let told = economy.to_string();
    for part in [
        "1000 tools, 160000 tokens by estimate",
        "L0     160000",
        "turns more",
        "a search costs",
        "L3: searching",
    ] {
        assert!(told.contains(part), "{part:?} is missing:\n{told}");
    }
    let json = serde_json::to_value(&economy).unwrap();
    assert_eq!((&json["level"], &json["reason"]), (&json!("L3"), &json!("above_break_even")));
    assert_eq!(json["levels"][0]["definition_tokens"], 160_000);
}

#[test]
fn all_tools_are_shown_up_to_the_break_even_and_then_the_hybrid_is_chosen() {
    let least = LevelComparison::of(sizes(1000), HostProfile::default()).break_even_tools.unwrap();
    assert!((20..200).contains(&least), "{least}");
    for tools in [1, least - 1, least, least * 2] {
        let economy = LevelComparison::of(sizes(tools), HostProfile::default());
        assert_eq!(economy.break_even_tools, Some(least), "it depends on their sizes, not on their number");
        let expected = if tools < least { Level::L0 } else { Level::L3 };
        assert_eq!(economy.level, expected, "{tools} tools");
        let [all, .., hybrid] = economy.levels;
        assert_eq!(all.cost_per_task > hybrid.cost_per_task, tools >= least, "{tools} tools");
    }
}

#[test]
fn a_host_that_searches_itself_gets_all_tools_unless_it_takes_fewer() {
    let compacts = hosted(|host| host.lists = HostToolLists::Compacted);
    let economy = LevelComparison::of(sizes(1000), compacts);
    assert_eq!(
        (economy.level, economy.reason, economy.break_even_tools),
        (Level::L0, LevelReason::HostCompacts, None)
    );
    let limited = hosted(|host| host.most_tools = Some(40));
    assert_eq!(LevelComparison::of(sizes(40), limited).level, Level::L0);
    let economy = LevelComparison::of(sizes(41), limited);
    assert_eq!((economy.level, economy.reason), (Level::L3, LevelReason::HostLimit));
}

#[test]
fn what_makes_searching_dearer_raises_the_break_even() {
    let least = |host| LevelComparison::of(sizes(1000), host).break_even_tools.unwrap();
    let usual = least(HostProfile::default());
    assert!(least(hosted(|host| host.context_tokens *= 2)) > usual);
    assert!(least(hosted(|host| host.searches_per_task = 4.0)) > usual);
    assert!(least(hosted(|host| host.new_tools_per_task = 4.0)) > usual);
    assert!(least(hosted(|host| host.lists = HostToolLists::Fixed)) < usual);
    assert!(least(hosted(|host| host.turns_per_task = 40.0)) < usual);
}

#[test]
fn numbers_that_make_no_sense_do_no_harm() {
    let nonsense = hosted(|host| {
        host.turns_per_task = f64::NAN;
        host.searches_per_task = f64::INFINITY;
        host.cached_input_ratio = -5.0;
        host.output_ratio = f64::NAN;
        host.new_tools_per_task = -1.0;
        host.context_tokens = u32::MAX;
    });
    let economy = LevelComparison::of(sizes(100), nonsense);
    let default = HostProfile::default();
    assert_eq!(
        (economy.host.turns_per_task, economy.host.output_ratio),
        (default.turns_per_task, default.output_ratio)
    );
    assert_eq!((economy.host.cached_input_ratio, economy.host.new_tools_per_task), (0.0, 0.0));
    assert!(economy.levels.iter().all(|cost| cost.cost_per_task < u64::MAX));
    let none = LevelComparison::of(json_sizes(0, 0), HostProfile::default());
    assert_eq!((none.level, none.break_even_tools), (Level::L0, None));
    let host: HostProfile = serde_json::from_value(json!({ "context_tokens": 5, "lists": "fixed" })).unwrap();
    assert_eq!((host.context_tokens, host.lists, host.turns_per_task), (5, HostToolLists::Fixed, 8.0));
    assert!(serde_json::from_value::<HostProfile>(json!({ "contextTokens": 5 })).is_err());
}
