//! Tests of learning.

use mgp_types::RawJson;
use proptest::prelude::*;

use super::*;

const NEAR: [f32; 2] = [0.8, 0.6];
const FAR: [f32; 2] = [-0.6, 0.8];

fn learned() -> LearnedUses {
    LearnedUses::new(LearnSettings::default(), "e")
}

fn defined(words: &str) -> DefinitionDigest {
    DefinitionDigest::of(&RawJson::from_text(words))
}

fn confirm(learned: &LearnedUses, tenant: &str, session: &str, tool: &str, query: &[f32]) -> bool {
    confirm_as(learned, tenant, session, tool, defined("a"), query)
}

fn confirm_as(
    learned: &LearnedUses,
    tenant: &str,
    session: &str,
    tool: &str,
    definition: DefinitionDigest,
    query: &[f32],
) -> bool {
    let (server, tool) = ("s".into(), tool.into());
    let (server, tool, score) = (&server, &tool, 0.4);
    learned.confirm(&ConfirmedCall { tenant, session, server, tool, definition, query, score })
}

fn score(learned: &LearnedUses, tenant: &str, tool: &str, query: &[f32], score: f32) -> f32 {
    let shift = learned.shift(tenant);
    let shifted =
        shift.iter().flat_map(|shift| shift.shifts(query)).find(|shift| shift.tool.as_str() == tool);
    shifted.map_or(score, |shift| shift.score(score))
}

#[test]
fn a_tool_comes_nearer_to_what_led_to_it_and_more_so_with_evidence() {
    let learned = learned();
    assert!(learned.shift("t").is_none());
    assert!(confirm(&learned, "t", "1", "x", &NEAR));
    let once = score(&learned, "t", "x", &NEAR, 0.8);
    assert!((once - 0.86).abs() < 1e-5, "{once}");
    assert!(confirm(&learned, "t", "2", "x", &NEAR) && confirm(&learned, "t", "3", "x", &NEAR));
    let often = score(&learned, "t", "x", &NEAR, 0.8);
    assert!((often - 0.9).abs() < 1e-5, "{often}");
}

#[test]
fn a_tool_loses_nothing_for_queries_unlike_those_that_led_to_it() {
    let learned = learned();
    for session in ["1", "2", "3"] {
        confirm(&learned, "t", session, "x", &NEAR);
    }
    for own in [0.0, 0.3, 0.9] {
        let moved = score(&learned, "t", "x", &FAR, own);
        assert!((moved - own).abs() < f32::EPSILON, "{own} {moved}");
    }
}

#[test]
fn what_was_learned_of_another_definition_of_a_tool_does_not_count() {
    let learned = learned();
    for session in ["1", "2", "3"] {
        confirm(&learned, "t", session, "x", &NEAR);
    }
    let often = score(&learned, "t", "x", &NEAR, 0.8);
    assert!(confirm_as(&learned, "t", "1", "x", defined("b"), &NEAR), "the other tool begins anew");
    let once = score(&learned, "t", "x", &NEAR, 0.8);
    assert!(0.8 < once && once < often, "{once} {often}");
}

#[test]
fn all_tenants_together_have_no_more_tools_than_there_may_be() {
    let settings = LearnSettings { most_tools_in_all: 4, ..LearnSettings::default() };
    let learned = LearnedUses::new(settings, "e");
    for tenant in ["t", "u", "v"] {
        for tool in ["x", "y", "z"] {
            confirm(&learned, tenant, "1", tool, &NEAR);
        }
    }
    assert!(learned.shift("t").is_none() && learned.shift("u").is_none());
    assert_eq!(learned.state().tools().count(), 3);
    for tool in ["a", "b", "c"] {
        confirm(&learned, "v", "1", tool, &NEAR);
    }
    assert_eq!(learned.state().tools().count(), 4, "one tenant has no more either");
    let less = LearnSettings { most_tools_in_all: 2, ..settings };
    assert_eq!(LearnedUses::restore(less, "e", learned.state()).state().tools().count(), 2);
}

