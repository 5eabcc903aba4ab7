//! A disk that somebody fills: nothing is done that is not recorded, and a stolen key can be revoked.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::home::Home;
use crate::http::{ask, send};
use crate::kernel::{Kernel, found, until};
use crate::runner::tests;
use crate::server;

tests![on_a_full_disk_calls_are_refused_and_keys_are_revoked_until_there_is_room];

/// A small disk that is mounted in a folder, and unmounted with this.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one, which takes root; `None` where that is refused.
    fn mounted(folder: PathBuf) -> Option<Self> {
        fs::create_dir_all(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs"]).arg(&folder);
        let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        is_mounted.then_some(Self(folder))
    }

    fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).unwrap();
        while filler.write_all(&[7; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

async fn on_a_full_disk_calls_are_refused_and_keys_are_revoked_until_there_is_room() {
    let home = Home::with_state();
    let Some(disk) = SmallDisk::mounted(home.path("state")) else {
        println!("no disk can be mounted here: a full one is not tested");
        return;
    };
    let settings = format!("[telemetry]\nmetrics = true\n[listen]\nrest = true\n{}", server::UNASKED);
    server::configure(&home, &settings, &[("one", "")]);
    let (kernel, port) = Kernel::on_http(&home);
    let ids: Vec<_> = ["stolen", "lost"].map(|owner| home.json(["keys", "new", owner])["id"].clone()).into();
    let id = |index: usize| ids[index].as_str().unwrap();
    let call = || {
        let params = json!({"name": "one.echo", "arguments": {"text": "x"}});
        ask(port, "", &json!({}), "tools/call", params).body
    };
    until("the server is called", || !call().contains("error") && !call().contains("isError\":true"));
    let ready = || send(port, "GET", "/readyz", "", "");
    assert_eq!(ready().status, 200);

    disk.fill();
    let refused =
        found("calls are refused", || Some(call()).filter(|answer| answer.contains("no room is left")));
    assert!(refused.contains("try again in 60 seconds"), "{refused}");
    let media = "Content-Type: application/json\r\n";
    let rest = send(port, "POST", "/tools/one.echo", media, r#"{"text":"x"}"#);
    let error = &rest.json()["error"];
    assert_eq!(
        (&error["category"], &error["retry_after_seconds"]),
        (&json!("transient"), &json!(60)),
        "{error}"
    );
    (0..50).for_each(|_| drop(call()));
    let lines = home.read("stderr").matches("calls are refused because").count();
    assert!((1..5).contains(&lines), "not a line for each: {lines}");
    let unready = ready();
    assert_eq!(unready.status, 503);
    assert!(
        unready.body.contains("not_recording") && unready.body.contains("no room is left"),
        "{}",
        unready.body
    );
    assert!(send(port, "GET", "/metrics", "", "").body.contains("mgp_state_disk_free_bytes 0"));

    home.done(["keys", "revoke", id(0)]);
    home.done(["access", "deny", "agent.thief", "one"]);
    assert_ne!(home.run(["keys", "new", "agent.other"]).code, Some(0), "what gives something stays refused");
    assert!(call().contains("no room is left"));
    drop(kernel);
    // Without a kernel, the state can be opened as well.
    home.done(["keys", "revoke", id(1)]);

    disk.make_room();
    let (_kernel, port) = Kernel::on_http(&home);
    until("the kernel is ready", || send(port, "GET", "/readyz", "", "").status == 200);
    disk.fill();
    until("it is not any more", || {
        let _ = home.run(["keys", "new", "agent.other"]);
        send(port, "GET", "/readyz", "", "").status == 503
    });
    disk.make_room();
    until("it is ready by itself", || send(port, "GET", "/readyz", "", "").status == 200);
    assert_eq!(home.json(["audit", "verify"])["intact"], true);
    let revoked = home.json(["audit", "query", "--type", "dev.cloto.mgp.key_revoked"]);
    assert_eq!(revoked["events"].as_array().unwrap().len(), 2, "{revoked}");
    let keys = home.json(["keys", "list"]).to_string();
    assert!(!keys.contains(id(0)) && !keys.contains(id(1)), "{keys}");
    assert!(home.json(["access", "list"]).to_string().contains("agent.thief"));
}
