use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;

/// A kernel that is ended with the test.
pub(crate) struct Kernel(pub(crate) Child);

impl Kernel {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let kernel = Self::spawn(home, args);
        let socket = home.path("state/mgp.sock");
        let end = Instant::now() + Duration::from_secs(20);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < end, "the kernel does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        kernel
    }

    /// Starts one, and does not wait until it listens.
    pub(crate) fn spawn(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(["serve"].iter().chain(args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(home.path("stderr")).unwrap());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

/// What a client says on the standard input and output of a process.
pub(crate) struct Talk {
    pub(crate) input: ChildStdin,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
    id: u32,
}

impl Talk {
    /// Opens a session.
    pub(crate) fn open(kernel: &mut Kernel) -> Self {
        let input = kernel.0.stdin.take().unwrap();
        let lines = BufReader::new(kernel.0.stdout.take().unwrap()).lines();
        let mut talk = Self { input, lines, id: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        });
        let answer = talk.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "mgp", "{answer}");
        writeln!(talk.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
        talk
    }

    /// The answer to a request; what else is told meanwhile is passed over.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        loop {
            let line = self.lines.next().expect("the connection ended").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.id {
                return message;
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A user whose state lies beside the configuration.
pub(crate) fn home() -> Home {
    let home = Home::new();
    let state = home.path("state");
    fs::write(home.path("mgp.toml"), format!("[kernel]\nstate = {:?}\n", state.display().to_string()))
        .unwrap();
    home
}
