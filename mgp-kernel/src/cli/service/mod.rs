//! The kernel as a service of the system, which stays while clients come and go.

mod unit;

use std::env;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_discovery::{NewFile, Readers};
use serde::Serialize;

use self::unit::{Account, Manager, Unit, UnitFile};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::place::Place;
use crate::listen::socket;

#[derive(Debug, Subcommand)]
pub(super) enum Service {
    /// Install the service, and print how to start it
    Install(Install),
    /// Remove the service
    Uninstall(Whose),
    /// Show whether the service is installed, and whether a kernel runs
    Status(Whose),
}

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Whose {
    /// Use the service of the system, with a user of its own, instead of the service of this user
    #[arg(long)]
    system: bool,
}

#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    whose: Whose,
    /// The address at which clients are served over HTTP
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7332")]
    http: String,
    /// Print the files instead of writing them
    #[arg(long)]
    print: bool,
}

/// What was written, removed or looked at.
#[derive(Debug, Serialize)]
struct Shown {
    files: Vec<PathBuf>,
    installed: bool,
    /// Whether a kernel runs, as a service or otherwise; left out where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
    /// What is run by hand.
    commands: Vec<&'static str>,
}

pub(super) async fn run(place: &Place, output: &Output, service: Service) -> Result<Exit, Failure> {
    match service {
        Service::Install(wanted) => install(place, output, &wanted),
        Service::Uninstall(whose) => uninstall(place, output, whose),
        Service::Status(whose) => status(place, output, whose).await,
    }
}

fn install(place: &Place, output: &Output, wanted: &Install) -> Result<Exit, Failure> {
    let (unit, files) = files(place, wanted.whose, &wanted.http)?;
    if wanted.print {
        let text: Vec<_> =
            files.iter().map(|file| format!("# {}\n{}", file.path.display(), file.text)).collect();
        let text = text.concat();
        output.show(&text, |text, out| write!(out, "{text}"))?;
        return Ok(Exit::Done);
    }
    for file in &files {
        NewFile::put(&file.path, &file.text, Readers::Kept).map_err(|error| unwritten(file, &error))?;
    }
    told(output, &files, true, None, unit.after_install().to_vec())
}

fn uninstall(place: &Place, output: &Output, whose: Whose) -> Result<Exit, Failure> {
    let (unit, files) = files(place, whose, "")?;
    for file in &files {
        match std::fs::remove_file(&file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(file, &error)),
            _ => {}
        }
    }
    told(output, &files, false, None, vec![unit.before_uninstall()])
}

async fn status(place: &Place, output: &Output, whose: Whose) -> Result<Exit, Failure> {
    let (unit, files) = files(place, whose, "")?;
    let installed = files.iter().all(|file| file.path.is_file());
    let commands = if installed { Vec::new() } else { unit.after_install().to_vec() };
    let socket = if whose.system { unit.system_socket().into() } else { place.read()?.socket };
    let is_running = socket::connect(&socket).await.is_ok();
    told(output, &files, installed, Some(is_running), commands)
}

fn files(place: &Place, whose: Whose, http: &str) -> Result<(Unit, Vec<UnitFile>), Failure> {
    let lost = |error| Failure::usage(format!("the path of this program cannot be found: {error}"));
    let program = env::current_exe().map_err(lost)?;
    let home = env::var_os("HOME").map(PathBuf::from);
    let account = if whose.system { Account::System } else { Account::Own };
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let options = match account {
        Account::Own => place.named().into_iter().map(|(option, path)| (option, absolute(path))).collect(),
        Account::System => Vec::new(),
    };
    let unit = Unit { manager: Manager::of_system(), account, program, options, http: http.to_owned() };
    let home = home.ok_or_else(|| Failure::usage("there is no home directory for a service of this user"))?;
    let files = unit.files(&home);
    Ok((unit, files))
}

fn told(
    output: &Output,
    files: &[UnitFile],
    installed: bool,
    running: Option<bool>,
    commands: Vec<&'static str>,
) -> Result<Exit, Failure> {
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let told = Shown { files: paths, installed, running, commands };
    output.show(&told, |told, out| {
        for path in &told.files {
            writeln!(
                out,
                "{} {}",
                if told.installed { "installed:" } else { "not installed:" },
                path.display()
            )?;
        }
        match told.running {
            Some(true) => writeln!(out, "a kernel runs; `mgp status` shows details")?,
            Some(false) => writeln!(out, "no kernel runs")?,
            None => {}
        }
        Ok(())
    })?;
    if !told.commands.is_empty() {
        output.note(&format!("run now: {}", told.commands.join(" && ")));
    }
    Ok(Exit::Done)
}

fn unwritten(file: &UnitFile, error: &io::Error) -> Failure {
    let failure = Failure::usage(format!("{}: {error}", file.path.display()));
    match error.kind() {
        io::ErrorKind::PermissionDenied => failure.hint("this needs root: run `sudo mgp service …`"),
        _ => failure,
    }
}
