//! Decisions that kernels share, as far as that needs no database: the settings, and a database that is not there.

use serde_json::Value;

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;

/// A home whose kernel shares its decisions in a database to which nobody can connect.
fn without_database() -> Home {
    let home = Home::with_state();
    home.configure("[store]\nurl = 'postgres://ada:s3cret@127.0.0.1:1/mgp'\nkey = 's3cret'\n");
    home
}

#[test]
fn a_kernel_that_does_not_reach_the_decisions_of_others_says_so_and_calls_nothing() {
    let home = without_database();
    home.add_server("clock", &home.clock());
    home.configure("[telemetry]\nmetrics = true\n");
    let (_kernel, port) = Kernel::on_http(&home);
    let called = home.run(["call", "clock.now"]);
    // What a server says of itself cannot be noted without the others either, so it may not have started.
    let reasons = ["latest decisions", "the store cannot be used"];
    assert!(called.code == Some(4) && reasons.iter().any(|reason| called.err.contains(reason)), "{called:?}");
    let status = home.run(["status", "--json"]);
    let shown: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((status.code, &shown["link"]["stale"]), (Some(4), &true.into()), "{shown}");
    let ready = http::send(port, "GET", "/readyz", "", "");
    assert!(ready.status == 503 && ready.body.contains("\"stale\""), "{}", ready.body);
    let metrics = http::send(port, "GET", "/metrics", "", "").body;
    assert!(metrics.contains("\nmgp_store_lag_seconds +Inf\n"), "{metrics}");
    let config = home.done(["config", "show"]);
    assert!(!config.out.contains("s3cret") && config.out.contains("postgres://ada"), "{}", config.out);
    let cluster = home.run(["cluster", "status"]);
    assert!(cluster.code != Some(0) && !cluster.err.contains("s3cret"), "{cluster:?}");
}

#[test]
fn decisions_are_not_made_without_the_others() {
    let home = without_database();
    let granted = home.run(["access", "grant", "a", "fs", "--force"]);
    assert_ne!(granted.code, Some(0), "{granted:?}");
    assert_eq!(home.json(["access", "list"])["entries"].as_array().unwrap().len(), 0);
}

#[test]
fn the_record_of_this_kernel_is_shown_where_that_of_all_is_not_reached() {
    let home = without_database();
    let shown = home.done(["audit", "query"]);
    assert!(shown.err.contains("only events of this kernel"), "{shown:?}");
    assert!(home.json(["audit", "query"])["only_here"].is_string());
    let exported = home.done(["audit", "export"]);
    assert!(exported.err.contains("only events of this kernel"), "{exported:?}");
    let verified = home.run(["audit", "verify"]);
    assert!(
        verified.code == Some(5) && verified.err.contains("of all kernels cannot be checked"),
        "{verified:?}"
    );
}

#[test]
fn commands_about_a_shared_database_say_what_is_missing() {
    let home = Home::with_state();
    for command in ["init", "check", "copy"] {
        let ran = home.run(["store", command]);
        assert!(ran.code == Some(1) && ran.err.contains("[store]"), "{ran:?}");
    }
    let alone = home.run(["cluster", "status"]);
    assert!(alone.code == Some(1) && alone.err.contains("decides alone"), "{alone:?}");
    let away = without_database();
    for command in ["init", "check"] {
        let ran = away.run(["store", command]);
        assert!(ran.code == Some(4) && !ran.err.contains("s3cret"), "{ran:?}");
    }
}

#[test]
fn a_kernel_with_decisions_of_its_own_does_not_join_others() {
    let home = Home::with_state();
    home.done(["access", "grant", "a", "fs", "--force"]);
    home.configure("[store]\nurl = 'postgres://127.0.0.1:1/mgp'\nkey = 'k'\n");
    let refused = home.run(["access", "list"]);
    assert!(refused.code == Some(1) && refused.err.contains("mgp store copy"), "{refused:?}");
}

#[test]
fn a_changed_secret_leads_to_no_other_database_until_it_is_taken_with_the_passphrase() {
    let home = Home::with_state();
    assert_eq!(home.run_with(["operators", "passphrase", "--stdin"], "correct horse\n").code, Some(0));
    let token = home.run_with(["operators", "token", "--stdin"], "correct horse\n");
    home.configure("[store]\nurl = '${secret:DATABASE}'\nkey = '${secret:ORDERS}'\n");
    let set = |name: &str, value: &str| {
        let set = home.run_with(["secrets", "set", name, "--file"], value);
        assert_eq!(set.code, Some(0), "{set:?}");
    };
    set("DATABASE", "postgres://127.0.0.1:1/mgp\n");
    set("ORDERS", "s3cret\n");
    let mut reload = home.command(["reload"]);
    reload.env("MGP_OPERATORS_TOKEN", token.out.trim());
    let reloaded = Home::ran(reload, "");
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let checked = home.run(["store", "check"]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    set("DATABASE", "postgres://127.0.0.1:2/evil\n");
    let refused = home.run(["store", "check"]);
    assert!(
        refused.code == Some(1) && refused.err.contains("the secret DATABASE was changed"),
        "{refused:?}"
    );
    set("DATABASE", "postgres://127.0.0.1:1/mgp\n");
    set("ORDERS", "evil\n");
    let refused = home.run(["store", "check"]);
    assert!(refused.code == Some(1) && refused.err.contains("the secret ORDERS was changed"), "{refused:?}");
}
