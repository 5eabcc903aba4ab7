//! A home directory of somebody new, and `mgp` run in it.

#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use crate::process;

/// A home that holds nothing but the configuration of a client.
pub(super) struct Home {
    folder: PathBuf,
    mgp: PathBuf,
    path: OsString,
    /// The token that proves that a person decides.
    token: String,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` if it was stopped.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) errors: String,
}

/// A server, as `mgp servers --json` shows it.
#[derive(Debug, Deserialize)]
pub(crate) struct Shown {
    pub(crate) id: String,
    pub(crate) state: String,
    #[serde(default)]
    pub(super) pid: Option<u32>,
}

/// The reply of `mgp servers --json`.
#[derive(Deserialize)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<Shown>,
}

impl Home {
    /// A fresh home in place of an old one, with the programs where `PATH` finds them.
    pub(super) fn new(folder: PathBuf, mgp: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("bin"))?;
        symlink(&mgp, folder.join("bin/mgp"))?;
        symlink(mgp.with_file_name("mgp-patterns"), folder.join("bin/mgp-patterns"))?;
        let mut path = folder.join("bin").into_os_string();
        if let Some(others) = std::env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        let mut home = Self { folder, mgp, path, token: String::new() };
        home.run_with(&["operators", "passphrase", "--stdin"], PASSPHRASE)?;
        let token = home.run_with(&["operators", "token", "--stdin", "--until", "1d"], PASSPHRASE)?;
        token.trim().clone_into(&mut home.token);
        Ok(home)
    }

    /// A second home beside this one, with the same program.
    pub(super) fn beside(&self, name: &str) -> Result<Self> {
        Self::new(self.folder.with_file_name(name), self.mgp.clone())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what Claude Desktop would have there: these servers, by name.
    pub(super) fn write_client(&self, servers: &[(&str, Command)]) -> Result<()> {
        let of_system = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
        let folder = self.folder.join(of_system).join("Claude");
        fs::create_dir_all(&folder)?;
        let entry = |command: &Command| {
            let words: Vec<_> = words(command).collect();
            let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
            let env: BTreeMap<_, _> =
                variables.map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy())).collect();
            json!({ "command": words[0], "args": words[1..], "env": env })
        };
        let servers: serde_json::Map<_, _> =
            servers.iter().map(|(name, command)| ((*name).to_owned(), entry(command))).collect();
        let config = json!({ "mcpServers": servers });
        fs::write(folder.join("claude_desktop_config.json"), serde_json::to_vec_pretty(&config)?)?;
        Ok(())
    }

    /// `mgp` with these arguments, which knows nothing but this home.
    pub(super) fn mgp(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.mgp);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("PATH", &self.path)
            .env("MGP_OPERATORS_TOKEN", &self.token)
            .stdin(Stdio::null());
        for name in ["MGP_CONFIG", "MGP_CONFIG_PATH", "MGP_STATE", "MGP_SOCKET"] {
            command.env_remove(name);
        }
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// `mgp` with these arguments in a pseudo-terminal, where `answer` is typed when `prompt` is shown.
    pub(super) fn at_terminal(
        &self,
        script: &Path,
        prompt: &str,
        answer: &str,
        arguments: &[&str],
    ) -> Command {
        let mgp = self.mgp(arguments);
        let mut command = Command::new("python3");
        command.arg(script).args([prompt, answer]).arg(mgp.get_program()).args(mgp.get_args());
        command.current_dir(&self.folder);
        for (name, value) in mgp.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// The user's configuration.
    pub(super) fn configuration(&self) -> PathBuf {
        self.folder.join(".config/mgp/servers.toml")
    }

    /// Writes the user's configuration and takes it as an operator, as far as the program can read it.
    pub(super) fn configure(&self, text: &str) -> Result<()> {
        let file = self.configuration();
        fs::create_dir_all(file.parent().context("it lies in no folder")?)?;
        fs::write(&file, text)?;
        self.ended(&mut self.mgp(&["reload"])).map(drop)
    }

    /// Runs a command to its end, however that is.
    pub(super) fn ended(&self, command: &mut Command) -> Result<Ended> {
        let (out, errors) = (self.folder.join("stdout.txt"), self.folder.join("stderr.txt"));
        command.stdout(fs::File::create(&out)?).stderr(fs::File::create(&errors)?);
        let status = process::status_within(command, LIMIT)?;
        let code = status.and_then(|status| status.code());
        Ok(Ended { code, out: fs::read_to_string(out)?, errors: fs::read_to_string(errors)? })
    }

    /// Runs `mgp` to its end, and returns what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.ended(&mut self.mgp(arguments))?;
        ensure!(ended.code == Some(0), "`mgp {}` failed: {}", arguments.join(" "), ended.errors.trim());
        Ok(ended.out)
    }

    /// Runs `mgp` to its end with a text on its standard input, and returns what it printed.
    pub(super) fn run_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let file = self.folder.join("stdin.txt");
        fs::write(&file, input)?;
        let ended = self.ended(self.mgp(arguments).stdin(fs::File::open(file)?))?;
        ensure!(ended.code == Some(0), "`mgp {}` failed: {}", arguments.join(" "), ended.errors.trim());
        Ok(ended.out)
    }

    /// Runs `mgp --json` to its end, and reads what it printed.
    pub(super) fn json<T: DeserializeOwned>(&self, arguments: &[&str]) -> Result<T> {
        let all: Vec<_> = arguments.iter().copied().chain(["--json"]).collect();
        let printed = self.run(&all)?;
        serde_json::from_str(&printed).with_context(|| format!("`mgp {}` prints {printed}", all.join(" ")))
    }

    /// Adds a server to `mgp.toml`, as one would by hand.
    pub(super) fn add(&self, name: &str, command: &Command) -> Result<()> {
        let words: Vec<_> = words(command).collect();
        let all: Vec<_> = ["add", name, "--"].into_iter().chain(words.iter().map(String::as_str)).collect();
        self.run(&all).map(drop)
    }

    /// The servers, once each is connected or has failed.
    pub(super) fn servers(&self) -> Result<Vec<Shown>> {
        let ended = self.ended(&mut self.mgp(&["servers", "--wait", "--json"]))?;
        let servers: Servers = serde_json::from_str(&ended.out).with_context(|| format!("{ended:?}"))?;
        Ok(servers.servers)
    }

    /// The process of a server that is connected; `None` if it is not.
    pub(super) fn process_of(&self, server: &str) -> Result<Option<u32>> {
        let servers = self.servers()?;
        let connected = |shown: &&Shown| shown.id == server && shown.state == "connected";
        Ok(servers.iter().find(connected).and_then(|shown| shown.pid))
    }
}

impl Ended {
    /// The word that follows a text in what was printed as an error.
    pub(super) fn word_after(&self, text: &str) -> Option<String> {
        let (_, rest) = self.errors.split_once(text)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        Some(rest[..end].to_owned())
    }
}

/// The words of a command line.
pub(super) fn words(command: &Command) -> impl Iterator<Item = String> {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| word.to_string_lossy().into_owned())
}

const PASSPHRASE: &str = "walked by a program\n";
const LIMIT: Duration = Duration::from_mins(1);
