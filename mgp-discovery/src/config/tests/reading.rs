//! Tests of single keys.

use std::collections::BTreeMap;

use mgp_types::mgp::{RestartPolicy, TrustLevel, ValidatorName};
use proptest::prelude::*;

use super::super::model::{ServerAgent, ServerConfig, ServerMgp, ToolRule, TransportKind};
use super::super::{Config, Endpoint};
use super::{SEED, config, parse};

// covers: MGP-15.2-05..08, MGP-15.2-10..14, MGP-15.3-01
#[test]
fn the_example_of_the_specification_is_read_whole() {
    let (config, warnings) = parse(SEED).unwrap();
    assert_eq!(warnings, []);
    let server = &config.servers[0];
    assert_eq!(server.id, "mind.cerebras");
    assert_eq!(server.command.as_deref(), Some("python"));
    assert_eq!(server.args, ["mcp-servers/cerebras/server.py"]);
    assert_eq!(server.transport, Some(TransportKind::Stdio));
    assert_eq!(server.env["CEREBRAS_API_KEY"], "${CEREBRAS_API_KEY}");
    assert_eq!(server.trust(), TrustLevel::Standard);
    assert_eq!(server.restart_policy(), RestartPolicy::OnFailure);
    let mgp = server.mgp.as_ref().unwrap();
    assert_eq!(mgp.extensions, ["security", "lifecycle", "streaming"]);
    assert_eq!(mgp.permissions_required, ["network.outbound"]);
}

// covers: MGP-15.2-09
#[test]
fn a_server_without_the_mgp_section_is_plain_mcp() {
    let config = config("[[servers]]\nid='a'\ncommand='x'\n");
    assert_eq!(config.servers[0].mgp, None);
    assert!(config.servers[0].enabled);
}

// covers: MGP-15.2-15
#[test]
fn a_client_that_only_knows_mcp_finds_its_keys_where_they_were() {
    #[derive(serde::Deserialize)]
    struct File {
        servers: Vec<Server>,
    }
    #[derive(serde::Deserialize)]
    struct Server {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    }

    let file: File = toml_edit::de::from_str(SEED).unwrap();
    let server = &file.servers[0];
    assert_eq!((server.command.as_str(), server.args.len(), server.env.len()), ("python", 1, 1));
}

// covers: MGP-15.2-08
#[test]
fn every_name_of_a_transport_is_understood() {
    for (at, transport, kind) in [
        ("command='x'", "stdio", TransportKind::Stdio),
        ("url='http://x'", "http", TransportKind::Http),
        ("url='http://x'", "streamable-http", TransportKind::Http),
        ("url='http://x'", "streamable_http", TransportKind::Http),
        ("url='http://x'", "sse", TransportKind::Sse),
        ("socket='/x'", "unix", TransportKind::Unix),
    ] {
        let config = config(&format!("[[servers]]\nid='a'\n{at}\ntransport='{transport}'\n"));
        assert_eq!(config.servers[0].transport, Some(kind));
    }
}

// covers: MGP-15.2-13
#[test]
fn when_to_start_again_may_stand_in_either_place() {
    let own = config("[[servers]]\nid='a'\ncommand='x'\nrestart_policy='always'\nmax_restarts=3\n");
    let declared = config("[[servers]]\nid='a'\ncommand='x'\n[servers.mgp]\nrestart_policy='always'\n");
    for config in [&own, &declared] {
        assert_eq!(config.servers[0].restart_policy(), RestartPolicy::Always);
    }
    assert_eq!(own.servers[0].max_restarts, Some(3));
    assert_eq!(ServerConfig::default().restart_policy(), RestartPolicy::OnFailure);
}

#[test]
fn a_table_of_a_server_belongs_to_the_last_one() {
    let config = config(
        "[[servers]]\nid='a'\ncommand='x'\n[[servers]]\nid='b'\ncommand='x'\n[listen]\nrequire_keys=true\n\
         [servers.mgp]\ntrust_level='sandboxed'\n",
    );
    assert_eq!(config.servers[0].mgp, None);
    assert_eq!(config.servers[1].trust(), TrustLevel::Sandboxed);
}

#[test]
fn words_of_later_drafts_are_levels_of_trust_too() {
    for (word, level) in [("core", TrustLevel::Trusted), ("untrusted", TrustLevel::Sandboxed)] {
        let config = config(&format!("[[servers]]\nid='a'\ncommand='x'\nsecurity.trust_level='{word}'\n"));
        assert_eq!(config.servers[0].trust(), level);
    }
}

#[test]
fn defaults_in_rust_are_those_of_the_file() {
    assert!(ServerConfig::default().enabled && ToolRule::default().enabled);
    let config = config("[[servers]]\nid='a'\ncommand='x'\n[servers.tools.t]\ncalls_per_minute=1\n");
    assert_eq!(config.servers[0].tools["t"], ToolRule { calls_per_minute: Some(1), ..ToolRule::default() });
    assert_eq!(Config::default(), parse("").unwrap().0);
}

fn with_key(name: &str) -> Option<String> {
    (name == "KEY").then(|| "hunter2".to_owned())
}