#[test]
fn each_change_is_told_and_nothing_else() {
    let learned = learned();
    let mut changes = learned.changes();
    learned.shift("t");
    assert!(!confirm(&learned, "t", "1", "x", &[0.0, 0.0]));
    assert!(!changes.has_changed().unwrap());
    let acts: [&dyn Fn(); 4] = [
        &|| assert!(confirm(&learned, "t", "1", "x", &NEAR)),
        &|| learned.forget_tools(|_, tool| tool.as_str() == "x"),
        &|| learned.forget("t"),
        &|| learned.change_embedder("f"),
    ];
    for act in acts {
        act();
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
    }
}

#[test]
fn nothing_is_learned_for_another_tenant_or_another_tool() {
    let learned = learned();
    confirm(&learned, "t", "1", "x", &NEAR);
    assert!(learned.shift("other").is_none());
    assert!((score(&learned, "t", "y", &NEAR, 0.4) - 0.4).abs() < f32::EPSILON);
}

#[test]
fn a_session_has_one_voice_for_each_tool() {
    let learned = learned();
    assert!(confirm(&learned, "t", "1", "x", &NEAR));
    assert!(!confirm(&learned, "t", "1", "x", &NEAR));
    assert!(!confirm(&learned, "t", "1", "x", &FAR));
    assert!(confirm(&learned, "t", "1", "y", &FAR));
}

#[test]
fn what_has_nothing_to_do_with_a_tool_does_not_count() {
    let learned = learned();
    let (server, tool) = ("s".into(), "x".into());
    let definition = defined("a");
    for score in [0.05, -1.0, f32::NAN, f32::NEG_INFINITY] {
        let (server, tool, query) = (&server, &tool, &NEAR);
        let confirmed = ConfirmedCall { tenant: "t", session: "1", server, tool, definition, query, score };
        assert!(!learned.confirm(&confirmed), "{score}");
    }
    for query in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0], &vec![1.0; 5000]] {
        assert!(!confirm(&learned, "t", "1", "x", query));
    }
    assert!(!confirm(&learned, &"t".repeat(300), "1", "x", &NEAR));
    assert!(learned.shift("t").is_none());
}

#[test]
fn vectors_of_another_length_are_of_another_embedder() {
    let learned = learned();
    assert!(confirm(&learned, "t", "1", "x", &NEAR));
    assert!(!confirm(&learned, "t", "2", "x", &[1.0; 3]));
    assert_eq!(learned.shift("t").unwrap().shifts(&[1.0; 3]).count(), 0);
}

#[test]
fn what_was_learned_can_be_forgotten() {
    let learned = learned();
    for (tenant, tool) in [("t", "x"), ("t", "y"), ("u", "x")] {
        confirm(&learned, tenant, "1", tool, &NEAR);
    }
    let before = learned.shift("t").unwrap();
    learned.forget_tools(|_, tool| tool.as_str() == "x");
    assert_eq!(learned.shift("t").unwrap().known().count(), 1);
    assert!(learned.shift("u").is_none());
    assert_eq!(before.known().count(), 2, "who searches now still has what was there");
    learned.forget("t");
    assert!(learned.shift("t").is_none());
    assert!(confirm(&learned, "t", "1", "x", &NEAR), "the session is forgotten too");
}

#[test]
fn what_was_long_ago_is_forgotten_when_there_is_too_much() {
    let learned =
        LearnedUses::new(LearnSettings { most_tenants: 2, most_tools: 2, ..LearnSettings::default() }, "e");
    for tool in ["x", "y", "z"] {
        confirm(&learned, "t", "1", tool, &NEAR);
    }
    let shift = learned.shift("t").unwrap();
    let mut tools: Vec<_> = shift.tools().map(|((_, tool), _)| tool.to_string()).collect();
    tools.sort();
    assert_eq!(tools, ["y", "z"]);
    confirm(&learned, "u", "1", "x", &NEAR);
    assert!(learned.shift("t").is_some());
    confirm(&learned, "v", "1", "x", &NEAR);
    assert!(learned.shift("u").is_none() && learned.shift("t").is_some());
}

