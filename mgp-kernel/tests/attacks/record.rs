//! Who hides what was done, or has the kernel write where it should not.

use std::fs;

use serde_json::json;

use crate::home::Home;
use crate::kernel::found;
use crate::runner::tests;
use crate::server::{self, Scene};

tests![
    a_record_that_was_emptied_does_not_verify,
    a_record_of_which_the_end_was_cut_does_not_verify,
    an_end_that_is_kept_by_another_owner_tells_of_a_cut_too,
    a_link_in_place_of_a_file_of_the_kernel_is_refused,
    a_record_that_is_removed_beside_a_kernel_ends_its_calls,
    a_call_of_a_kernel_that_was_killed_is_told_by_the_next,
];

/// Makes some events, and returns the number of the last.
fn events(home: &Home, agents: &[&str]) -> u64 {
    for agent in agents {
        home.done(["access", "grant", agent, "fs", "--force"]);
    }
    home.json(["audit", "verify"])["head"]["seq"].as_u64().unwrap()
}

fn remove_record(home: &Home) {
    for file in ["audit.db", "audit.db-wal", "audit.db-shm"] {
        let _ = fs::remove_file(home.path("state").join(file));
    }
}

async fn a_record_that_was_emptied_does_not_verify() {
    let home = Home::with_state();
    let last = events(&home, &["a", "b", "c"]);
    remove_record(&home);
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, Some(5), "{verified:?}");
    assert!(verified.out.contains(&format!("cut: the last known event was {last}")), "{verified:?}");
    // More events do not cover it up.
    for agent in ["d", "e", "f", "g", "h"] {
        home.done(["access", "grant", agent, "fs", "--force"]);
    }
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, Some(5), "{verified:?}");
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("error: record"), "{doctor:?}");
}

async fn a_record_of_which_the_end_was_cut_does_not_verify() {
    let home = Home::with_state();
    let early = events(&home, &["a"]);
    let kept = fs::read(home.path("state/audit.db")).unwrap();
    let last = events(&home, &["b", "c"]);
    assert!(early < last);
    remove_record(&home);
    fs::write(home.path("state/audit.db"), kept).unwrap();
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, Some(5), "{verified:?}");
    assert!(
        verified.out.contains(&format!("the last known event was {last}, the record ends at")),
        "{verified:?}"
    );
}

async fn an_end_that_is_kept_by_another_owner_tells_of_a_cut_too() {
    let home = Home::with_state();
    let ends = home.path("elsewhere");
    home.configure(&format!("[audit]\nends = {ends:?}\n"));
    // What is in the folder of a project is for its user to decide.
    let config = home.path("mgp.toml").display().to_string();
    let run = |args: &[&str]| home.run(["--config", &config].iter().chain(args));
    assert_eq!(run(&["access", "grant", "a", "fs", "--force"]).code, Some(0));
    assert_eq!(run(&["audit", "verify"]).code, Some(0));
    remove_record(&home);
    fs::remove_file(home.path("state/audit.end")).unwrap();
    let verified = run(&["audit", "verify"]);
    assert_eq!(verified.code, Some(5), "{verified:?}");
}

async fn a_link_in_place_of_a_file_of_the_kernel_is_refused() {
    for file in ["audit.db", "mgp.db", "arguments.key", "audit.db-wal", "audit.end", "audit.calls"] {
        let home = Home::with_state();
        home.done(["access", "list"]);
        home.write("target", "");
        let path = home.path("state").join(file);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(home.path("target"), &path).unwrap();
        let ran = home.run(["access", "list"]);
        assert_ne!(ran.code, Some(0), "{file}: {ran:?}");
        assert!(ran.err.contains("symbolic link"), "{file}: {ran:?}");
        assert_eq!(fs::read_to_string(home.path("target")).unwrap(), "", "{file}");
    }
}

async fn a_record_that_is_removed_beside_a_kernel_ends_its_calls() {
    for renames in [false, true] {
        let mut scene = Scene::new(server::UNASKED, &[("one", "")]);
        let (home, talk) = (&scene.home, &mut scene.talk);
        let mut call = || {
            let call = json!({"name": "one.echo", "arguments": {"text": "x"}});
            talk.ask("tools/call", &call).to_string()
        };
        assert!(!call().contains("error"));
        let record = home.path("state/audit.db");
        if renames {
            fs::rename(&record, home.path("state/audit.db.x")).unwrap();
        } else {
            fs::remove_file(&record).unwrap();
        }
        // The calls after the first event that cannot be written are refused.
        let refused = found("the call ends", || Some(call()).filter(|answer| answer.contains("error")));
        assert!(refused.contains("the record cannot be kept"), "{refused}");
        let verified = home.run(["audit", "verify"]);
        assert_ne!(verified.code, Some(0), "{verified:?}");
        assert!(home.run(["doctor"]).out.contains("error: record"), "the doctor says so");
    }
}

async fn a_call_of_a_kernel_that_was_killed_is_told_by_the_next() {
    let Scene { home, kernel, mut talk } = Scene::new(server::UNASKED, &[("one", "")]);
    talk.tell("tools/call", &json!({"name": "one.execute_command", "arguments": {"command": "sleep 60"}}));
    let calls = home.path("state/audit.calls");
    let noted = found("the call ends", || {
        fs::read_to_string(&calls).ok().filter(|calls| calls.contains("one.execute_command"))
    });
    assert!(!noted.contains("sleep 60"), "what is not recorded is not noted");
    drop(kernel);
    for _ in 0..2 {
        let events = home.json(["audit", "query", "--type", "dev.cloto.mgp.kernel_lost"]).to_string();
        assert_eq!(events.matches("one.execute_command").count(), 1, "{events}");
    }
}
