//! The tools of a session, and the budget that they share (§16.3, §16.7 and §16.8).

use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use super::searching::indexed;
use crate::host::{Host, ask, names, quiet, say, speaking_mgp, typed};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    a_session_has_pinned_tools_and_those_that_it_used,
    a_session_tells_its_tools_and_lets_them_go,
    what_is_used_stays_within_the_budget_and_what_was_used_longest_ago_goes,
    what_is_pinned_and_what_is_found_have_shares_of_the_budget,
];

const NAMES: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

/// A kernel whose tools are searched, and all take the same place.
async fn kernel(tools: Value) -> (Host, Script) {
    let script = Script::of(NAMES.map(|name| {
        let description = format!("Paints the wall in {name}. {}", "Word ".repeat(60));
        defined(name, &[], &json!({"description": description, "security": {"risk_level": "safe"}}))
    }));
    let mut server = script.server("walls");
    server["security"] = json!({"trust_level": "trusted"});
    let mut config = quiet([server]);
    config["tools"] = tools;
    config["tools"]["level"] = json!("L3");
    let host = Host::ready_with(config).await;
    let mut ada = Raw::agent(&host, "nobody", ERAS[0]).await;
    indexed(&mut ada, 6).await;
    (host, script)
}

async fn listed(client: &mut Raw) -> Vec<String> {
    let listed = client.result("tools/list", json!({})).await;
    let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    names.filter_map(|name| name.strip_prefix("walls.")).map(str::to_owned).collect()
}

async fn session(client: &mut Raw) -> Value {
    client.result("mgp/tools/session", json!({})).await
}

async fn use_tools(client: &mut Raw, names: &[&str]) {
    for name in names {
        client.tool(&format!("walls.{name}"), json!({})).await;
    }
}

// covers: MGP-16.3-02, MGP-16.7-01..04
async fn a_session_has_pinned_tools_and_those_that_it_used() {
    let (host, script) = kernel(json!({"pinned": ["walls.zeta"]})).await;
    for revision in ERAS {
        let agent = format!("agent-{}", revision.as_str());
        let mut ada = Raw::agent(&host, &agent, revision).await;
        let meta: Vec<Value> = ada.result("tools/list", json!({})).await["tools"].as_array().unwrap().clone();
        assert!(meta.iter().any(|tool| tool["name"] == "mgp/tools/discover"), "{meta:?}");
        assert_eq!(listed(&mut ada).await, ["zeta"]);
        // What is found is listed, while there is room.
        let wanted = json!({"query": "paint the wall in gamma", "max_results": 1});
        let found = ada.result("mgp/tools/discover", wanted).await;
        assert_eq!(found["tools"][0]["name"], "walls.gamma");
        assert_eq!(listed(&mut ada).await, ["zeta", "gamma"]);
        assert_eq!(session(&mut ada).await["cached"], json!(["walls.gamma"]));
        use_tools(&mut ada, &["gamma", "alpha"]).await;
        assert_eq!(listed(&mut ada).await, ["zeta", "gamma", "alpha"]);
        // Nobody has to look for it again, and nobody else has it.
        use_tools(&mut ada, &["gamma"]).await;
        let mut other = Raw::agent(&host, "other", revision).await;
        assert_eq!(listed(&mut other).await, ["zeta"]);
    }
    assert_eq!(script.calls().len(), 6);
    // A session's tools end with it.
    let agent = format!("agent-{}", ERAS[0].as_str());
    let mut again = Raw::agent(&host, &agent, ERAS[0]).await;
    assert_eq!(listed(&mut again).await, ["zeta"]);
}

