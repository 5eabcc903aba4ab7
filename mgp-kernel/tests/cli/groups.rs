//! Groups of agents: what a rule for a group does for its members, and where its name stands.

use serde_json::{Value, json};

use crate::home::{Home, Ran};
use crate::kernel::{Kernel, until};
use crate::people::home_with_notes;

const GROUPS: &str = "[[groups]]\nname = \"payments\"\nagents = [\"ada\", \"ci.*\"]\n\
    [access]\ndefault = \"opt-in\"\n";

fn query(home: &Home, agent: &str) -> (Option<i32>, Value) {
    let ran = home.run(["access", "query", agent, "notes", "--json"]);
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

fn explained(home: &Home, agent: &str) -> Value {
    let told = home.json(["call", "notes.remove_note", "number=1", "--explain", "--agent", agent]);
    assert_eq!(told["rules"][0]["rule"], "access", "{told}");
    told["rules"][0].clone()
}

#[test]
fn a_grant_to_a_group_holds_for_its_members_and_is_named_wherever_it_decides() {
    let home = home_with_notes(GROUPS);
    assert_eq!(query(&home, "ci.build").0, Some(3));
    home.done(["access", "grant", "@payments", "notes"]);
    for member in ["ada", "ci.build"] {
        let (code, state) = query(&home, member);
        assert_eq!((code, &state["group"]), (Some(0), &"@payments".into()), "{state}");
    }
    for other in ["eve", "ci", "payments"] {
        let (code, state) = query(&home, other);
        assert_eq!((code, &state["group"]), (Some(3), &Value::Null), "{state}");
    }
    let told = home.done(["access", "query", "ada", "notes"]).out;
    assert!(told.contains("for @payments"), "{told}");
    let listed = home.json(["access", "list", "--agent", "ada"]);
    assert_eq!(listed["entries"][0]["agent_id"], "@payments", "{listed}");
    let why = explained(&home, "ci.build");
    assert_eq!(
        why["reason"],
        "allowed by the entry for @payments, of which ci.build is a member through the entry `ci.*` of its agents"
    );
    home.done(["access", "deny", "@payments", "notes", "remove_note", "--force"]);
    let why = explained(&home, "ada");
    assert_eq!(why["answer"], "refuses");
    let reason = why["reason"].as_str().unwrap();
    assert!(reason.starts_with("denied by the entry for @payments, of which ada is a member"), "{reason}");
    home.done(["access", "grant", "ada", "notes", "remove_note", "--force"]);
    assert_eq!(explained(&home, "ada")["answer"], "allows", "an entry for exactly the agent comes first");
}

#[test]
fn groups_are_listed_with_their_members_and_the_reasons() {
    let home = home_with_notes(&format!("{GROUPS}[[groups]]\nname = \"empty\"\nclaim = \"groups\"\n"));
    home.json(["keys", "new", "ci.build"]);
    let member = |group: &str, agent: &str, entry: &str| json!({"group": group, "agent_id": agent, "through": format!("the entry `{entry}` of its agents")});
    assert_eq!(
        home.json(["access", "groups"])["members"],
        json!([
            {"group": "@empty", "agent_id": null, "through": null},
            member("@payments", "ada", "ada"),
            member("@payments", "ci.build", "ci.*"),
        ])
    );
    let table = home.done(["access", "groups"]).out;
    assert!(table.contains("@empty") && table.contains("ci.build"), "{table}");
}

#[test]
fn a_key_for_a_group_makes_its_owner_a_member_until_it_is_revoked() {
    let home = home_with_notes(GROUPS);
    home.done(["access", "grant", "@payments", "notes"]);
    let issued = home.json(["keys", "new", "bob", "--group", "payments"]);
    assert_eq!(query(&home, "bob").0, Some(0));
    let members = home.json(["access", "groups"]).to_string();
    assert!(members.contains(r#""agent_id":"bob""#) && members.contains("a key"), "{members}");
    assert!(home.done(["keys", "list"]).out.contains("@payments"));
    home.done(["keys", "revoke", issued["id"].as_str().unwrap()]);
    assert_eq!(query(&home, "bob").0, Some(3));
}

#[test]
fn a_group_that_there_is_not_is_told_of() {
    let home = home_with_notes(GROUPS);
    let refused = |ran: Ran, expected: &str| {
        assert!(ran.code != Some(0) && ran.err.contains(expected), "{ran:?}");
    };
    refused(home.run(["access", "grant", "@paymnts", "notes"]), "no group");
    refused(home.run(["keys", "new", "bob", "--group", "paymnts"]), "did you mean `payments`?");
    for owner in ["@payments", "oauth/id.example/1"] {
        refused(home.run(["keys", "new", owner]), "called so");
    }
    home.configure("[[ask]]\ntool = \"*\"\nagent = \"@payment\"\nask = \"never\"\n");
    let ran = home.run(["config", "check"]);
    assert!(ran.code != Some(0) && format!("{ran:?}").contains("did you mean `@payments`?"), "{ran:?}");
}

#[test]
fn a_limit_of_a_group_is_that_of_each_member() {
    let home = home_with_notes(&format!(
        "{GROUPS}[listen]\nrequire_keys = true\n[limits]\nagent_calls_per_day = 3\n\
         [[agents]]\nid = \"@payments\"\ncalls_per_day = 2\n"
    ));
    let keys = ["ada", "ci.build", "eve"].map(|owner| home.key(owner, &["list"]));
    let (_kernel, port) = Kernel::on_http(&home);
    let passed = keys.map(|key| {
        let headers = format!("Authorization: Bearer {key}\r\n");
        let ask = |_: &u32| {
            let answer = crate::http::ask(port, &headers, &json!({}), "tools/list", json!({}));
            !answer.body.contains("too many calls")
        };
        (0..4).filter(ask).count()
    });
    assert_eq!(passed, [2, 2, 3]);
}

#[test]
fn a_member_that_a_reload_takes_out_of_its_group_sees_nothing_of_it_any_more() {
    let home = home_with_notes(&format!("{GROUPS}[listen]\nrequire_keys = true\n"));
    home.done(["access", "grant", "@payments", "notes"]);
    let key = home.key("ci.build", &["list"]);
    let (_kernel, port) = Kernel::on_http(&home);
    let sees = || {
        let headers = format!("Authorization: Bearer {key}\r\n");
        let answer = crate::http::ask(port, &headers, &json!({}), "tools/list", json!({}));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body.contains("remove_note")
    };
    until("the member sees the tools", sees);
    home.write("mgp.toml", &home.read("mgp.toml").replace("\"ci.*\"", "\"cd.*\""));
    home.done(["reload"]);
    assert!(!sees());
    home.write("mgp.toml", &home.read("mgp.toml").replace("\"cd.*\"", "\"ci.*\""));
    home.done(["reload"]);
    assert!(sees());
}
