use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The token by which a command proves to the kernels of tests that a person has typed it. Their client is the test itself,
/// from which its commands descend as well.
pub(crate) const PERSON: &str = "mgp_operators_of_the_tests";

/// What a kernel keeps that takes that token.
const KNOWS_PERSON: &str = concat!(
    r#"{"tokens":[{"digest":"8de11903bada194d345ae4ad09046f7959c6d58f4dba579d918119e91eae22d2","#,
    r#""expires_at":"9999-01-01T00:00:00Z"}]}"#
);

/// A user of `mgp` with a home of their own.
pub(crate) struct Home(TempDir);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Drop for Home {
    /// Ends the kernel in the background that a command or a client may have started.
    fn drop(&mut self) {
        for state in ["state", ".local/state/mgp"] {
            let note = std::fs::read(self.path(state).join("kernel.json")).unwrap_or_default();
            if let Ok(note) = serde_json::from_slice::<Value>(&note) {
                let _ = Command::new("kill").arg(note["pid"].to_string()).stderr(Stdio::null()).status();
            }
        }
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write(".local/state/mgp/operators.json", KNOWS_PERSON);
        home
    }

    /// With a configuration that says no more than where the kernel keeps its state: in `state`.
    /// Servers of tests write their notes where a test looks for them, so that they are not confined unless it says so.
    pub(crate) fn with_state() -> Self {
        let home = Self::confining();
        home.configure("confine = false\n");
        home
    }

    /// As [`with_state`](Self::with_state), with the confinement that servers have if nothing is said of it.
    pub(crate) fn confining() -> Self {
        let home = Self::new();
        let state = home.path("state").display().to_string();
        home.write("mgp.toml", &format!("[kernel]\nstate = {state:?}\n"));
        home.write("state/operators.json", KNOWS_PERSON);
        home
    }

    /// As [`with_state`](Self::with_state), where a kernel in the background ends with its last client.
    pub(crate) fn without_linger() -> Self {
        let home = Self::with_state();
        home.configure("linger = 0\n");
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders that it lies in.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Adds lines to the configuration.
    pub(crate) fn configure(&self, lines: &str) {
        self.write("mgp.toml", &format!("{}\n{lines}", self.read("mgp.toml")));
    }

    /// Issues a key that allows this, and returns it.
    pub(crate) fn key(&self, owner: &str, allowed: &[&str]) -> String {
        let allowed = allowed.iter().flat_map(|what| ["--allow", what]);
        let issued = self.json(["keys", "new", owner].into_iter().chain(allowed));
        issued["secret"].as_str().unwrap().to_owned()
    }

    /// Lets the kernel that keeps its state in `state` take commands of this home for those of a person.
    pub(crate) fn let_person_decide(&self) {
        if !self.path("state/operators.json").exists() {
            self.write("state/operators.json", KNOWS_PERSON);
        }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mgp"));
        command
            .args(args)
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .env("USER", "ada")
            // Tests leave the keyring of whoever runs them alone.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
            .env("MGP_OPERATORS_TOKEN", PERSON)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // The file that most tests write is the word of its user, not that of a folder to be trusted first.
        if self.path("mgp.toml").exists() {
            command.env("MGP_CONFIG_PATH", self.path("mgp.toml"));
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        self.run_with(args, "")
    }

    /// Runs a command that has to succeed.
    pub(crate) fn done<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    }

    pub(crate) fn run_with<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &str) -> Ran {
        Self::ran(self.command(args), input)
    }

    /// Runs a command to its end.
    pub(crate) fn ran(mut command: Command, input: &str) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A command that is not interested in its input may end before it has read it.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that has to succeed, and reads the one JSON value that it prints.
    pub(crate) fn json<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Value {
        self.json_where(&[], args)
    }

    /// As [`json`](Self::json), where these variables are set.
    pub(crate) fn json_where<'a>(
        &self,
        variables: &[(&str, &str)],
        args: impl IntoIterator<Item = &'a str>,
    ) -> Value {
        let mut command = self.command(["--json"].into_iter().chain(args));
        command.envs(variables.iter().copied());
        let ran = Self::ran(command, "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    }
}
