use std::process::Command;

use crate::home::Home;

#[test]
fn a_service_of_the_user_is_written_shown_and_removed() {
    let home = Home::with_state();
    let unit = if cfg!(target_os = "macos") {
        "Library/LaunchAgents/dev.cloto.mgp.plist"
    } else {
        ".config/systemd/user/mgp.service"
    };
    home.done(["service", "install", "--print"]);
    assert!(!home.path(unit).exists());
    assert_eq!(home.json(["service", "status"])["installed"], false);
    home.done(["service", "install", "--http", "127.0.0.1:7444"]);
    assert!(home.read(unit).contains("127.0.0.1:7444"), "{}", home.read(unit));
    if cfg!(target_os = "linux") {
        let socket = home.read(".config/systemd/user/mgp.socket");
        assert!(socket.contains("ListenStream=127.0.0.1:7444\n"), "{socket}");
    }
    assert_eq!(home.json(["service", "status"])["installed"], true);
    // As `systemctl --user enable` leaves it.
    let enabled = ".config/systemd/user/default.target.wants/mgp.service";
    home.write(enabled, "");
    home.done(["service", "uninstall"]);
    assert!(!home.path(unit).exists());
    assert!(cfg!(target_os = "macos") || !home.path(enabled).exists());
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let home = Home::with_state();
    if cfg!(target_os = "macos") || Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("there is no systemd-analyze here: the units are not verified");
        return;
    }
    for system in [&["service", "install", "--print"][..], &["service", "install", "--print", "--system"]] {
        let printed = home.run(system).out;
        // The last file printed is the unit.
        let (_, unit) = printed.rsplit_once("mgp.service\n").unwrap();
        home.write("mgp.service", unit);
        let verified =
            Command::new("systemd-analyze").arg("verify").arg(home.path("mgp.service")).output().unwrap();
        let report = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(!report.contains("Unknown") && !report.contains("Failed to parse"), "{report}");
    }
}

#[test]
fn the_unit_of_the_system_bounds_what_servers_take_and_names_no_manual_that_is_not_installed() {
    let home = Home::with_state();
    let printed = home.done(["service", "install", "--print", "--system"]).out;
    for bound in ["MemoryMax=", "TasksMax=", "OOMPolicy=continue"] {
        assert!(printed.contains(bound), "{bound}: {printed}");
    }
    assert!(!printed.contains("man:"), "{printed}");
}
