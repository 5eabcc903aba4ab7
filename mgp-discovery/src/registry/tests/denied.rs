//! Tests of registrations that are refused.

use mgp_types::code;

use super::*;

#[test]
fn nobody_may_register_anything_unless_told() {
    let registry = world().registry;
    registry.set_policy(RegistrationPolicy::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for by in [maker(), admin()] {
        let outcome =
            runtime.block_on(registry.register(&by, None, script("a", "a.py"), RegistrationTerms::default()));
        assert!(matches!(outcome, Err(RegistryError::Forbidden(_))), "{outcome:?}");
    }
}

// covers: MGP-15.4-09
#[test]
fn whoever_says_to_be_somebody_else_is_not() {
    let world = world();
    let mut wanted = script("a", "a.py");
    wanted.created_by = Some("maker".into());
    assert_eq!(world.refused(&Principal::new("other"), wanted), code::PERMISSION_DENIED);
    assert_eq!(world.trail.lines(), ["server_registered BLOCKED"]);
}

// covers: MGP-15.4-02
#[test]
fn an_id_is_plain_and_nobody_elses() {
    let world = world();
    for id in ["", ".a", "-a", "a b", "a/b", "é", "mgp", "mgp.tools", "mgp_x", &"a".repeat(65)] {
        assert_eq!(world.refused(&maker(), script(id, "a.py")), code::INVALID_PARAMS, "{id}");
    }
    for id in ["files", "Files", "mind.cerebras"] {
        assert_eq!(world.refused(&maker(), script(id, "a.py")), code::SERVER_ALREADY_REGISTERED, "{id}");
    }
}

// covers: MGP-15.4-03
#[test]
fn only_listed_programs_are_started_and_only_as_they_are_listed() {
    let world = world();
    for command in ["node", "Python", "python3", "/usr/bin/python", "/opt/tools/other"] {
        let wanted = RegisterServer::new("a".into(), command, vec!["a.py".into()]);
        assert_eq!(world.refused(&admin(), wanted), code::PERMISSION_DENIED, "{command}");
    }
    for command in [
        "", "./python", "bin/python", "../opt/tools/server", "/opt/tools/../tools/server",
        "/opt/./tools/server", "python\0", "python\n", "..\\python",
    ] {
        let wanted = RegisterServer::new("a".into(), command, vec!["a.py".into()]);
        assert_eq!(world.refused(&admin(), wanted), code::INVALID_PARAMS, "{command:?}");
    }
}

// covers: MGP-15.4-04
#[test]
fn arguments_have_bounds_and_no_line_breaks() {
    let world = world();
    for args in [vec!["a\nb".into()], vec!["a\0".into()], vec!["x".repeat(5000)], vec!["x".into(); 65]] {
        let wanted = RegisterServer::new("a".into(), "/opt/tools/server", args);
        assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS);
    }
}

// covers: MGP-15.4-05
#[test]
fn the_transport_is_one_of_what_is_started() {
    let world = world();
    for (command, url, transport) in [
        (Some("python"), None, "http"),
        (None, Some("https://tools.example/mcp"), "stdio"),
        (Some("python"), Some("https://tools.example/mcp"), "stdio"),
        (None, None, "stdio"),
    ] {
        let mut wanted = script("a", "a.py");
        wanted.command = command.map(str::to_owned);
        wanted.url = url.map(str::to_owned);
        wanted.transport = Some(transport.into());
        assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS, "{command:?} {url:?}");
    }
}

