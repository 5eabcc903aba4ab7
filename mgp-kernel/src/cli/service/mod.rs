//! `mgp service`: installs the kernel as a service of the system, which stays while clients come and go.

use std::collections::HashMap;
use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mgp_discovery::config::model::ListenSettings;
use mgp_discovery::{AtomicFile, FileReaders};
use mgp_kernel_core::listen::socket;
use mgp_kernel_core::proof::is_guarded;
use mgp_kernel_core::state::folder::users_state;
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use serde::{Deserialize, Serialize};

use super::context::CommandContext;
use super::proof;

#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    /// Install the service, and print how to start it
    Install(ServiceInstallArgs),
    /// Remove the service
    Uninstall(ServiceAccountArgs),
    /// Show whether the service is installed, and whether a kernel runs
    Status(ServiceAccountArgs),
}

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ServiceAccountArgs {
    /// Use the service of the system, with a user of its own, instead of the service of this user
    #[arg(long)]
    system: bool,
}

#[derive(Debug, Args)]
pub(super) struct ServiceInstallArgs {
    #[command(flatten)]
    whose: ServiceAccountArgs,
    /// The address at which clients are served over HTTP
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7332")]
    http: String,
    /// Print the files instead of writing them
    #[arg(long)]
    print: bool,
}

/// The result of a command: the files of the service, and its state.
#[derive(Debug, Serialize)]
struct ServiceReport {
    files: Vec<PathBuf>,
    installed: bool,
    /// True if a kernel runs, as a service or otherwise; left out if the command did not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
    /// The commands that the user has to run.
    commands: Vec<String>,
}

/// The way in which a service manager runs the kernel, as a user or as one that exists only for the service, so that no
/// program of a person reaches the files of the kernel. Paths that are not absolute lie in the home of the user.
///
/// The group of the system's service is that of the operators, who may enter the folder of the socket and nothing else.
#[derive(Debug, Deserialize)]
struct ServicePlan {
    /// The files, each with the name of its text, in which `{command}` stands for the command line, and `{address}` for the
    /// address of clients over HTTP.
    files: Vec<(String, String)>,
    /// The links by which the service manager starts the service with the system, where those are files of their own.
    #[serde(default)]
    links: Vec<String>,
    /// True if the file of the service is XML.
    #[serde(default)]
    is_xml: bool,
    /// The options that name the places of the kernel, and the socket at which operators reach it; a service of the user has
    /// those of the user.
    #[serde(default)]
    places: Vec<String>,
    socket: Option<PathBuf>,
    after_install: Vec<String>,
    after_uninstall: Vec<String>,
}

pub(super) async fn run(cx: &CommandContext, service: ServiceCommand) -> Result {
    if cfg!(windows) {
        let at_logon =
            r#"schtasks /Create /SC ONLOGON /TN mgp /TR "mgp serve --no-stdio --http 127.0.0.1:7332""#;
        return Err(Failure::usage("mgp is no service of Windows").hint(format!("use a task: `{at_logon}`")));
    }
    match service {
        ServiceCommand::Install(wanted) => install(cx, &wanted).await,
        ServiceCommand::Uninstall(whose) => uninstall(cx, whose),
        ServiceCommand::Status(whose) => status(cx, whose).await,
    }
}

async fn install(cx: &CommandContext, wanted: &ServiceInstallArgs) -> Result {
    let plan = ServicePlan::of(wanted.whose);
    let program =
        env::current_exe().map_err(Failure::with_error("the path of this program cannot be found"))?;
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let own = cx.named().into_iter().map(|(option, path)| (option, absolute(path)));
    let own: Vec<_> = own.filter(|_| !wanted.whose.system).collect();
    let command = plan.command(&program, &own, &wanted.http);
    let mut listen = ListenSettings::default();
    listen.http = Some(wanted.http.clone());
    let address = listen.address().map_err(|error| Failure::usage(error.to_string()))?;
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    let paths = plan.paths()?;
    let filled = |name: &str| text(name).replace("{command}", &command).replace("{address}", &address);
    let texts = plan.files.iter().map(|(_, name)| filled(name));
    let files: Vec<_> = paths.iter().zip(texts).collect();
    if wanted.print {
        let files = files.iter().map(|(path, text)| format!("# {}\n{text}", path.display()));
        let text = files.collect::<Vec<_>>().concat();
        return cx.output.show(&text, |text, out| write!(out, "{text}"));
    }
    if wanted.whose.system && PRIVATE.iter().any(|folder| program.starts_with(folder)) {
        let message = format!("{} lies in a folder that the service may not read", program.display());
        let hint =
            "`sudo install` it in /usr/local/bin, and run `sudo /usr/local/bin/mgp service install --system`";
        return Err(Failure::usage(message).hint(hint));
    }
    if is_guarded(users_state(&cx.read()?.state)) {
        proof::person(cx).await?;
    }
    for (path, text) in files {
        AtomicFile::put(path, &text, FileReaders::Kept).map_err(|error| unwritten(path, &error))?;
    }
    let report = ServiceReport { files: paths, installed: true, running: None, commands: plan.after_install };
    show_report(cx, &report)
}

