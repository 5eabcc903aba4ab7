//! Who hides what was done, or has the kernel write where it should not.

use std::fs;

use crate::home::Home;
use crate::runner::tests;

tests![
    a_record_that_was_emptied_does_not_verify,
    a_record_of_which_the_end_was_cut_does_not_verify,
    an_end_that_is_kept_by_another_owner_tells_of_a_cut_too,
    a_link_in_place_of_a_file_of_the_kernel_is_refused,
];

/// Makes some events, and returns the number of the last.
fn events(home: &Home, agents: &[&str]) -> u64 {
    for agent in agents {
        assert_eq!(home.run(["access", "grant", agent, "fs", "--force"]).code, Some(0));
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
        assert_eq!(home.run(["access", "grant", agent, "fs", "--force"]).code, Some(0));
    }
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, Some(5), "{verified:?}");
    assert!(home.run(["doctor"]).out.contains("no  record"), "the doctor says so");
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
    home.write("mgp.toml", &format!("{}\n[audit]\nends = {ends:?}\n", home.read("mgp.toml")));
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
    for file in ["audit.db", "mgp.db", "arguments.key", "audit.db-wal", "audit.end"] {
        let home = Home::with_state();
        assert_eq!(home.run(["access", "list"]).code, Some(0));
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
