//! `mgp service`: installs the kernel as a service of the system, which stays while clients come and go.

mod unit;

use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mgp_discovery::{AtomicFile, FileReaders};
use serde::Serialize;

use self::unit::{Manager, ServiceAccount, Unit, UnitFile};
use super::context::CommandContext;
use super::output::Output;
use super::proof;
use crate::listen::socket;
use crate::terminal::{Exit, Failure};

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
    commands: Vec<&'static str>,
}

pub(super) async fn run(cx: &CommandContext, service: ServiceCommand) -> Result<Exit, Failure> {
    match service {
        ServiceCommand::Install(wanted) => install(cx, &wanted).await,
        ServiceCommand::Uninstall(whose) => uninstall(cx, whose),
        ServiceCommand::Status(whose) => status(cx, whose).await,
    }
}

async fn install(cx: &CommandContext, wanted: &ServiceInstallArgs) -> Result<Exit, Failure> {
    let unit = unit(cx, wanted.whose, &wanted.http)?;
    let files = unit.files();
    if wanted.print {
        let text: Vec<_> =
            files.iter().map(|file| format!("# {}\n{}", file.path.display(), file.text)).collect();
        let text = text.concat();
        cx.output.show(&text, |text, out| write!(out, "{text}"))?;
        return Ok(Exit::Done);
    }
    proof::person_if_guarded(cx).await?;
    for file in &files {
        AtomicFile::put(&file.path, &file.text, FileReaders::Kept)
            .map_err(|error| unwritten(&file.path, &error))?;
    }
    show_report(&cx.output, &files, true, None, unit.after_install().to_vec())
}

fn uninstall(cx: &CommandContext, whose: ServiceAccountArgs) -> Result<Exit, Failure> {
    let unit = unit(cx, whose, "")?;
    let files = unit.files();
    for path in files.iter().map(|file| file.path.clone()).chain(unit.enabling_link()) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(&path, &error)),
            _ => {}
        }
    }
    show_report(&cx.output, &files, false, None, unit.after_uninstall().to_vec())
}

async fn status(cx: &CommandContext, whose: ServiceAccountArgs) -> Result<Exit, Failure> {
    let unit = unit(cx, whose, "")?;
    let files = unit.files();
    let installed = files.iter().all(|file| file.path.is_file());
    let commands = if installed { Vec::new() } else { unit.after_install().to_vec() };
    let socket = if whose.system { unit.system_socket().into() } else { cx.read()?.socket };
    let is_running = socket::connect(&socket).await.is_ok();
    show_report(&cx.output, &files, installed, Some(is_running), commands)
}

fn unit(cx: &CommandContext, whose: ServiceAccountArgs, http: &str) -> Result<Unit, Failure> {
    let lost = |error| Failure::usage(format!("the path of this program cannot be found: {error}"));
    let program = env::current_exe().map_err(lost)?;
    let account = if whose.system { ServiceAccount::System } else { ServiceAccount::Own };
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    // Only a service of this user has files in a home.
    let (options, home) = match account {
        ServiceAccount::Own => {
            let none = || Failure::usage("there is no home directory for a service of this user");
            let options = cx.named().into_iter().map(|(option, path)| (option, absolute(path)));
            (options.collect(), env::var_os("HOME").ok_or_else(none)?.into())
        }
        ServiceAccount::System => (Vec::new(), PathBuf::new()),
    };
    Ok(Unit { manager: Manager::of_system(), account, program, options, http: http.to_owned(), home })
}

fn show_report(
    output: &Output,
    files: &[UnitFile],
    installed: bool,
    running: Option<bool>,
    commands: Vec<&'static str>,
) -> Result<Exit, Failure> {
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let report = ServiceReport { files: paths, installed, running, commands };
    output.show(&report, |report, out| {
        let installed = if report.installed { "installed:" } else { "not installed:" };
        for path in &report.files {
            writeln!(out, "{installed} {}", path.display())?;
        }
        match report.running {
            Some(true) => writeln!(out, "a kernel runs; `mgp status` shows details")?,
            Some(false) => writeln!(out, "no kernel runs")?,
            None => {}
        }
        Ok(())
    })?;
    if !report.commands.is_empty() {
        output.note(&format!("run now: {}", report.commands.join(" && ")));
    }
    Ok(Exit::Done)
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::usage(format!("{}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::PermissionDenied => failure.hint("this needs root: run `sudo mgp service …`"),
        _ => failure,
    }
}
