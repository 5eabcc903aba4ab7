//! The command line: each module of a command has its options, its requests to a kernel and the output of the answer.
//!
//! A command that concerns a kernel is a client of the kernel. If a kernel runs, the command connects to its socket.
//! Otherwise, a command that needs servers starts a kernel in the background from the same configuration, and one that
//! needs only what is stored opens that in its own process and talks to it in memory. The requests are the same in all
//! cases, so a script can do by the protocol everything that a command can do.

mod access;
mod apply;
mod args;
mod audit;
mod background;
mod backup;
mod call;
mod call_rules;
mod clients;
mod config;
mod conform;
mod context;
mod doctor;
mod export;
mod help;
mod import;
mod input;
mod kernel_connector;
mod link;
mod login;
mod new_server;
mod output;
mod page;
mod permissions;
mod pins;
mod pipe;
mod process;
mod proof;
mod secrets;
#[cfg(feature = "self-update")]
mod self_update;
mod serve;
mod server_advice;
mod server_commands;
mod servers_edit;
mod service;
#[cfg_attr(windows, path = "signals_windows.rs")]
mod signals;
mod spec;
mod status_watch;
#[cfg(feature = "cluster")]
mod store;
mod tools;
mod trust;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::server_orders::{RestartServer, StopServer};
use mgp_kernel_core::admin::status::ReadStats;
use mgp_kernel_core::listen::inherited::InheritedSockets;
use mgp_kernel_core::terminal::{Exit, Failure, Result, with_causes};
use mgp_security::check::{CheckError, InputCheck};

use self::args::{
    Cli, ClientsCommand, ClusterCommand, Command, KeysCommand, NewCommand, RegistrationsCommand,
};
use self::context::CommandContext;
use self::link::{KernelLink, operate};
use crate::demo::{self, Options};

/// Runs the command that `args` describe, whose first element is the name of the program, and returns its exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    run_words(&args.into_iter().map(Into::into).collect::<Vec<_>>())
}

/// Runs a command. It knows the types of its arguments, so that the whole command line is compiled here and not again in
/// each program that calls [`run`].
fn run_words(args: &[OsString]) -> ExitCode {
    proof::take_token();
    let parsed = help::root().try_get_matches_from(args).and_then(|words| Cli::from_arg_matches(&words));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return args::misused(&error, args),
    };
    let cx = CommandContext::new(&cli.global);
    let outcome = match cli.command {
        Command::Serve(_) if std::process::id() == 1 => match process::run_as_init(args) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        Command::Serve(mut serving) => {
            // Taking them changes the environment, so this process must not have any other thread.
            serving.inherited = InheritedSockets::take();
            run_in_threads(Command::Serve(serving), &cx)
        }
        #[cfg(target_os = "linux")]
        Command::Keep(kept) => match process::keep(&kept) {
            Ok(code) => return code.into(),
            Err(failure) => Err(failure),
        },
        // Confinement applies to a single thread, so this process must not have any other.
        Command::Confine(confined) => process::confine(&confined),
        command => run_in_threads(command, &cx),
    };
    let exit = outcome.unwrap_or_else(|failure| {
        cx.output.failure(&failure);
        failure.exit
    });
    exit.into()
}