#[test]
fn only_addresses_that_begin_as_a_listed_one_are_reached() {
    let world = world();
    let at = |url: &str| {
        let mut wanted = RegisterServer::new("a".into(), "", Vec::new());
        wanted.command = None;
        wanted.url = Some(url.into());
        wanted
    };
    for (url, expected) in [
        ("https://tools.example/mcpx", code::PERMISSION_DENIED),
        ("https://tools.example/", code::PERMISSION_DENIED),
        ("http://tools.example/mcp", code::PERMISSION_DENIED),
        ("https://tools.example.evil/mcp", code::PERMISSION_DENIED),
        ("file:///etc/passwd", code::INVALID_PARAMS),
        ("https://", code::INVALID_PARAMS),
        ("https://tools.example/mcp/../admin", code::INVALID_PARAMS),
        ("https://tools.example/mcp/%2E%2e/admin", code::INVALID_PARAMS),
        ("https://tools.example/mcp/..%2fadmin", code::INVALID_PARAMS),
        ("https://u:p@tools.example/mcp", code::INVALID_PARAMS),
        ("https://tools.example/mcp /x", code::INVALID_PARAMS),
        ("https://tools.example\\@evil/mcp", code::INVALID_PARAMS),
    ] {
        assert_eq!(world.refused(&admin(), at(url)), expected, "{url}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let registered =
        runtime.block_on(world.register(&maker(), at("https://tools.example/mcp/v2?x=1"))).unwrap();
    assert_eq!(registered.status, ServerStatus::PendingApproval);
}

#[test]
fn the_values_of_variables_are_the_kernels_own() {
    let world = world();
    for value in ["literal", "${OTHER}", "${API_KEY}${OTHER}", "${API_KEY:-x}"] {
        let mut wanted = script("a", "a.py");
        wanted.env.insert("API_KEY".into(), value.into());
        assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS, "{value}");
    }
}

// covers: MGP-15.4-07
#[test]
fn a_sandboxed_server_gets_nothing_dangerous() {
    let world = world();
    for permission in ["shell.execute", "filesystem.write", "code_execution", "com.example.unknown"] {
        let mgp = RegisterMgp::new(TrustLevel::Sandboxed, vec![Permission::read(permission)]);
        assert_eq!(
            world.refused(&maker(), script("a", "a.py").with_mgp(mgp.clone())),
            code::PERMISSION_DENIED
        );
        assert_eq!(world.refused(&admin(), script("a", "a.py").with_mgp(mgp)), code::PERMISSION_DENIED);
    }
}

// covers: MGP-15.4-08
#[test]
fn an_agents_server_is_sandboxed_whatever_it_says() {
    let world = world();
    let mgp = RegisterMgp::new(TrustLevel::Trusted, vec![Permission::ShellExecute]);
    assert_eq!(world.refused(&maker(), script("a", "a.py").with_mgp(mgp)), code::PERMISSION_DENIED);
}

// covers: MGP-15.4-11
#[test]
fn code_that_is_refused_or_cannot_be_seen_is_not_registered() {
    let world = world();
    assert_eq!(world.refused(&maker(), script("a", "evil.py")), code::CODE_SAFETY_VIOLATION);
    assert_eq!(world.trail.lines(), ["CODE_REJECTED BLOCKED"]);
    assert_eq!(world.refused(&maker(), script("a", "odd.py")), code::PERMISSION_DENIED);
    let hidden = RegisterServer::new("a".into(), "python", vec!["-c".into(), "print(1)".into()]);
    assert_eq!(world.refused(&maker(), hidden), code::PERMISSION_DENIED);
    let shell = RegisterServer::new("a".into(), "sh", vec!["-c".into(), "rm -rf /".into()]);
    assert_eq!(world.refused(&maker(), shell), code::PERMISSION_DENIED);
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
}

#[test]
fn a_refusal_of_code_says_what_was_found() {
    let world = world();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = Error::from(runtime.block_on(world.register(&maker(), script("a", "evil.py"))).unwrap_err());
    let details = error.recovery().unwrap().details.unwrap();
    assert!(String::from_utf8_lossy(details.as_bytes()).contains("Blocked import: 'socket'"));
}

// covers: MGP-15.4-10
#[test]
fn words_have_bounds() {
    let world = world();
    let mut wanted = script("a", "a.py");
    wanted.justification = Some("x".repeat(1001));
    assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS);
    let mut wanted = script("a", "a.py");
    wanted.mgp.extensions = vec!["x".into(); 33];
    assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS);
}

#[tokio::test]
async fn there_are_no_more_than_there_may_be_and_none_twice() {
    let world = world();
    for number in 0..16 {
        world.register(&maker(), script(&format!("a{number}"), "a.py")).await.unwrap();
    }
    let full = world.register(&maker(), script("d", "a.py")).await.unwrap_err();
    assert_eq!(Error::from(full).code(), code::RESOURCE_EXHAUSTED);
    let twice = world.register(&admin(), standard("A0")).await.unwrap_err();
    assert_eq!(Error::from(twice).code(), code::SERVER_ALREADY_REGISTERED);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done() {
    let world = world();
    *world.trail.is_full.lock() = true;
    let outcome = world.register(&admin(), standard("a")).await;
    assert!(matches!(outcome, Err(RegistryError::Unrecorded(_))), "{outcome:?}");
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
    *world.trail.is_full.lock() = false;
    world.register(&admin(), standard("a")).await.unwrap();
}

#[test]
fn variables_that_load_code_are_refused_although_they_are_listed() {
    let world = world();
    let mut listed = settings();
    listed.env = ["LD_PRELOAD", "PYTHONPATH", "node_options", "BASH_ENV", "TOKEN"].map(str::to_owned).into();
    world.registry.set_policy(RegistrationPolicy::new(&listed, []));
    for name in ["LD_PRELOAD", "PYTHONPATH", "node_options", "BASH_ENV"] {
        let mut wanted = script("a", "a.py");
        wanted.env.insert(name.into(), String::new());
        assert_eq!(world.refused(&maker(), wanted), code::PERMISSION_DENIED, "{name}");
    }
}
