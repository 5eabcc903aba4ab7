//! The command line: each module of a command has its options, its requests to a kernel and the output of the answer.
//!
//! A command that concerns a kernel is a client of the kernel. If a kernel runs, the command connects to its socket.
//! Otherwise, a command that needs servers starts a kernel in the background from the same configuration, and one that
//! needs only what is stored opens that in its own process and talks to it in memory. The requests are the same in all
//! cases, so a script can do by the protocol everything that a command can do.

mod access;
mod answer;
mod args;
mod arguments;
mod audit;
mod background;
mod browsers;
mod call;
mod check;
mod clients;
mod completions;
mod config;
mod confine;
mod deciding;
mod demo;
mod doctor;
mod export;
mod import;
mod init;
mod kernel_connector;
mod kernel_location;
mod link;
mod log;
mod login;
mod man;
mod model;
mod open;
mod open_url;
mod operators;
mod output;
mod package;
mod pattern_server;
mod permissions;
mod pins;
mod pipe;
mod program;
mod proof;
mod search;
mod secrets;
mod serve;
mod server_commands;
mod servers_edit;
mod service;
mod spec;
mod state_in_use;
mod status;
mod tools;
mod trust;
mod variables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Cli, Command, KeysCommand, RegistrationsCommand};
use self::kernel_location::KernelLocation;
use self::link::operate;
use self::output::Output;
use crate::admin::stats::ReadStats;
use crate::terminal::{Exit, Failure};

/// Runs the command that `args` describe, whose first element is the name of the program, and returns its exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    run_words(&args.into_iter().map(Into::into).collect::<Vec<_>>())
}

/// Runs a command. It knows the types of its arguments, so that the whole command line is compiled here and not again in
/// each program that calls [`run`].
fn run_words(args: &[OsString]) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return args::misused(&error, args),
    };
    let output = Output::new(&cli.global);
    // Confinement applies to a single thread, so this process must not have any other.
    if let Command::Confine(confined) = &cli.command {
        let failure = confine::run(confined);
        output.failure(&failure);
        return failure.exit.into();
    }
    if let Some(mgp) = this_program() {
        crate::set_confinement_launcher(mgp);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(command(cli, &output));
            // A read that still waits for standard input must not keep the process alive.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Failure::new(Exit::Usage, format!("threads cannot be started: {error}"))),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output.failure(&failure);
            failure.exit.into()
        }
    }
}

/// Returns the path of the running program. On Linux, it leads to this program even if its file has been replaced by a
/// newer one.
fn this_program() -> Option<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Some("/proc/self/exe".into()) } else { std::env::current_exe().ok() }
}

async fn command(cli: Cli, output: &Output) -> Result<Exit, Failure> {
    let place = KernelLocation::new(&cli.global);
    let telemetry = match cli.command {
        // `mgp serve` starts the log itself, because its configuration says more about it.
        Command::Serve(_) => None,
        _ => log::start_if_asked(place.verbosity())?,
    };
    if cli.command.reads_configuration() {
        place.tell_untrusted(output);
    }
    let outcome = Box::pin(chosen(cli.command, &place, output)).await;
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    outcome
}

async fn chosen(command: Command, place: &KernelLocation, output: &Output) -> Result<Exit, Failure> {
    match command {
        Command::Demo => demo::run(output).await,
        Command::DemoServer(args) => demo::serve(&args).await,
        Command::Confine(args) => Err(confine::run(&args)),
        Command::Serve(args) => Box::pin(serve::run(place, output, args)).await,
        Command::Login(args) => login::login(place, output, args).await,
        Command::Logout(args) => login::logout(place, output, args).await,
        Command::Add(args) => changed(place, output, async { servers_edit::add(place, output, args) }).await,
        Command::Remove(args) => {
            changed(place, output, async { servers_edit::remove(place, output, &args) }).await
        }
        Command::Open(args) => changed(place, output, Box::pin(open::run(place, output, args))).await,
        Command::Init(args) => begun(place, output, init::run(place, output, &args)).await,
        Command::Import(args) => {
            changed(
                place,
                output,
                Box::pin(async { begun(place, output, import::run(place, output, &args)).await }),
            )
            .await
        }
        Command::Export(args) => begun(place, output, export::run(place, output, &args).await).await,
        Command::Server(server) => pattern_server::run(&server),
        Command::Servers(args) => server_commands::servers(place, output, &args).await,
        Command::Model(args) => model::run(output, args).await,
        Command::Tools(args) => tools::run(place, output, args).await,
        Command::Search(args) => search::run(place, output, args).await,
        Command::Call(args) => call::run(place, output, args).await,
        Command::Access(args) => access::run(place, output, args).await,
        Command::Permissions(args) => permissions::run(place, output, args).await,
        Command::Registrations(RegistrationsCommand::List(list)) => operate(place, output, list).await,
        Command::Registrations(RegistrationsCommand::Approve(yes)) => operate(place, output, yes).await,
        Command::Registrations(RegistrationsCommand::Deny(no)) => operate(place, output, no).await,
        Command::Registrations(RegistrationsCommand::Keep(keep)) => operate(place, output, keep).await,
        Command::Keys(KeysCommand::New(key)) => operate(place, output, key).await,
        Command::Keys(KeysCommand::List(list)) => operate(place, output, list).await,
        Command::Keys(KeysCommand::Revoke(key)) => operate(place, output, key).await,
        Command::Operators(args) => operators::run(place, output, args).await,
        Command::Secrets(args) => changed(place, output, secrets::run(place, output, args)).await,
        Command::Service(args) => service::run(place, output, args).await,
        Command::Audit(args) => audit::run(place, output, args).await,
        Command::Pin(args) => pins::run(place, output, args).await,
        Command::Check(args) => check::run(&args),
        Command::Spec(args) => spec::run(place, output, args).await,
        Command::Logs(args) => server_commands::logs(place, output, args).await,
        Command::Restart(args) => operate(place, output, args).await,
        Command::Start(args) => operate(place, output, args).await,
        Command::Stop(args) => server_commands::stop(place, output, args).await,
        Command::Reload => server_commands::reload(place, output).await,
        Command::Status => status::run(place, output).await,
        Command::Stats => operate(place, output, ReadStats {}).await,
        Command::Doctor => doctor::run(place, output).await,
        Command::Completions(args) => completions::run(output, &args),
        Command::Man(args) => man::run(output, &args),
        Command::Config(args) => config::run(place, output, args).await,
        Command::Trust(args) => changed(place, output, Box::pin(trust::run(place, output, &args))).await,
        Command::Untrust(args) => trust::forget(place, output, &args),
    }
}

/// Runs a command that changes the configuration, and has the change taken where a passphrase guards that.
async fn changed(
    place: &KernelLocation,
    output: &Output,
    change: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let before = proof::waiting(place);
    let exit = change.await?;
    proof::take_change(place, output, &before).await;
    Ok(exit)
}

/// Ends a command by which people begin, and offers to set up the proof that decisions take.
async fn begun(
    place: &KernelLocation,
    output: &Output,
    outcome: Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let exit = outcome?;
    proof::offered(place, output).await?;
    Ok(exit)
}