// covers: MGP-16.7-05..12
async fn a_session_tells_its_tools_and_lets_them_go() {
    let (host, _script) = kernel(json!({"pinned": ["walls.zeta"]})).await;
    for revision in ERAS {
        let agent = format!("agent-{}", revision.as_str());
        let ada = host.connect(&agent, speaking_mgp().revisions([revision])).await;
        for tool in ["walls.alpha", "walls.beta"] {
            say(&ada, tool, json!({})).await;
        }
        let session = async || ask(&ada, "mgp/tools/session", json!({})).await;
        let before = session().await;
        assert_eq!(before["pinned"], json!(["walls.zeta"]));
        assert_eq!(before["cached"], json!(["walls.beta", "walls.alpha"]));
        assert_eq!(before["max_tokens"], 8000);
        let total = before["total_tokens"].as_u64().unwrap();
        let evict = json!({"tools": ["walls.alpha", "walls.zeta", "nonsense"], "reason": "no_longer_needed"});
        let evicted = ada.evict_tools(&typed(&evict)).await.unwrap();
        let evicted = serde_json::to_value(&evicted).unwrap();
        assert_eq!(evicted["evicted"], json!(["walls.alpha"]));
        assert_eq!(
            (&evicted["not_found"], &evicted["pinned"]),
            (&json!(["nonsense"]), &json!(["walls.zeta"]))
        );
        let after = session().await;
        assert_eq!(after["cached"], json!(["walls.beta"]));
        assert!(
            after["total_tokens"].as_u64().unwrap() < total
                && evicted["total_tokens"] == after["total_tokens"]
        );
        let listed = names(&ada).await;
        let listed: Vec<_> = listed.iter().filter_map(|name| name.strip_prefix("walls.")).collect();
        assert_eq!(listed, ["zeta", "beta"]);
        let mut ada = Raw::agent(&host, &agent, revision).await;
        for wrong in [json!({"tools": "walls.beta"}), json!({"tools": ["walls.beta"], "reason": 7})] {
            assert_eq!(ada.error("mgp/tools/session/evict", wrong).await["code"], -32602);
        }
    }
}

/// The tokens that one more tool takes in the list.
async fn of_one_tool(host: &Host) -> u64 {
    let mut client = Raw::agent(host, "measuring", ERAS[0]).await;
    let before = session(&mut client).await["total_tokens"].as_u64().unwrap();
    use_tools(&mut client, &["alpha"]).await;
    session(&mut client).await["total_tokens"].as_u64().unwrap() - before
}

// covers: MGP-16.8-01, MGP-16.8-02, MGP-16.8-05..07, P-2-11
async fn what_is_used_stays_within_the_budget_and_what_was_used_longest_ago_goes() {
    let (host, _script) = kernel(json!({})).await;
    let (tool, meta) = {
        let mut empty = Raw::agent(&host, "empty", ERAS[0]).await;
        (of_one_tool(&host).await, session(&mut empty).await["total_tokens"].as_u64().unwrap())
    };
    drop(host);
    // Room for two tools that were used: once by their own limit, once by that of all.
    let pinned = json!(["walls.zeta"]);
    let of_used = json!({"pinned": pinned, "budget": {"cache_limit": 2 * tool + tool / 2}});
    let of_all = json!({
        "pinned": pinned,
        "budget": {"max_tokens": meta + 3 * tool + tool / 2, "cache_limit": 100_000},
    });
    for tools in [of_used, of_all] {
        let (host, script) = kernel(tools.clone()).await;
        for (round, revision) in (1..).zip(ERAS) {
            let agent = format!("agent-{}", revision.as_str());
            let mut ada = Raw::agent(&host, &agent, revision).await;
            use_tools(&mut ada, &["alpha", "beta", "alpha", "gamma"]).await;
            let session = session(&mut ada).await;
            assert_eq!(session["cached"], json!(["walls.gamma", "walls.alpha"]), "{tools}");
            assert_eq!(session["pinned"], json!(["walls.zeta"]), "what is pinned stays");
            assert!(session["total_tokens"].as_u64() <= session["max_tokens"].as_u64(), "{session}");
            assert_eq!(listed(&mut ada).await, ["zeta", "alpha", "gamma"]);
            // It can still be called.
            use_tools(&mut ada, &["beta"]).await;
            assert_eq!(script.calls().len(), 5 * round);
        }
    }
}

// covers: MGP-16.8-03, MGP-16.8-04, MGP-16.8-08
async fn what_is_pinned_and_what_is_found_have_shares_of_the_budget() {
    let two = json!(["walls.alpha", "walls.beta"]);
    let (host, _script) = kernel(json!({"pinned": two})).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    let of_two = session(&mut ada).await["total_tokens"].as_u64().unwrap();
    drop((ada, host));

    // A third one has no room, however short it is made.
    let three = json!(["walls.alpha", "walls.beta", "walls.gamma"]);
    let budget = json!({"pinned_reserve": of_two + 3, "discovery_reserve": 300});
    let (host, _script) = kernel(json!({"pinned": three, "budget": budget})).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        assert_eq!(session(&mut ada).await["pinned"], two);
        let wanted = json!({"query": "paints the wall", "strategy": "keyword", "max_results": 6});
        let found = ada.result("mgp/tools/discover", wanted).await;
        let given = found["tools"].as_array().unwrap().len() as u64;
        assert!((1..6).contains(&given), "{given}");
        assert_eq!(found["omitted"], 6 - given, "what is left out is counted");
    }
}
