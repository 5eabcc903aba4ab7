use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{
    access, audit, call, check, completions, config, confine, demo, export, import, init, keys, man,
    operators, permissions, pins, registrations, search, secrets, serve, server_commands, servers,
    servers_edit, service, tools, trust,
};

/// One server between any MCP client and any number of MCP and MGP servers
#[derive(Debug, Parser)]
#[command(name = "mgp", version, propagate_version = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What holds for every command.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Global {
    /// The configuration [default: mgp.toml here, and that of the user]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Where the kernel keeps keys, grants, pins and the record
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Where a running kernel is reached
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
    /// Print one JSON value, and errors as one JSON line
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print only what was asked for
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// When a terminal shows them
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// See what all this is for, on servers that are part of this program
    Demo,
    /// Serve one of the demo's servers; the demo does so itself
    #[command(hide = true)]
    DemoServer(demo::DemoServer),
    /// Confine this process and become a program; the kernel starts confined servers so
    #[command(hide = true)]
    Confine(confine::Confine),
    /// Give a client the kernel in the background, or run one here: over HTTP, or in the foreground
    Serve(serve::Serve),
    /// Write a configuration to begin with
    Init(init::Init),
    /// Take over the servers of other clients
    Import(import::Import),
    /// Give a client mgp: write it into the client's file
    Export(export::Export),
    /// Add a server to the configuration
    Add(servers_edit::Add),
    /// Remove a server from the configuration
    Remove(servers_edit::Remove),
    /// Show the servers and how they do
    Servers(servers::ListServers),
    /// List tools
    Tools(tools::ListTools),
    /// Find tools for a task
    Search(search::SearchTools),
    /// Call a tool
    Call(call::CallTool),
    /// Say which agent may use what
    #[command(subcommand)]
    Access(access::Access),
    /// Decide what servers may do
    #[command(subcommand)]
    Permissions(permissions::Permissions),
    /// Decide about servers that agents registered
    #[command(subcommand)]
    Registrations(registrations::Registrations),
    /// Issue and revoke API keys
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Say by what operators prove that they are persons
    #[command(subcommand)]
    Operators(operators::Operators),
    /// Set and remove secrets, which the configuration refers to as ${secret:NAME}
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// Run the kernel as a service of the system
    #[command(subcommand)]
    Service(service::Service),
    /// Look at the record, and verify it
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Look at and approve definitions of tools, prompts and templates
    #[command(subcommand)]
    Pin(pins::Pin),
    /// Judge inputs one by one: rows from standard input, verdicts to standard output
    Check(check::CheckRows),
    /// Show what a server wrote to its standard error, and why it does not run
    #[command(visible_alias = "log")]
    Logs(server_commands::Logs),
    /// Stop a server and start it again
    Restart(server_commands::OneServer),
    /// Start a server that was stopped
    Start(server_commands::OneServer),
    /// Stop a server until it is started again; or the kernel, if no server is named
    Stop(server_commands::Stopped),
    /// Have the kernel read its configuration anew
    Reload,
    /// Show whether a kernel runs, since when, for whom, and when it ends
    Status,
    /// Show what the kernel has done, in numbers
    Stats,
    /// Look whether everything is in order
    Doctor,
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write one for each command
    Man(man::Man),
    /// Look at what mgp.toml may say and says
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Look at the mgp.toml of a folder, and let it count
    Trust(trust::Trust),
    /// Let the mgp.toml of a folder not count any more
    Untrust(trust::Untrust),
}

impl Command {
    /// Whether the command depends on the configuration of where it is run.
    pub(super) const fn reads_configuration(&self) -> bool {
        !matches!(
            self,
            Self::Demo
                | Self::DemoServer(_)
                | Self::Check(_)
                | Self::Completions(_)
                | Self::Man(_)
                | Self::Trust(_)
                | Self::Untrust(_)
        )
    }
}