fn uninstall(cx: &CommandContext, whose: ServiceAccountArgs) -> Result {
    let plan = ServicePlan::of(whose);
    let files = plan.paths()?;
    let links: Vec<_> = plan.links.iter().map(|link| in_home(link)).collect::<Result<_>>()?;
    for path in files.iter().cloned().chain(links) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(&path, &error)),
            _ => {}
        }
    }
    show_report(cx, &ServiceReport { files, installed: false, running: None, commands: plan.after_uninstall })
}

async fn status(cx: &CommandContext, whose: ServiceAccountArgs) -> Result {
    let plan = ServicePlan::of(whose);
    let files: Vec<_> = plan.paths()?.into_iter().map(|path| installed_at(path, Path::new("/"))).collect();
    let installed = files.iter().all(|path| path.is_file());
    let commands = if installed { Vec::new() } else { plan.after_install };
    let socket = plan.socket.map_or_else(|| cx.read().map(|read| read.socket), Ok)?;
    let running = Some(socket::connect(&socket).await.is_ok());
    show_report(cx, &ServiceReport { files, installed, running, commands })
}

fn show_report(cx: &CommandContext, report: &ServiceReport) -> Result {
    cx.output.show(report, |report, out| {
        let installed = if report.installed { "installed:" } else { "not installed:" };
        report.files.iter().try_for_each(|path| writeln!(out, "{installed} {}", path.display()))?;
        match report.running {
            Some(true) => writeln!(out, "a kernel runs; `mgp status` shows details"),
            Some(false) => writeln!(out, "no kernel runs"),
            None => Ok(()),
        }
    })?;
    if !report.commands.is_empty() {
        cx.output.note(&format!("run now: {}", report.commands.join(" && ")));
    }
    Ok(Exit::Done)
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::file(path, error);
    match error.kind() {
        io::ErrorKind::PermissionDenied => failure.hint("this needs root: run `sudo mgp service …`"),
        _ => failure,
    }
}

impl ServicePlan {
    fn of(whose: ServiceAccountArgs) -> Self {
        let manager = if cfg!(target_os = "macos") { "launchd" } else { "systemd" };
        Self::named(manager, if whose.system { "system" } else { "user" })
    }

    fn named(manager: &str, whose: &str) -> Self {
        let mut plans: HashMap<String, HashMap<String, Self>> =
            serde_json::from_str(include_str!("plans.json"))
                .expect("the file is part of the program, and its tests read it");
        let plan = plans.get_mut(manager).and_then(|plans| plans.remove(whose));
        plan.expect("each manager has a plan for a user and one for the system")
    }

    fn paths(&self) -> Result<Vec<PathBuf>> {
        self.files.iter().map(|(path, _)| in_home(path)).collect()
    }

    /// Returns the command line of the kernel, with the options `own` of the user's.
    fn command(&self, program: &Path, own: &[(&str, PathBuf)], http: &str) -> String {
        let mut arguments = vec![program.display().to_string()];
        arguments.extend(self.places.iter().cloned());
        for (option, path) in own {
            arguments.extend([(*option).to_owned(), path.display().to_string()]);
        }
        arguments.extend(["serve", "--no-stdio", "--http", http].map(str::to_owned));
        if self.socket.is_some() {
            arguments.push("--group-operates".to_owned());
        }
        let quoted = if self.is_xml { element } else { quoted };
        arguments.iter().map(|argument| quoted(argument)).collect::<String>().trim_end().to_owned()
    }
}