#[test]
fn what_was_learned_survives_a_restart_but_not_another_embedder() {
    let learned = learned();
    for session in ["1", "2"] {
        confirm(&learned, "t", session, "x", &NEAR);
    }
    let kept = serde_json::to_string(&learned.state()).unwrap();
    let state: LearnedState = serde_json::from_str(&kept).unwrap();
    let again = LearnedUses::restore(LearnSettings::default(), "e", state.clone());
    let (was, is) = (score(&learned, "t", "x", &NEAR, 0.5), score(&again, "t", "x", &NEAR, 0.5));
    assert!((was - is).abs() < 0.01, "{was} {is}");
    assert_eq!(again.state(), learned.state());
    assert!(LearnedUses::restore(LearnSettings::default(), "f", state).shift("t").is_none());
}

#[test]
fn a_stored_state_can_forget_tools() {
    let learned = learned();
    for (tenant, tool) in [("t", "x"), ("t", "y"), ("u", "x")] {
        confirm(&learned, tenant, "1", tool, &NEAR);
    }
    let mut state = learned.state();
    state.retain(|_, tool| tool.as_str() != "x");
    let kept: Vec<_> = state.tools().map(|(tenant, _, tool)| (tenant, tool.as_str())).collect();
    assert_eq!(kept, [("t", "y")]);
    learned.load(state);
    assert!(learned.shift("u").is_none() && learned.shift("t").is_some());
}

#[test]
fn what_was_learned_is_forgotten_when_the_embedder_changes() {
    let learned = learned();
    for session in ["1", "2"] {
        confirm(&learned, "t", session, "x", &NEAR);
    }
    assert!(learned.shift("t").is_some());
    learned.change_embedder("f");
    assert!(learned.shift("t").is_none());
    assert_eq!((&*learned.embedder(), learned.state().embedder()), ("f", "f"));
}

#[test]
fn a_state_that_was_tampered_with_gives_no_more_than_use_would() {
    let tool = |scale: f32| {
        serde_json::json!({
            "server": "s", "tool": "x", "definition": "00".repeat(32),
            "weight": 255, "scale": scale, "codes": "7f7f",
        })
    };
    let restore = |tools: serde_json::Value| {
        let state = serde_json::json!({ "embedder": "e", "tenants": [{ "tenant": "t", "tools": tools }] });
        LearnedUses::restore(LearnSettings::default(), "e", serde_json::from_value(state).unwrap())
    };
    assert!(restore(serde_json::json!([tool(1e30), tool(f32::MAX), tool(0.01)])).shift("t").is_none());
    let moved = score(&restore(serde_json::json!([tool(0.005)])), "t", "x", &[1.0, 1.0], 0.2);
    assert!((0.2..=0.45).contains(&moved), "{moved}");
}

proptest! {
    #[test]
    fn a_score_moves_no_farther_than_it_may(
        uses in prop::collection::vec((0..40_u8, prop::collection::vec(-2.0_f32..2.0, 4)), 0..60),
        query in prop::collection::vec(-2.0_f32..2.0, 4),
        own in -1.0_f32..1.0,
    ) {
        let learned = learned();
        for (session, query) in &uses {
            confirm(&learned, "t", &session.to_string(), "x", query);
        }
        let moved = score(&learned, "t", "x", &query, own);
        prop_assert!((own..=own + 0.2501).contains(&moved), "{own} {moved}");
        let again = LearnedUses::restore(LearnSettings::default(), "e", learned.state());
        prop_assert!((score(&again, "t", "x", &query, own) - moved).abs() < 0.02);
    }
}
