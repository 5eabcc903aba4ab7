//! The servers that are tried, as `xtask/servers/servers.json` names them, and their installation.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{node::Node, process, python};

/// A server of a package registry, and calls whose answers need no account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) id: String,
    registry: Registry,
    package: String,
    version: String,
    /// Further packages, in versions that the server needs without saying so.
    #[serde(default)]
    with: Vec<String>,
    /// The packages among those of npm of which a part is compiled.
    #[serde(default)]
    compiled: Vec<String>,
    /// True if the short form tries it, too.
    #[serde(default)]
    short: bool,
    /// The script of the environment, or the file of the npm package, that is the server.
    run: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    pub(super) env: Map<String, Value>,
    /// True if the server writes its texts anew at each start, with its sets in another order.
    #[serde(default)]
    pub(super) varies: bool,
    /// The service that the server needs and that only some machines have. Without it, its calls fail, but fail alike.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read by people")]
    needs: Option<String>,
    /// A preset of `[servers.network]`.
    pub(super) preset: Option<String>,
    /// Tools and the arguments they are called with.
    pub(super) calls: Vec<(String, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Registry {
    Npm,
    Pypi,
}

/// A folder with installed servers, and a work folder with what their calls speak of.
#[derive(Debug)]
pub(super) struct Installed {
    folder: PathBuf,
    node: Option<Node>,
    pub(super) servers: Vec<Server>,
}

impl Server {
    /// The package with its version, as its registry writes it.
    pub(super) fn release(&self) -> String {
        match self.registry {
            Registry::Npm => format!("{}@{}", self.package, self.version),
            Registry::Pypi => format!("{}=={}", self.package, self.version),
        }
    }
}

impl Installed {
    /// Installs the wanted servers unless they are there already, and makes the work folder anew.
    pub(super) fn new(folder: &Path, list: &Path, short: bool, only: Option<&str>) -> Result<Self> {
        let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
        let mut servers: Vec<Server> =
            serde_json::from_str(&text).with_context(|| format!("{} is wrong", list.display()))?;
        servers.retain(|server| (server.short || !short) && only.is_none_or(|id| id == server.id));

        fs::create_dir_all(folder)?;
        let npm: Vec<_> =
            servers.iter().filter(|s| s.registry == Registry::Npm).map(Server::release).collect();
        let npm: Vec<_> = npm.iter().map(String::as_str).collect();
        let node = if npm.is_empty() { None } else { Some(Node::install(&folder.join("npm"), &npm)?) };
        if let Some(node) = &node {
            for package in servers.iter().flat_map(|server| &server.compiled) {
                node.compile(package)?;
            }
        }
        let mut left_out = Vec::new();
        for server in servers.iter().filter(|s| s.registry == Registry::Pypi) {
            let release = server.release();
            let packages: Vec<_> =
                std::iter::once(&release).chain(&server.with).map(String::as_str).collect();
            // Some packages need a newer Python than this machine has.
            match python::environment(&folder.join(&server.id), &packages) {
                Err(error) if only.is_none() => {
                    println!("{} is left out, because it cannot be installed here: {error:#}", server.id);
                    left_out.push(server.id.clone());
                }
                installed => drop(installed?),
            }
        }
        servers.retain(|server| !left_out.contains(&server.id));
        let installed = Self { folder: folder.to_owned(), node, servers };
        installed.make_work_folder()?;
        Ok(installed)
    }

    /// The folder that the calls speak of.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// A home for the servers and the kernel, so that they leave nothing in the user's.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The command that starts the server, without its variables.
    pub(super) fn command(&self, server: &Server) -> Command {
        let mut command = match (&self.node, server.registry) {
            (Some(node), Registry::Npm) => node.script(&node.module(&server.package).join(&server.run)),
            _ => Command::new(self.folder.join(&server.id).join("bin").join(&server.run)),
        };
        command.args(server.args.iter().map(|argument| self.filled(argument)));
        command.current_dir(self.work());
        command
    }

    /// The text with the path of the work folder in its place.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{work}", &self.work().display().to_string())
    }

    fn make_work_folder(&self) -> Result<()> {
        let work = self.work();
        for folder in [&work, &self.home()] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
        }
        fs::write(work.join("notes.txt"), "one line\n")?;
        for (folder, name, text) in FILES {
            fs::create_dir_all(work.join(folder))?;
            fs::write(work.join(folder).join(name), text)?;
        }
        fs::write(work.join("kubeconfig.yaml"), KUBECONFIG)?;
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&work).args(["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]);
            process::run(git.args(arguments))
        };
        git(&["init", "--quiet"])?;
        git(&["add", "notes.txt"])?;
        git(&["commit", "--quiet", "--message", "notes: begin"])
    }
}

/// The files that calls speak of: their folder, name and text.
const FILES: [(&str, &str, &str); 6] = [
    ("docs", "plan.txt", "one\ntwo\nthree\n"),
    ("docs", "sales.csv", "city,amount\nBern,10\nGenf,20\nBern,5\n"),
    ("docs", "a.pdf", include_str!("../../servers/page.pdf")),
    ("docs", "b.pdf", include_str!("../../servers/page.pdf")),
    ("vault", "ideas.md", "# Ideas\nplant tomatoes\n"),
    ("tasks", "README.md", "The data of a server.\n"),
];

const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: 'https://127.0.0.1:9'}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {token: none}}]
current-context: none
";
