use std::fs::File;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;

/// A kernel that is ended with the test.
pub(crate) struct Kernel {
    pub(crate) child: Child,
    stderr: PathBuf,
}

impl Kernel {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_where(home, &[], args)
    }

    /// Starts one, where these variables are set.
    pub(crate) fn start_where(home: &Home, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let kernel = Self::started(home, variables, &[&["--foreground"], args].concat());
        let socket = home.path("state/mgp.sock");
        until("the kernel listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        kernel
    }

    /// Starts one that listens for HTTP alone, and returns its port.
    pub(crate) fn on_http(home: &Home) -> (Self, u16) {
        let kernel = Self::start(home, &["--http", "127.0.0.1:0", "--no-stdio"]);
        let port = kernel.port();
        (kernel, port)
    }

    /// Starts one, and does not wait until it listens.
    pub(crate) fn spawn(home: &Home, args: &[&str]) -> Self {
        // It is this process, and ends with it.
        Self::started(home, &[], &[&["--foreground"], args].concat())
    }

    /// Starts what a client starts: a way to the kernel in the background, which is started if there is none.
    pub(crate) fn in_background(home: &Home) -> Self {
        Self::started(home, &[], &[])
    }

    fn started(home: &Home, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let mut command = home.command(["serve"].iter().chain(args));
        command.envs(variables.iter().copied());
        Self::of(home, command)
    }

    /// Starts one by a command of its own.
    pub(crate) fn of(home: &Home, mut command: std::process::Command) -> Self {
        home.let_person_decide();
        let stderr = home.path("stderr");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&stderr).unwrap());
        Self { child: command.spawn().unwrap(), stderr }
    }

    /// Waits until it has written `what` to standard error, and returns the rest of that line.
    pub(crate) fn tells(&self, what: &str) -> String {
        found(what, || {
            let output = std::fs::read_to_string(&self.stderr).unwrap();
            Some(output.split_once(what)?.1.split_once('\n')?.0.to_owned())
        })
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

/// What a client says on the standard input and output of a process.
pub(crate) struct Talk {
    pub(crate) input: ChildStdin,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
    /// What the kernel said of itself when the session began.
    pub(crate) described: Value,
    /// What it was told while it waited for answers, the oldest first.
    pub(crate) heard: Vec<Value>,
    id: u32,
}

impl Talk {
    /// Starts a kernel, and opens a session with it.
    pub(crate) fn begin(home: &Home) -> (Kernel, Self) {
        let mut kernel = Kernel::start(home, &[]);
        let talk = Self::open(&mut kernel);
        (kernel, talk)
    }

    /// Opens a session.
    pub(crate) fn open(kernel: &mut Kernel) -> Self {
        Self::open_with(kernel, &json!({}))
    }

    /// Opens a session as a client with these capabilities. One that asks its person has a name that is known for that.
    pub(crate) fn open_with(kernel: &mut Kernel, capabilities: &Value) -> Self {
        let name = if capabilities["elicitation"].is_null() { "t" } else { "claude-code" };
        Self::open_as(kernel, name, capabilities)
    }

    /// Opens a session as a client of this name.
    pub(crate) fn open_as(kernel: &mut Kernel, name: &str, capabilities: &Value) -> Self {
        let input = kernel.child.stdin.take().unwrap();
        let lines = BufReader::new(kernel.child.stdout.take().unwrap()).lines();
        let mut talk = Self { input, lines, described: Value::Null, heard: Vec::new(), id: 0 };
        let answer = talk.ask("initialize", &hello(name, capabilities)["params"]);
        assert_eq!(answer["result"]["serverInfo"]["name"], "mgp", "{answer}");
        talk.described = answer["result"].clone();
        writeln!(talk.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
        talk
    }

    /// Asks, and does not wait for the answer.
    pub(crate) fn tell(&mut self, method: &str, params: &Value) {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
    }

    /// The id of the request that it sent last.
    pub(crate) fn last_id(&self) -> u32 {
        self.id
    }

    /// How often it was told `method`.
    pub(crate) fn times_heard(&self, method: &str) -> usize {
        self.heard.iter().filter(|message| message["method"] == method).count()
    }

    /// The answer to a request; what else is told meanwhile is noted.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        serde_json::from_str(&self.ask_for_text(method, params)).unwrap()
    }

    /// The answer to a request, as it is written.
    pub(crate) fn ask_for_text(&mut self, method: &str, params: &Value) -> String {
        self.tell(method, params);
        self.answer_to(&json!(self.id))
    }

    /// The answer to the request with this id, as it is written.
    pub(crate) fn answer_to(&mut self, id: &Value) -> String {
        loop {
            let line = self.lines.next().expect("the connection ended").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            // Requests of the kernel have numbers of their own.
            if message["id"] == *id && message["method"].is_null() {
                return line;
            }
            self.heard.push(message);
        }
    }
}

/// The request by which a client of this name, with these capabilities, opens a session.
pub(crate) fn hello(name: &str, capabilities: &Value) -> Value {
    let client = json!({"name": name, "version": "1"});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client,
    }})
}

/// Looks again and again until `look` finds something.
pub(crate) fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it does not come to be: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    found(what, || is_so().then_some(()));
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // A test that fails shows what its kernel said last, and whether it still ran.
        if std::thread::panicking() {
            let output = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            eprintln!("the kernel {}, ended {:?}, said:\n{output}", self.child.id(), self.child.try_wait());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(20);
