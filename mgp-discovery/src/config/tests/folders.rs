//! Tests of the keys that a trusted folder's file can set.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use mgp_types::mgp::{AccessPermission, ApprovalPolicy, DefaultPolicy};
use proptest::prelude::*;

use super::super::model::{
    AccessRule, ArgumentTypes, AuditDurability, Config, FirstUse, LimitSettings, PermissionRule, RuleSource,
    ServerDefinitions, ServerNetwork,
};
use super::super::{FolderFile, LoadedConfig, Locations};

/// Returns the configuration of a user with the file `user`, in a trusted folder with the file `folder`.
fn loaded(user: &str, folder: &str) -> LoadedConfig {
    let directory = tempfile::tempdir().unwrap();
    let [own, project] = ["servers.toml", "mgp.toml"].map(|name| directory.path().join(name));
    fs::create_dir(directory.path().join("data")).unwrap();
    fs::write(&own, user).unwrap();
    fs::write(&project, folder).unwrap();
    let locations = Locations::of(Some(project.clone()), Some(own));
    let file = FolderFile::read(&project).unwrap();
    let nothing = |_: &str| None;
    Config::load_with(&locations, file.as_ref(), &nothing).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn config(user: &str, folder: &str) -> Config {
    loaded(user, folder).config
}

fn ignored(user: &str, folder: &str) -> Vec<String> {
    loaded(user, folder).folder.unwrap().ignored.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_folder_does_not_switch_confirmation_off_and_may_switch_it_on() {
    let off = "[confirmation]\ndangerous = false\n";
    assert!(config("", off).confirmation.dangerous);
    assert_eq!(ignored("", off), ["confirmation.dangerous"]);
    let tightened =
        config(off, "[confirmation]\ndangerous = true\nmoderate = true\n[permissions]\npatience_secs = 5\n");
    let confirmation = &tightened.confirmation;
    assert!(confirmation.dangerous && confirmation.moderate);
    assert_eq!(tightened.permissions.patience_secs, Some(5));
    assert!(
        !config(off, "[confirmation]\nmoderate = true\n").confirmation.dangerous,
        "nothing that is not said"
    );
}

#[test]
fn a_folder_opens_no_folder() {
    let open = "[[folders]]\nopen = ['/']\n";
    assert_eq!(config("", open).folders, []);
    assert_eq!(ignored("", open), ["folders"]);
    assert_eq!(config(open, "[[folders]]\nopen = ['/x']\n").folders[0].open, ["/"]);
}

#[test]
fn a_folder_grants_its_own_servers_only() {
    let user = "[[servers]]\nid='u'\ncommand='x'\n";
    let grant = |server: &str| format!("[[permissions.grants]]\n{server}permission='shell.execute'\n");
    let folder = format!(
        "[[servers]]\nid='p'\ncommand='x'\n{}{}{}{}",
        grant("server='p'\n"),
        grant("server='u'\n"),
        grant("server='other'\n"),
        grant("")
    );
    let merged = loaded(user, &folder);
    let grants: Vec<_> =
        merged.config.permissions.grants.iter().map(|grant| grant.server.as_deref()).collect();
    assert_eq!(grants, [Some("p")]);
    assert_eq!(merged.folder.unwrap().ignored.len(), 3);
}

#[test]
fn a_folder_takes_no_name_that_could_be_taken_for_a_users_server() {
    let user = "[[servers]]\nid='git.hub'\ncommand='x'\nenabled=false\n";
    for id in ["git.hub", "git_hub", "Git-Hub", "GIT.HUB"] {
        let folder = format!("[[servers]]\nid='{id}'\ncommand='y'\n");
        let merged = loaded(user, &folder);
        assert_eq!(merged.config.servers.len(), 1, "{id}");
        assert!(!merged.sources.contains_key(id) || id == "git.hub");
    }
    assert_eq!(config(user, "[[servers]]\nid='git.hub2'\ncommand='y'\n").servers.len(), 2);
}

#[test]
fn a_folders_server_is_not_trusted_beyond_the_usual_nor_spared_nor_a_way_to_the_users_tools() {
    let user = "[[servers]]\nid='u'\ncommand='x'\n";
    let folder = "[[servers]]\nid='p'\ncommand='x'\n[servers.security]\ntrust_level='trusted'\n\
        spared_validators=['sandbox']\nconfirmation=true\n[servers.network]\nallow=['localhost:*']\n\
        preset='browser'\n[servers.definitions]\nallow=[{tool='a',rule='exfiltration'}]\n[servers.tools.a]\nfallback='u.execute'\n\
        [servers.tools.b]\nfallback='p.a'\n";
    let merged = config(user, folder);
    let server = merged.server("p").unwrap();
    assert_eq!(server.security.trust_level, None);
    assert!(server.security.spared_validators.is_empty() && server.security.confirmation);
    assert_eq!(server.network, ServerNetwork::default());
    assert_eq!(server.definitions, ServerDefinitions::default());
    for key in ["servers[0].network.allow", "servers[0].network.preset", "servers[0].definitions.allow"] {
        assert!(ignored(user, folder).contains(&key.to_owned()), "{key}");
    }
    assert_eq!(server.tools["a"].fallback, None);
    assert_eq!(server.tools["b"].fallback.as_deref(), Some("p.a"));
}

#[test]
fn a_folder_denies_and_allows_at_its_own_servers_only() {
    let rule = |server: &str, permission: &str| {
        format!("[[access.rules]]\nagent='a'\nserver='{server}'\npermission='{permission}'\n")
    };
    let user = format!("[[servers]]\nid='u'\ncommand='x'\n{}", rule("q", "deny"));
    let folder = format!(
        "[[servers]]\nid='p'\ncommand='x'\n[[servers]]\nid='q'\ncommand='x'\n{}{}{}{}",
        rule("p", "allow"),
        rule("u", "allow"),
        rule("u", "deny"),
        rule("q", "allow"),
    );
    let rules = config(&user, &folder).access.rules;
    let of = |server: &str| {
        let of: Vec<_> = rules.iter().filter(|rule| rule.server == server).collect();
        let [rule] = of[..] else { panic!("{server}: {of:?}") };
        (rule.permission, rule.source)
    };
    assert_eq!(of("p"), (AccessPermission::Allow, RuleSource::Folder));
    assert_eq!(of("u"), (AccessPermission::Deny, RuleSource::Folder));
    assert_eq!(of("q"), (AccessPermission::Deny, RuleSource::User));
}

#[test]
fn roots_lie_within_the_folder_or_within_the_users() {
    let roots = |user: &str, folder: &str| {
        config(&format!("[validators]\nroots = [{user}]\n"), &format!("[validators]\nroots = [{folder}]\n"))
            .validators
            .roots
    };
    assert!(roots("", "'/', '..', '/etc', 'missing'").is_empty());
    let [own] = &roots("", "'data', '/'")[..] else { panic!() };
    assert!(own.ends_with("/data"), "{own}");
    assert_eq!(roots("'/usr'", "'/usr/bin/../../etc', 'data', '/'"), ["/usr"]);
    assert_eq!(roots("'/usr'", "'/usr/bin'"), ["/usr/bin"]);
}

#[test]
fn a_warning_names_the_line_of_a_key_that_is_ignored() {
    let merged = loaded("", "[listen]\n# open\nhttp = '0.0.0.0:1'\n");
    let [warning] = &merged.warnings[..] else { panic!("{:?}", merged.warnings) };
    assert_eq!(warning.position.map(|position| position.line), Some(3));
    assert_eq!(warning.key.as_deref(), Some("listen.http"));
    assert!(merged.config.listen.http.is_none());
}

#[test]
fn each_key_in_effect_has_the_lines_that_set_it() {
    let user = "[limits]\nwaiting_calls = 5\n[[servers]]\nid = 'git'\ncommand = 'x'\n[[servers]]\nid = 'a.b'\ncommand = 'z'\nenv = { K = 'v' }\n";
    let folder = "\n[limits]\nwaiting_calls = 3\n[listen]\nhttp = '0.0.0.0:1'\n[[servers]]\nid = 'own'\ncommand = 'y'\n\
                  network.allow = ['h']\n";
    let places = loaded(user, folder).config.key_places.0;
    let set: Vec<String> = places
        .iter()
        .map(|(key, place)| {
            let name =
                |place: &str| place.rsplit_once('/').map_or_else(String::new, |(_, name)| name.to_owned());
            format!("{key} {}", place.split(" and ").map(name).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let expected = [
        "limits.waiting_calls servers.toml:2 mgp.toml:3",
        "servers.\"a.b\".command servers.toml:8",
        "servers.\"a.b\".env.K servers.toml:9",
        "servers.\"a.b\".id servers.toml:7",
        "servers.git.command servers.toml:5",
        "servers.git.id servers.toml:4",
        "servers.own.command mgp.toml:8",
        "servers.own.id mgp.toml:7",
    ];
    assert_eq!(set, expected, "the address and the network of the folder are ignored");
}

/// Returns the keys of `keys.txt`: the section, the key, and a strategy for a line that sets it, or for nothing.
fn lines() -> impl Iterator<Item = (&'static str, impl Strategy<Value = String>)> {
    include_str!("keys.txt").lines().filter(|row| !row.starts_with('#')).map(|row| {
        let (key, values) = row.split_once(" = ").unwrap();
        let (section, key) = key.split_once('.').unwrap();
        let value = proptest::sample::select(values.split(" | ").collect::<Vec<_>>());
        let line = proptest::option::of(value)
            .prop_map(move |value| value.map_or_else(String::new, |value| format!("{key} = {value}\n")));
        (section, line)
    })
}

/// Returns a file with some keys of each section, and agents, rules, grants and servers with these ids.
fn file(ids: &'static [&'static str]) -> impl Strategy<Value = String> {
    let (sections, lines): (Vec<_>, Vec<_>) = lines().unzip();
    let some = |most| proptest::collection::vec(proptest::sample::select(&["p", "q", "u", "v"][..]), 0..most);
    let permission = || proptest::sample::select(&["allow", "deny"][..]);
    let rules =
        proptest::collection::vec((proptest::sample::select(&["p", "q", "u", "v"][..]), permission()), 0..4);
    let servers = proptest::sample::subsequence(ids, 0..=ids.len());
    (lines, servers, rules, some(4), any::<bool>(), any::<bool>()).prop_map(
        move |(lines, servers, rules, grants, agent, all)| {
            let mut text = String::new();
            if agent {
                text.push_str("[[agents]]\nid = 'a'\nstdio = true\nhuman = true\nspeaks_for = ['*']\n");
            }
            let mut section = "";
            for (&of, line) in sections.iter().zip(lines) {
                if of != section {
                    section = of;
                    writeln!(text, "[{section}]").unwrap();
                }
                text.push_str(&line);
            }
            for id in servers {
                write!(text, "[[servers]]\nid = '{id}'\ncommand = 'run-{id}'\n").unwrap();
                if all {
                    text.push_str("[servers.network]\nallow = ['10.0.0.0/8']\npreset = 'browser'\n");
                    text.push_str("[servers.definitions]\nallow = [{ tool = 'x', rule = 'cross-tool' }]\n");
                }
            }
            let mut seen = BTreeSet::new();
            for (server, permission) in rules.into_iter().filter(|(server, _)| seen.insert(*server)) {
                write!(
                    text,
                    "[[access.rules]]\nagent = 'a'\nserver = '{server}'\npermission = '{permission}'\n"
                )
                .unwrap();
            }
            for server in grants {
                write!(text, "[[permissions.grants]]\nserver = '{server}'\npermission = 'shell.execute'\n")
                    .unwrap();
            }
            if all {
                text.push_str("[[permissions.grants]]\npermission = 'network.outbound'\n");
            }
            text
        },
    )
}

/// Returns whether the rules of a file alone deny every agent the server.
fn denies(config: &Config, server: &str) -> bool {
    let rule = config.access.rules.iter().find(|rule| rule.agent == "a" && rule.server == server);
    match rule {
        Some(rule) => rule.permission == AccessPermission::Deny,
        None => config.default_policy() == DefaultPolicy::OptIn,
    }
}

fn strictness(config: &Config) -> u8 {
    match config.permissions.policy.unwrap_or(ApprovalPolicy::Interactive) {
        ApprovalPolicy::AutoApprove => 0,
        ApprovalPolicy::Interactive => 1,
        ApprovalPolicy::DenyAll => 2,
        ApprovalPolicy::ConfigOnly => 3,
    }
}

fn within(limits: &LimitSettings, users: &LimitSettings) -> bool {
    let lower =
        |own: Option<u32>, user: Option<u32>, unsaid: u32| own.unwrap_or(unsaid) <= user.unwrap_or(unsaid);
    lower(limits.agent_calls_per_minute, users.agent_calls_per_minute, u32::MAX)
        && lower(limits.agent_calls_per_day, users.agent_calls_per_day, u32::MAX)
        && lower(limits.agent_concurrency, users.agent_concurrency, 512)
        && lower(limits.waiting_calls, users.waiting_calls, 1024)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_merged_configuration_is_never_weaker_than_the_users(
        user in file(&["u", "v", "q"]),
        folder in file(&["p", "q", "U", "x"]),
    ) {
        let before = config(&user, "");
        let after = config(&user, &folder);
        let own = |id: &str| before.server(id).is_none() && after.server(id).is_some();

        // The user's servers are unchanged, and no id is taken.
        for server in &before.servers {
            prop_assert_eq!(after.server(&server.id), Some(server));
        }
        prop_assert!(after.server("U").is_none() || before.server("u").is_none());
        for server in after.servers.iter().filter(|server| own(&server.id)) {
            prop_assert_eq!(&server.network, &ServerNetwork::default());
            prop_assert_eq!(&server.definitions, &ServerDefinitions::default());
        }
        // These keys are the user's alone.
        let mut listen = after.listen.clone();
        prop_assert!(listen.require_keys || !before.listen.require_keys);
        listen.require_keys = before.listen.require_keys;
        prop_assert_eq!(&listen, &before.listen);
        prop_assert_eq!(&after.agents, &before.agents);
        prop_assert_eq!(&after.tools, &before.tools);
        prop_assert_eq!(&after.telemetry, &before.telemetry);
        prop_assert_eq!(&after.kernel, &before.kernel);
        // These keys are only tightened.
        for server in ["u", "v", "q", "elsewhere"] {
            prop_assert!(own(server) || denies(&after, server) || !denies(&before, server), "{}", server);
        }
        prop_assert!(strictness(&after) >= strictness(&before));
        let added: Vec<&PermissionRule> =
            after.permissions.grants.iter().filter(|grant| !before.permissions.grants.contains(grant)).collect();
        prop_assert!(added.iter().all(|grant| grant.server.as_deref().is_some_and(own)), "{:?}", added);
        let never = after.permissions.never_automatic();
        prop_assert!(before.permissions.never_automatic().iter().all(|one| never.contains(one)));
        prop_assert!(after.permissions.patience_secs.unwrap_or(300) <= before.permissions.patience_secs.unwrap_or(300));
        let (confirmation, users) = (&after.confirmation, &before.confirmation);
        prop_assert!(confirmation.dangerous || !users.dangerous);
        prop_assert!(confirmation.moderate || !users.moderate);
        let (validators, users) = (&after.validators, &before.validators);
        prop_assert!(users.roots.is_empty() || !validators.roots.is_empty());
        let is_within = |root: &String| users.roots.iter().any(|bound| root.starts_with(bound.as_str()));
        prop_assert!(users.roots.is_empty() || users.roots == validators.roots || validators.roots.iter().all(is_within));
        prop_assert_eq!(&validators.allowed_hosts, &users.allowed_hosts);
        prop_assert!(users.denied_hosts.iter().all(|host| validators.denied_hosts.contains(host)));
        prop_assert!(validators.only_allowed_hosts || !users.only_allowed_hosts);
        prop_assert!(validators.first_use == FirstUse::Approve || users.first_use != FirstUse::Approve);
        let exact = ArgumentTypes::Exact;
        prop_assert!(validators.argument_types == exact || users.argument_types != exact);
        let mut audit = after.audit.clone();
        prop_assert!(audit.durability == AuditDurability::Sync || before.audit.durability != AuditDurability::Sync);
        audit.durability = before.audit.durability;
        prop_assert_eq!(&audit, &before.audit);
        prop_assert!(within(&after.limits, &before.limits));
        prop_assert_eq!(&after.registration, &before.registration);
        // All rules of the user that deny are still there.
        let denials = |config: &Config| -> Vec<AccessRule> {
            let denials = config.access.rules.iter().filter(|rule| rule.permission == AccessPermission::Deny);
            denials.cloned().map(|rule| AccessRule { source: RuleSource::User, ..rule }).collect()
        };
        let after = denials(&after);
        prop_assert!(denials(&before).iter().all(|rule| after.contains(rule)));
    }
}

#[test]
fn a_folder_names_the_groups_of_its_user_and_makes_none() {
    let group = "[[groups]]\nname = 'payments'\n";
    let denial = "[[access.rules]]\nagent = '@payments'\nserver = 'x'\npermission = 'deny'\n";
    assert_eq!(config(group, denial).access.rules[0].agent, "@payments");
    assert_eq!(config("", group).groups, []);
    assert_eq!(ignored("", group), ["groups"]);
}
