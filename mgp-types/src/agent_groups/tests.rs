use super::*;

fn group(name: &str, agents: &[&str]) -> AgentGroup {
    let agents = agents.iter().map(ToString::to_string).collect();
    AgentGroup { name: name.into(), agents, ..AgentGroup::default() }
}

fn by_claim(name: &str, claim: &str, values: &[&str]) -> AgentGroup {
    let values = values.iter().map(ToString::to_string).collect();
    AgentGroup { name: name.into(), claim: Some(claim.into()), values, ..AgentGroup::default() }
}

fn groups(all: impl IntoIterator<Item = AgentGroup>) -> AgentGroups {
    let groups = AgentGroups::default();
    assert!(groups.set(all.into_iter().collect()));
    groups
}

fn note(groups: &AgentGroups, agent: &str, claims: &str, issued_at: i64) -> Arc<TokenStatement> {
    let claims = Object::parse(claims.to_owned()).unwrap();
    let statement = groups.read_claims("https://id.example", &claims, (issued_at, 0));
    groups.note_token(agent, &statement);
    statement
}

fn names(groups: &AgentGroups, agent: &str) -> Vec<String> {
    let found = groups.of(agent);
    found.iter().flat_map(|found| found.iter().map(|member| member.group.to_string())).collect()
}

#[test]
fn members_are_listed_by_id_or_by_pattern_and_operators_are_none() {
    let groups = groups([group("b", &["ada", "ci.*"]), group("a", &["ada"]), group("all", &["*"])]);
    assert_eq!(names(&groups, "ada"), ["@b", "@a", "@all"]);
    assert_eq!(names(&groups, "ci.build"), ["@b", "@all"]);
    assert_eq!(names(&groups, "ci.build.x"), ["@all"]);
    for other in ["operator:ada", "@b"] {
        assert_eq!(names(&groups, other), [""; 0]);
    }
    let through = |at: usize| groups.of("ci.build").unwrap()[at].through.clone();
    assert_eq!(&*through(0), "the entry `ci.*` of its agents");
    assert_eq!(names(&AgentGroups::default(), "ada"), [""; 0]);
}

#[test]
fn who_chooses_its_own_name_is_met_by_patterns_that_say_so() {
    let groups = groups([
        group("admins", &["*-admin"]),
        group("editors", &["local/edit*"]),
        group("people", &["oauth/id.example/*"]),
        group("mine", &["local"]),
    ]);
    assert_eq!(names(&groups, "ci-admin"), ["@admins"]);
    assert_eq!(names(&groups, "local/evil-admin"), ["@mine"]);
    assert_eq!(names(&groups, "local/editor"), ["@editors", "@mine"]);
    assert_eq!(names(&groups, "oauth/id.example/x-admin"), ["@people"]);
    assert_eq!(names(&groups, "oauth/id.other/x"), [""; 0]);
}

