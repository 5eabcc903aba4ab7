//! `mgp conform`: the kit against this program, and against one that is no server.

use crate::home::Home;

#[test]
fn a_kernel_keeps_the_core_rules() {
    let home = Home::with_state();
    let kernel = [env!("CARGO_BIN_EXE_mgp"), "serve", "--foreground"];
    let ran = home.run(["conform", "server", "--level", "core", "--"].into_iter().chain(kernel));
    assert!(ran.code == Some(0) && ran.out.contains(" 0 failed"), "{ran:?}");
}

// covers: EXT-12-12
#[test]
fn a_program_that_is_no_server_does_not_pass() {
    let home = Home::new();
    let (junit, badge) = (home.path("report.xml"), home.path("badge.svg"));
    let [junit_name, badge_name] = [&junit, &badge].map(|path| path.display().to_string());
    let files = ["--junit", &junit_name, "--badge", &badge_name];
    let ran = home.run(["--json", "conform", "server"].into_iter().chain(files).chain(["--", "cat"]));
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["summary"]["passed"], &report["summary"]["failed"]), (&0.into(), &0.into()));
    assert!(home.read("report.xml").contains("<testsuite") && !badge.exists());
}
