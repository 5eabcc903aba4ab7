//! Tests of levels.

use std::sync::Arc;

use mgp_types::RawJson;
use serde_json::json;

use super::*;
use crate::budget::{ListedDefinition, TokenEstimator};
use crate::embed::NullEmbedder;
use crate::session::ToolView;
use crate::{Index, ServerTools, Tool, ToolListing};

/// Returns sizes of tools that take as much as real ones do on average, with the kernel's own.
fn sizes(tools: u64) -> Sizes {
    let sizes = json_sizes(tools, tools * 160);
    sizes.fixed(450, 800)
}

fn json_sizes(tools: u64, definition_tokens: u64) -> Sizes {
    Sizes {
        tools,
        definition_tokens,
        category_tokens: tools * 2,
        sampled: false,
        counter: "estimate".into(),
        meta_tokens: 0,
        pinned_tokens: 0,
    }
}

fn host(change: impl FnOnce(&mut HostProfile)) -> HostProfile {
    let mut host = HostProfile::default();
    change(&mut host);
    host
}

// covers: MGP-16.3-01
#[test]
fn the_report_says_what_each_level_takes_and_what_searching_costs() {
    let economy = LevelComparison::of(sizes(1000), HostProfile::default());
    let at_start = economy.levels.map(|cost| cost.definition_tokens);
    assert_eq!(at_start, [160_000, 2450, 450, 1250]);
    assert_eq!(economy.saved_definition_tokens(), 158_750);
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

// covers: MGP-16.3-02, MGP-16.3-03
#[test]
fn all_tools_are_shown_up_to_the_break_even_and_then_the_hybrid_is_chosen() {
    let least = LevelComparison::of(sizes(1000), HostProfile::default()).break_even_tools.unwrap();
    assert!((20..200).contains(&least), "{least}");
    for tools in [1, least - 1, least, least * 2] {
        let economy = LevelComparison::of(sizes(tools), HostProfile::default());
        assert_eq!(economy.break_even_tools, Some(least), "it depends on their sizes, not on their number");
        let expected = if tools < least { Level::L0 } else { Level::L3 };
        assert_eq!(Level::choose(&economy, None), expected, "{tools} tools");
        let [all, .., hybrid] = economy.levels;
        assert_eq!(all.cost_per_task > hybrid.cost_per_task, tools >= least, "{tools} tools");
    }
}

#[test]
fn an_operator_can_force_a_level() {
    let economy = LevelComparison::of(sizes(3), HostProfile::default());
    assert_eq!(Level::choose(&economy, None), Level::L0);
    for level in Level::ALL {
        assert_eq!(Level::choose(&economy, Some(level)), level);
        assert_eq!(serde_json::to_value(level).unwrap(), level.to_string());
    }
}

#[test]
fn a_host_that_searches_itself_gets_all_tools_unless_it_takes_fewer() {
    let compacts = host(|host| host.lists = HostToolLists::Compacted);
    let economy = LevelComparison::of(sizes(1000), compacts);
    assert_eq!(
        (economy.level, economy.reason, economy.break_even_tools),
        (Level::L0, LevelReason::HostCompacts, None)
    );
    let limited = host(|host| host.most_tools = Some(40));
    assert_eq!(LevelComparison::of(sizes(40), limited).level, Level::L0);
    let economy = LevelComparison::of(sizes(41), limited);
    assert_eq!((economy.level, economy.reason), (Level::L3, LevelReason::HostLimit));
}

#[test]
fn what_makes_searching_dearer_raises_the_break_even() {
    let least = |host| LevelComparison::of(sizes(1000), host).break_even_tools.unwrap();
    let usual = least(HostProfile::default());
    assert!(least(host(|host| host.context_tokens *= 2)) > usual);
    assert!(least(host(|host| host.searches_per_task = 4.0)) > usual);
    assert!(least(host(|host| host.new_tools_per_task = 4.0)) > usual);
    assert!(least(host(|host| host.lists = HostToolLists::Fixed)) < usual);
    assert!(least(host(|host| host.turns_per_task = 40.0)) < usual);
}

#[test]
fn numbers_that_make_no_sense_do_no_harm() {
    let nonsense = host(|host| {
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

#[tokio::test]
async fn tools_are_counted_and_where_there_are_very_many_by_sample() {
    let index = Index::new(Arc::new(NullEmbedder));
    for tools in [10, 10_000] {
        let listed = (0..tools).map(|n| {
            let definition = json!({ "name": format!("tool_{n:05}"), "inputSchema": { "type": "object" } });
            ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
        });
        index.put_server(ServerTools::new("s", listed.collect())).await;
        index.settled().await;
        let snapshot = index.snapshot();
        let tokens = TokenEstimator::new();
        let sizes = Sizes::of(&ToolView::all(&snapshot), &tokens);
        let one =
            ListedDefinition::of(snapshot.tool("s", "tool_00000").unwrap(), "tool_00000", &tokens).tokens();
        assert_eq!((sizes.tools, sizes.sampled), (tools, tools > 5000));
        assert_eq!(sizes.definition_tokens, tools * u64::from(one));
        assert_eq!(sizes.category_tokens, 0, "they speak of nothing known");
        let half = |tool: &Tool| tool.name.as_str().ends_with(['0', '2', '4', '6', '8']);
        assert_eq!(Sizes::of(&ToolView::new(&snapshot, &half), &tokens).tools, tools / 2);
    }
}