// covers: MGP-15.2-14
#[test]
fn expanding_gives_each_agent_its_own_on_top_of_what_is_shared() {
    let config = config(
        "[[servers]]\nid='a'\nurl='https://${KEY}.example.com'\nheaders={A='a', B='b'}\n\
         [servers.agents.x.headers]\nA='${KEY}'\n",
    );
    let expanded = config.servers[0].expanded(&with_key).unwrap();
    let Endpoint::Http { url, headers, .. } = &expanded.endpoint else { panic!("{expanded:?}") };
    assert_eq!((url.expose(), headers["A"].expose()), ("https://hunter2.example.com", "a"));
    let Endpoint::Http { headers, .. } = &expanded.agents["x"] else { panic!("{expanded:?}") };
    assert_eq!((headers["A"].expose(), headers["B"].expose()), ("hunter2", "b"));
    assert!(config.servers[0].only_for_its_agents());
}

#[test]
fn variables_that_make_no_address_are_a_fault() {
    let config = config("[[servers]]\nid='a'\nurl='${KEY}'\n");
    let fault = config.servers[0].expanded(&with_key).unwrap_err();
    assert!(fault.key == "url" && fault.what.contains("not an address"), "{fault}");
}

// covers: MGP-15.2-14
#[test]
fn no_value_is_shown_by_accident() {
    let config = config(
        "[[servers]]\nid='a'\ncommand='x'\nargs=['--key=${KEY}']\nenv={TOKEN='${KEY}', PLAIN='written-out'}\n\
         [servers.agents.x.env]\nOWN='written-out'\n[telemetry]\notlp_headers={H='written-out'}\n",
    );
    let expanded = config.servers[0].expanded(&with_key).unwrap();
    let shown = format!("{config:?} {expanded:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("written-out"), "{shown}");
    assert!(shown.contains("TOKEN"), "names are shown: {shown}");
    let written = serde_json::to_string(&config).unwrap();
    assert!(written.contains("${KEY}") && !written.contains("hunter2"), "{written}");
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(r#"[A-Za-z_. "\]]{1,6}"#, r"[ -~äö\t\n]{0,10}", 0..3)
        .prop_map(|all| all.into_iter().map(|(name, text)| (name, text.replace("${", "$ {"))).collect())
}

prop_compose! {
    fn servers()(
        id in "[a-z._-]{1,8}",
        at in 0..4,
        text in "[a-z/ \"]{1,8}",
        env in texts(),
        headers in texts(),
        enabled: bool,
        mgp in prop::option::of(prop::collection::vec("[a-z]{8}", 0..2)),
        max_restarts: Option<u32>,
        trust in prop::option::of(prop::sample::select(&[TrustLevel::Trusted, TrustLevel::Sandboxed][..])),
        validated: bool,
        timeout in prop::option::of(1..1_u64 << 40),
        tools in prop::collection::btree_map(
            r#"[a-z. "]{1,5}"#,
            any::<(bool, Option<u32>)>().prop_map(|(enabled, calls_per_minute)| ToolRule {
                enabled, calls_per_minute, ..ToolRule::default()
            }),
            0..3,
        ),
        agents in prop::collection::btree_map("[a-z.]{1,5}", texts(), 0..3),
    ) -> ServerConfig {
        let mut server = ServerConfig { id, env, headers, enabled, max_restarts, tools, ..ServerConfig::default() };
        match at {
            0 => (server.command, server.args) = (Some(text.clone()), vec![text, "\\ '''".into()]),
            1 => server.url = Some("https://example.com".into()),
            2 => (server.url, server.transport) = (Some("http://x".into()), Some(TransportKind::Sse)),
            _ => server.socket = Some(text),
        }
        server.mgp = mgp.map(|extensions| ServerMgp { extensions, ..ServerMgp::default() });
        server.security.trust_level = trust;
        server.security.validators = if validated { vec![ValidatorName::Sandbox] } else { Vec::new() };
        server.limits.timeout_ms = timeout;
        server.agents = agents
            .into_iter()
            .map(|(id, env)| (id, ServerAgent { env, ..ServerAgent::default() }))
            .collect();
        server
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(servers in prop::collection::btree_map("[a-z]{1,4}", servers(), 0..4)) {
        let servers: Vec<ServerConfig> =
            servers.into_iter().map(|(id, server)| ServerConfig { id, ..server }).collect();
        let config = Config { servers: servers.clone(), ..Config::default() };
        let whole = toml_edit::ser::to_string_pretty(&config).unwrap();
        prop_assert_eq!(&parse(&whole).unwrap().0, &config, "{}", whole);

        let mut file = super::super::ConfigFile::open("/nonexistent/mgp.toml").unwrap();
        for server in &servers {
            file.add(server).unwrap();
        }
        prop_assert_eq!(parse(file.text()).unwrap().0.servers, servers, "{}", file.text());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\n){0,200}") {
        let _ = parse(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn any_damage_is_told_and_nothing_falls(at: prop::sample::Index, with in "[\\[\\]{}=\"'.,#$\n0a-]{0,3}", cut in 0..9_usize) {
        let example = include_str!("../example.toml");
        let start = at.index(example.len());
        let end = (start + cut).min(example.len());
        let damaged = format!("{}{with}{}", &example[..start], &example[end..]);
        if let Err(error) = parse(&damaged) {
            prop_assert!(!error.problems().is_empty());
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }
}