/// Returns the path at which a package installed a file of a service of the system, if it did, and the file is not at `own`, which
/// systemd prefers. Paths begin at `root`.
fn installed_at(own: PathBuf, root: &Path) -> PathBuf {
    let Ok(file) = own.strip_prefix(root.join("etc")) else { return own };
    let of_package = ["usr/lib", "lib"].map(|folder| root.join(folder).join(file));
    let found = of_package.into_iter().find(|path| path.is_file());
    found.filter(|_| !own.is_file()).unwrap_or(own)
}

fn in_home(path: &str) -> Result<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).or_else(|| path.starts_with('/').then(PathBuf::new));
    let none = || Failure::usage("there is no home directory for a service of this user");
    Ok(home.ok_or_else(none)?.join(path))
}

/// Returns an argument quoted for systemd, which gives `%` and `$` a meaning of their own.
fn quoted(argument: &str) -> String {
    let mut text = String::from('"');
    for character in argument.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '%' | '$' => text.extend([character, character]),
            _ => text.push(character),
        }
    }
    text + "\" "
}

/// Returns an argument as an element of launchd's list.
fn element(argument: &str) -> String {
    let text = argument.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("    <string>{text}</string>\n")
}

/// Returns the text of a file of a service. `ProtectProc` is not set in the units, because the kernel looks up the ancestors of
/// processes that connect, so the processes of others have to stay visible.
fn text(name: &str) -> &'static str {
    match name {
        "own.service" => include_str!("own.service"),
        "own.plist" => include_str!("own.plist"),
        "mgp.socket" => include_str!("mgp.socket"),
        "system.plist" => include_str!("system.plist"),
        "sysusers.conf" => include_str!("sysusers.conf"),
        _ => include_str!("system.service"),
    }
}

/// The folders of users, which the user of the system's service may not enter.
const PRIVATE: [&str; 4] = ["/home", "/root", "/run/user", "/Users"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_path_holds_is_no_syntax_of_the_unit() {
        let own = [("--config", PathBuf::from("/srv/\"a\".toml"))];
        let command = ServicePlan::named("systemd", "user").command(
            Path::new("/opt/m g%p/mgp"),
            &own,
            "127.0.0.1:7332",
        );
        let expected = r#""/opt/m g%%p/mgp" "--config" "/srv/\"a\".toml" "serve""#;
        assert!(command.starts_with(expected) && !command.contains("group-operates"), "{command}");
        let command = ServicePlan::named("launchd", "user").command(Path::new("/a<b>&c"), &[], "");
        assert!(command.contains("<string>/a&lt;b&gt;&amp;c</string>"));
    }

    #[test]
    fn a_unit_that_a_package_installed_is_found_and_one_of_an_administrator_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("etc/systemd/system/mgp.service");
        let put = |path: &Path| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert_eq!(installed_at(own.clone(), root.path()), own, "it is nowhere");
        for folder in ["lib", "usr/lib"] {
            let of_package = root.path().join(folder).join("systemd/system/mgp.service");
            put(&of_package);
            assert_eq!(installed_at(own.clone(), root.path()), of_package);
        }
        put(&own);
        assert_eq!(installed_at(own.clone(), root.path()), own);
        let of_user = PathBuf::from("/var/lib/ada/.config/systemd/user/mgp.service");
        assert_eq!(installed_at(of_user.clone(), root.path()), of_user);
    }

    #[test]
    fn the_systems_kernel_runs_as_a_user_of_its_own_and_lets_its_group_operate_it() {
        let (users, unit) = (text("sysusers.conf"), text("system.service"));
        for line in [
            "User=mgp\n", "Group=mgp-operators\n", "StateDirectoryMode=0700\n", "CapabilityBoundingSet=\n",
            "LimitNOFILE=",
        ] {
            assert!(unit.contains(line), "{line}{unit}");
        }
        let command = ServicePlan::named("systemd", "system").command(Path::new("/usr/bin/mgp"), &[], "");
        assert!(command.ends_with("\"--group-operates\"") && users.contains("u mgp "), "{command}");
        let own = text("own.service");
        assert!(!own.contains("User="), "{own}");
    }
}