#[test]
fn a_claim_is_a_text_or_a_list_at_a_name_or_a_path() {
    let groups = groups([
        by_claim("payments", "groups", &[]),
        by_claim("roles", "realm_access.roles", &["pay", "bank"]),
        by_claim("dotted", "https://x.example/groups", &["pay"]),
    ]);
    for (claims, expected) in [
        (r#"{"groups":"payments"}"#, &["@payments"][..]),
        (r#"{"groups":["a","payments"]}"#, &["@payments"]),
        (r#"{"realm_access":{"roles":["bank"]}}"#, &["@roles"]),
        (r#"{"realm_access.roles":"pay"}"#, &["@roles"]),
        (r#"{"https://x.example/groups":["pay"]}"#, &["@dotted"]),
        (r#"{"groups":["Payments"," payments","payments\u0000","p\u0430yments","@payments"]}"#, &[]),
        (r#"{"groups":[1,null,{"payments":"payments"},["payments"],"payments"]}"#, &["@payments"]),
        (r#"{"groups":{"payments":true}}"#, &[]),
        (r#"{"groups":null,"realm_access":"roles"}"#, &[]),
        (r#"{"groups":7}"#, &[]),
    ] {
        let agent = format!("of {claims}");
        note(&groups, &agent, claims, 0);
        assert_eq!(names(&groups, &agent), expected, "{claims}");
    }
    let through = groups.of(r#"of {"groups":"payments"}"#).unwrap()[0].through.clone();
    assert_eq!(&*through, "the claim `groups`");
}

#[test]
fn a_claim_of_another_type_or_of_too_many_values_is_ignored_with_a_reason() {
    let groups = groups([by_claim("payments", "groups", &[])]);
    let ignored = |claims: &str| {
        let statement = note(&groups, "ada", claims, 0);
        statement.ignored.iter().map(|(claim, reason)| format!("{claim}: {reason}")).collect::<Vec<_>>()
    };
    assert_eq!(ignored(r#"{"groups":7}"#), ["groups: it is neither a text nor a list"]);
    let many = format!(r#"{{"groups":["payments"{}]}}"#, r#","x""#.repeat(MAX_VALUES));
    assert_eq!(ignored(&many), ["groups: it has too many values"]);
    assert_eq!(names(&groups, "ada"), [""; 0]);
    let fits = format!(r#"{{"groups":["payments"{}]}}"#, r#","x""#.repeat(10_000));
    assert_eq!(ignored(&fits), [""; 0]);
    assert_eq!(names(&groups, "ada"), ["@payments"]);
}

#[test]
fn tokens_of_another_issuer_do_not_count_where_a_group_names_one() {
    let other =
        AgentGroup { issuer: Some("https://other.example".into()), ..by_claim("theirs", "groups", &["a"]) };
    let groups = groups([other, by_claim("any", "groups", &["a"])]);
    note(&groups, "ada", r#"{"groups":"a"}"#, 0);
    assert_eq!(names(&groups, "ada"), ["@any"]);
}

#[test]
fn the_newest_token_of_an_agent_counts_until_it_is_forgotten() {
    let groups = groups([by_claim("payments", "groups", &[])]);
    note(&groups, "ada", r#"{"groups":"payments"}"#, 10);
    let revision = groups.revision();
    note(&groups, "ada", r#"{"groups":[]}"#, 20);
    assert_eq!(names(&groups, "ada"), [""; 0]);
    assert!(groups.revision() > revision);
    note(&groups, "ada", r#"{"groups":"payments"}"#, 15);
    assert_eq!(names(&groups, "ada"), [""; 0], "that one is older");
    note(&groups, "ada", r#"{"groups":"payments"}"#, 30);
    assert_eq!(names(&groups, "ada"), ["@payments"]);
    groups.forget_token("ada");
    assert_eq!(names(&groups, "ada"), [""; 0]);
}

#[test]
fn other_groups_hold_for_tokens_that_were_noted_as_far_as_their_claims_were_read() {
    let groups = groups([by_claim("payments", "groups", &["pay", "bank"])]);
    let statement = note(&groups, "ada", r#"{"groups":["pay","admin"]}"#, 0);
    assert!(groups.is_current(&statement));
    assert!(!groups.set(vec![by_claim("payments", "groups", &["pay", "bank"])]), "nothing changed");
    assert!(
        groups.set(vec![by_claim("payments", "groups", &["bank"]), by_claim("admins", "groups", &["admin"])])
    );
    assert!(!groups.is_current(&statement));
    assert_eq!(names(&groups, "ada"), [""; 0], "a removal holds at once");
    assert!(groups.set(vec![by_claim("tills", "groups", &["pay"])]));
    assert_eq!(names(&groups, "ada"), ["@tills"]);
}

#[test]
fn the_owner_of_a_key_is_a_member_for_as_long_as_the_key_is_told_of() {
    let groups = groups([group("payments", &[])]);
    groups.set_keys(HashMap::from([("ada".into(), vec!["payments".into(), "gone".into()])]));
    assert_eq!(names(&groups, "ada"), ["@payments"]);
    assert_eq!(&*groups.of("ada").unwrap()[0].through, "a key");
    groups.set_keys(HashMap::new());
    assert_eq!(names(&groups, "ada"), [""; 0]);
}

#[test]
fn rules_are_found_under_the_own_name_then_those_of_groups_then_that_of_the_family() {
    let groups = groups([group("a", &["local/x"]), group("b", &["local/x"])]);
    let mut looked = Vec::new();
    let found = groups.find("local/x", |name| {
        looked.push(name.to_owned());
        (name == "local").then_some(())
    });
    assert_eq!((found, looked), (Some(()), ["local/x", "@a", "@b", "local"].map(str::to_owned).to_vec()));
}

/// Each listed member costs one place in a table, however many groups and other members there are: nobody is compared with
/// patterns of others.
#[test]
fn a_table_of_many_members_has_one_place_for_each() {
    let agents: Vec<String> = (0..10_000).map(|number| format!("person{number}")).collect();
    let of_group = |(at, members): (usize, &[String])| AgentGroup {
        name: format!("group{at}"),
        agents: members.to_vec(),
        ..AgentGroup::default()
    };
    let groups = groups(agents.chunks(50).enumerate().map(of_group));
    let rules = groups.0.rules.load();
    assert_eq!((rules.ids.len(), rules.patterns.len()), (200, 0));
    assert_eq!(rules.listed.values().map(Vec::len).sum::<usize>(), agents.len());
    assert_eq!(groups.0.known.read().len(), 0, "members are found when they come");
    assert_eq!(names(&groups, "person9999"), ["@group199"]);
}

#[test]
fn agents_that_were_only_asked_about_are_forgotten_where_there_is_no_room() {
    let groups = groups([by_claim("payments", "groups", &[])]);
    note(&groups, "ada", r#"{"groups":"payments"}"#, 0);
    for number in 0..MAX_KNOWN {
        assert!(groups.of(&number.to_string()).is_none());
    }
    assert!(groups.0.known.read().len() <= MAX_KNOWN);
    assert_eq!(names(&groups, "ada"), ["@payments"]);
}
