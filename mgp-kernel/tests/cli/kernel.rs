use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use crate::home::Home;

/// A kernel that is ended with the test.
pub(crate) struct Kernel {
    pub(crate) child: Child,
    told: PathBuf,
}

impl Kernel {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let told = home.path("serve.err");
        let mut command = home.command(["serve"].iter().chain(args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&told).unwrap());
        let kernel = Self { child: command.spawn().unwrap(), told };
        let socket = home.path("state/mgp.sock");
        let end = Instant::now() + PATIENCE;
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < end, "the kernel does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        kernel
    }

    /// Waits until it has written `what` to standard error, and returns the rest of that line.
    pub(crate) fn tells(&self, what: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let told = std::fs::read_to_string(&self.told).unwrap();
            if let Some((rest, _)) = told.split_once(what).and_then(|(_, rest)| rest.split_once('\n')) {
                return rest.to_owned();
            }
            assert!(Instant::now() < end, "`{what}` is not told: {told}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The port at which it listens for HTTP.
    pub(crate) fn port(&self) -> u16 {
        let address = self.tells("listening at http://");
        let (_, port) = address.strip_suffix("/mcp").unwrap().rsplit_once(':').unwrap();
        port.parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(20);