/// Runs a command that may have as many threads as there are processors.
fn run_in_threads(chosen: Command, cx: &CommandContext) -> Result {
    // On Linux, this path leads to this program even if its file has been replaced by a newer one.
    let own = if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
    if let Ok(mgp) = own {
        mgp_kernel_core::set_confinement_launcher(mgp);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::with_error("threads cannot be started"))?;
    let outcome = runtime.block_on(command(chosen, cx));
    // A read that still waits for standard input must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

async fn command(command: Command, cx: &CommandContext) -> Result {
    // `mgp serve` starts the log itself, because its configuration says more about it.
    let telemetry = if matches!(command, Command::Serve(_)) { None } else { cx.start_log_if_asked()? };
    if command.reads_configuration() {
        cx.tell_untrusted();
    }
    let outcome = Box::pin(chosen(command, cx)).await;
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    outcome
}

async fn chosen(command: Command, cx: &CommandContext) -> Result {
    match command {
        Command::Demo => shown(demo::run(Options { json: cx.output.json, color: cx.output.color }).await),
        Command::DemoServer { name } => shown(demo::serve(&name).await),
        Command::Confine(args) => process::confine(&args),
        #[cfg(target_os = "linux")]
        Command::Keep(args) => process::keep(&args).map(|_| Exit::Done),
        Command::Serve(args) => Box::pin(serve::run(cx, args)).await,
        Command::Login(args) => login::login(cx, args).await,
        Command::Logout(args) => login::logout(cx, args).await,
        Command::Add(args) => changed(cx, async { begun(cx, servers_edit::add(cx, args)).await }).await,
        Command::Install(args) => changed(cx, Box::pin(servers_edit::install(cx, args))).await,
        Command::Outdated => Box::pin(servers_edit::outdated(cx)).await,
        Command::Upgrade(args) => Box::pin(servers_edit::upgrade(cx, args)).await,
        #[cfg(feature = "self-update")]
        Command::Itself(args) => Box::pin(self_update::run(cx, &args)).await,
        Command::Conform(args) => Box::pin(conform::run(&cx.output, args)).await,
        Command::New(NewCommand::Server(args)) => new_server::run(&cx.output, &args),
        Command::Remove(args) => changed(cx, async { servers_edit::remove(cx, &args) }).await,
        Command::Open(args) => changed(cx, Box::pin(call_rules::open(cx, args))).await,
        Command::Ask(args) => changed(cx, Box::pin(call_rules::ask(cx, args))).await,
        Command::Init { project } => begun(cx, config::init(cx, project)).await,
        Command::Import(args) => {
            changed(cx, Box::pin(async { begun(cx, import::run(cx, &args)).await })).await
        }
        Command::Export(args) => begun(cx, export::run(cx, &args).await).await,
        Command::Server(server) => Err(process::serve(&server)),
        Command::Servers(args) => server_commands::servers(cx, &args).await,
        Command::Tools(args) => tools::run(cx, args).await,
        Command::Search(args) => tools::search(cx, args).await,
        Command::Call(args) => call::run(cx, args).await,
        Command::Access(args) => access::run(cx, args).await,
        Command::Permissions(args) => permissions::run(cx, args).await,
        Command::Registrations(RegistrationsCommand::List(list)) => operate(cx, list).await,
        Command::Registrations(RegistrationsCommand::Approve(yes)) => operate(cx, yes).await,
        Command::Registrations(RegistrationsCommand::Deny(no)) => operate(cx, no).await,
        Command::Registrations(RegistrationsCommand::Keep(keep)) => operate(cx, keep).await,
        Command::Apply(args) => apply::run(cx, args).await,
        Command::Keys(KeysCommand::New(key)) => operate(cx, key).await,
        Command::Keys(KeysCommand::List(list)) => operate(cx, list).await,
        Command::Keys(KeysCommand::Rotate(key)) => operate(cx, key).await,
        Command::Keys(KeysCommand::Revoke(key)) => operate(cx, key).await,
        Command::Clients(ClientsCommand::Trust(client)) => operate(cx, client).await,
        Command::Operators(args) => proof::operate(cx, args).await,
        Command::Secrets(args) => changed(cx, secrets::run(cx, args)).await,
        Command::Service(args) => service::run(cx, args).await,
        Command::Audit(args) => audit::run(cx, args).await,
        Command::Backup(copy) => operate(cx, copy).await,
        Command::Cluster(ClusterCommand::Status(status)) => operate(cx, status).await,
        #[cfg(feature = "cluster")]
        Command::Store(command) => store::run(cx, command).await,
        Command::Restore(args) => Box::pin(backup::restore(cx, &args)).await,
        Command::Ui(args) => page::run(cx, &args).await,
        Command::Watch => permissions::run(cx, permissions::PermissionsCommand::Watch).await,
        Command::Pin(args) => pins::run(cx, args).await,
        Command::Check { kind } => check(kind),
        Command::Spec(args) => spec::run(cx, args).await,
        Command::Logs(args) => server_commands::logs(cx, args).await,
        Command::Restart { server: Some(server_id) } => operate(cx, RestartServer { server_id }).await,
        Command::Restart { server: None } => server_commands::restart(cx).await,
        Command::Start(args) => operate(cx, args).await,
        Command::Stop { server: Some(server_id) } => operate(cx, StopServer { server_id }).await,
        Command::Stop { server: None } => server_commands::stop(cx).await,
        Command::Reload => server_commands::reload(cx).await,
        Command::Status { watch: true } => KernelLink::with(cx, KernelNeed::Running, status_watch::run).await,
        Command::Status { watch: false } => server_commands::status(cx).await,
        Command::Stats => operate(cx, ReadStats {}).await,
        Command::Doctor => Box::pin(doctor::run(cx)).await,
        Command::Completions { shell } => args::completions(&cx.output, shell),
        Command::Man { dir } => args::manual(&cx.output, dir.as_deref()),
        Command::Config(args) => config::run(cx, args).await,
        Command::Trust(args) => changed(cx, Box::pin(trust::run(cx, &args))).await,
        Command::Untrust { folder } => trust::forget(&cx.output, folder.as_deref()),
    }
}

/// Judges rows `{"id","input"}` from standard input, one per line, and prints the verdicts. It needs no kernel.
fn check(kind: InputCheck) -> Result {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match kind.judge_rows(io::stdin().lock(), &mut out) {
        Ok(_) => Ok(Exit::Done),
        // A reader that closes the pipe has read what it wants.
        Err(CheckError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::usage(with_causes(&error.to_string(), &error))),
    }
}

/// Returns the outcome of the demo, or of one of its servers.
fn shown(outcome: anyhow::Result<()>) -> Result {
    outcome.map(|()| Exit::Done).map_err(|error| Failure::new(Exit::Tool, format!("{error:#}")))
}

/// Runs a command that changes the configuration, and has the change accepted where that needs the passphrase.
async fn changed(cx: &CommandContext, change: impl Future<Output = Result>) -> Result {
    let before = proof::waiting(cx);
    let exit = change.await?;
    proof::take_change(cx, &before).await;
    Ok(exit)
}

/// Ends a command by which people begin, and offers to set the operator passphrase. The command has succeeded by then.
async fn begun(cx: &CommandContext, outcome: Result) -> Result {
    let exit = outcome?;
    if let Err(failure) = Box::pin(proof::offered(cx)).await {
        cx.output.warning(&format!("no operator passphrase was set: {}", failure.message()));
    }
    Ok(exit)
}
