//! Our kernel on both sides of a login: it guards a server that knows nothing of tokens, and it signs in at a server that
//! another implementation guards.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::leg::{self, Checks};
use crate::{
    process::{self, Background},
    workspace::Workspace,
};

/// The program of the kernel, and a server that can stand behind it.
pub(super) struct Kernel {
    mgp: PathBuf,
    everything: PathBuf,
    folder: PathBuf,
}

/// The tokens that the kernel accepts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Accepted {
    All,
    /// Those that are bound to a key of their client, with nonces of the kernel in the proofs.
    Bound,
}

impl Kernel {
    pub(super) fn build(workspace: &Workspace, folder: &Path) -> Result<Self> {
        let everything = workspace.example_or(None, "mgp-server-sdk", "everything")?;
        let mgp = workspace.build_mgp()?;
        Ok(Self { mgp, everything, folder: folder.join("kernel") })
    }

    /// Starts a kernel in front of our example `everything` that lets Alice in, with the tokens of this issuer.
    pub(super) fn guard(
        &self,
        port: u16,
        issuer: &str,
        accepted: Accepted,
        log: &Path,
    ) -> Result<Background> {
        let (public_url, issuer) = (json!(super::resource(port)), json!(issuer));
        let dpop = match accepted {
            Accepted::All => "",
            Accepted::Bound => "dpop = \"required\"\ndpop_nonces = true\n",
        };
        let home = self.home("guard", &format!(
            "[listen]\npublic_url = {public_url}\n\
             [listen.oauth]\nissuers = [{{ issuer = {issuer} }}]\nscopes = [\"mgp:use\"]\n{dpop}\
             [[agents]]\nid = \"agent.alice\"\ntokens = [{{ issuer = {issuer}, subject = \"alice\" }}]\n\
             [access]\nrules = [{{ agent = \"agent.alice\", server = \"everything\", permission = \"allow\" }}]\n\
             [[servers]]\nid = \"everything\"\ncommand = {}\nargs = [\"stdio\"]\n",
            json!(self.everything),
        ))?;
        let mut serve = self.command(&home);
        serve.args(["serve", "--foreground", "--no-stdio", "--http", &format!("127.0.0.1:{port}")]);
        Background::start(&mut serve, port, log)
    }

    /// Signs in at this server, calls its tool, and signs out again. `browser` opens the page that is its last argument.
    pub(super) fn sign_in(&self, url: &str, mut browser: Command, log: &Path) -> Result<Checks> {
        let home = self.home("login", &format!("[[servers]]\nid = \"guarded\"\nurl = {}\n", json!(url)))?;
        let mut checks = Checks::default();
        let login = self.login(&home, &mut browser, log);
        checks.add("login", login.map_err(|error| format!("{error:#}")));

        let log = log.with_extension("out");
        let ask = |arguments: &[&str]| {
            let (_, output) = leg::finish(self.command(&home).args(arguments), &log)?;
            let errors = || fs::read_to_string(log.with_extension("stderr")).unwrap_or_default();
            Ok(if output.is_empty() { errors() } else { output })
        };
        let call = ["call", "--json", "guarded.test_simple_text"];
        checks.add("tools/list", holds(ask(&["tools", "--json"]), "\"guarded.test_simple_text\""));
        checks.add("tools/call", holds(ask(&call), "This is a simple text response for testing."));
        checks.add("logout", holds(ask(&["logout", "guarded"]), "signed out"));
        checks
            .add("a call without a login says how to sign in", holds(ask(&call), "run `mgp login guarded`"));
        Ok(checks)
    }

    fn login(&self, home: &Path, browser: &mut Command, log: &Path) -> Result<()> {
        let mut login =
            Background::spawn(self.command(home).args(["login", "guarded", "--no-browser"]), log)?;
        let mut page = None;
        process::until("the page to sign in at", || {
            let was_running = login.is_running()?;
            let output = fs::read_to_string(log)?;
            // The last line may not be whole yet.
            let mut lines = output.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let found = lines.find_map(|line| line.split_once("sign in at: "));
            page = found.map(|(_, page)| page.trim().to_owned());
            ensure!(was_running || page.is_some(), "there is no page: {output}");
            Ok(page.is_some())
        })?;
        let (consented, output) = leg::finish(browser.args(page), &log.with_extension("browser"))?;
        ensure!(consented, "the browser does not come to the end: {output}");
        ensure!(login.finish()?, "it failed: {}", fs::read_to_string(log)?);
        Ok(())
    }

    /// Makes an empty home with this configuration.
    fn home(&self, name: &str, config: &str) -> Result<PathBuf> {
        let home = self.folder.join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        fs::write(home.join("mgp.toml"), format!("{NOBODY_IS_ASKED}{config}"))?;
        Ok(home)
    }

    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.mgp);
        command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        // The keyring of whoever runs this is left alone.
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
        command.arg("--config").arg(home.join("mgp.toml")).arg("--state").arg(home.join("state"));
        command
    }
}

fn holds(answer: Result<String>, wanted: &str) -> Result<(), String> {
    let answer = answer.map_err(|error| format!("{error:#}"))?;
    if answer.contains(wanted) { Ok(()) } else { Err(format!("{wanted:?} is not in {answer:?}")) }
}

const NOBODY_IS_ASKED: &str = "\
[permissions]
policy = \"auto_approve\"

[confirmation]
dangerous = false

[tools]
level = \"L0\"

";
