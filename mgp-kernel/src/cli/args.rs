//! The command line as clap parses it: the global options and all commands, what is told of a wrong one, and the manual
//! pages and completion scripts of all of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use mgp_kernel_core::admin::backup::BackUp;
use mgp_kernel_core::admin::clients::TrustClient;
use mgp_kernel_core::admin::cluster::ReadClusterStatus;
use mgp_kernel_core::admin::keys::{IssueKey, ListKeys, RevokeKey, RotateKey};
use mgp_kernel_core::admin::registrations::{
    ApproveRegistration, DenyRegistration, KeepRegistration, ListRegistrations,
};
use mgp_kernel_core::admin::server_orders::StartServer;
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use mgp_security::check::InputCheck;
use mgp_types::mgp::ServerId;
use serde_json::json;

use super::help::{left_out, root};
use super::output::{Global, Output};
use super::{
    access, apply, audit, backup, call, call_rules, config, conform, export, import, login, new_server, page,
    permissions, pins, process, proof, secrets, serve, server_commands, servers_edit, service, spec, tools,
    trust,
};

/// A security gateway between MCP clients and MCP servers: one server for each client, any number of servers behind
/// it
#[derive(Debug, Parser)]
#[command(name = "mgp", version, propagate_version = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what the kernel does, with example servers that are part of this program
    Demo,
    /// Serve one of the demo's servers; the demo runs this command itself
    #[command(hide = true)]
    DemoServer {
        /// The name of the demo's server
        name: String,
    },
    /// Confine this process and become a program; the kernel starts confined servers with this command
    #[command(hide = true)]
    Confine(process::ConfineArgs),
    /// Run a server, and end with it all that it started; the kernel starts servers with this command
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Keep(process::KeepArgs),
    /// Run the kernel: in the background for a client that starts it, over HTTP, or in the foreground
    Serve(serve::ServeArgs),
    /// Write a first configuration
    Init {
        /// Write mgp.toml in this folder instead of the user's configuration
        #[arg(long)]
        project: bool,
    },
    /// Import the servers of other MCP clients
    Import(import::ImportArgs),
    /// Add mgp to the configuration of an MCP client
    Export(export::ExportArgs),
    /// Add a server to the configuration
    Add(servers_edit::AddServerArgs),
    /// Add a server of the MCP registry by its name
    Install(servers_edit::InstallArgs),
    /// List the servers of which the registry has newer versions
    Outdated,
    /// Replace a server by the newest version of it in the registry, and show what changes
    Upgrade(servers_edit::UpgradeArgs),
    /// Remove a server from the configuration
    Remove(servers_edit::RemoveServerArgs),
    /// Open a folder to the calls of clients, besides those in which they work
    Open(call_rules::OpenArgs),
    /// Say about which calls a person is asked
    #[command(subcommand)]
    Ask(call_rules::AskCommand),
    /// Sign in to a server that needs authorization
    Login(login::LoginArgs),
    /// Sign out of a server, and forget its tokens
    Logout(login::LoginServer),
    /// List the configured servers and their states
    Servers(server_commands::ServersArgs),
    /// Become one of the servers of `mgp-patterns`, such as `mgp server audit`
    #[command(disable_help_flag = true)]
    Server(process::PatternServerArgs),
    /// List tools
    Tools(tools::ToolsArgs),
    /// Search tools by their purpose
    Search(tools::SearchArgs),
    /// Call a tool
    Call(call::CallArgs),
    /// Manage which agents may use which servers and tools
    #[command(subcommand)]
    Access(access::AccessCommand),
    /// Grant and deny permissions of servers
    #[command(subcommand)]
    Permissions(permissions::PermissionsCommand),
    /// Approve and remove servers that agents registered
    #[command(subcommand)]
    Registrations(RegistrationsCommand),
    /// Make access entries, permissions and keys those of a file
    Apply(apply::ApplyArgs),
    /// Issue and revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Set the operator passphrase, and issue tokens for scripts
    #[command(subcommand)]
    Operators(proof::OperatorsCommand),
    /// Set, list and remove secrets; mgp.toml refers to them as ${secret:NAME}
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// Install the kernel as a service of the system
    #[command(subcommand)]
    Service(service::ServiceCommand),
    /// Show, search, export and verify the audit log
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Copy the state of the kernel to a folder: keys, rules, grants, pins, registrations and the audit log
    Backup(BackUp),
    /// Show the kernels that share their decisions
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Make, check, upgrade and fill the database that kernels share
    #[cfg(feature = "cluster")]
    #[command(subcommand)]
    Store(super::store::StoreCommand),
    /// Restore the state from a copy that `mgp backup` made; what was revoked or denied since stays so
    Restore(backup::RestoreArgs),
    /// Open the page of the kernel in a browser, where people see and decide
    Ui(page::PageArgs),
    /// Answer questions on this terminal as they come
    Watch,
    /// Show and approve definitions of tools, prompts and templates
    #[command(subcommand)]
    Pin(pins::PinCommand),
    /// Run a validator on rows from standard input, and print a verdict for each
    Check {
        /// The kind of the inputs: shell_arg, shell_command, ssrf_url, path, python_code, js_code, tool_def, rug_pull,
        /// tool_profile, prompt_injection, json_schema
        #[arg(long, value_name = "KIND")]
        kind: InputCheck,
    },
    /// Check, write and compare specification documents of tools
    #[command(subcommand)]
    Spec(spec::SpecCommand),
    /// Show the standard error of a server, and why the server does not run
    #[command(visible_alias = "log")]
    Logs(server_commands::LogsArgs),
    /// Restart a server; if no server is named, let the installed version of mgp take over from the running kernel without
    /// a gap
    Restart {
        /// The id of the server; the kernel with all its servers if left out
        server: Option<ServerId>,
    },
    /// Start a server that was stopped
    Start(StartServer),
    /// Stop a server until it is started again; stop the kernel if no server is named
    Stop {
        /// The id of the server; the kernel with all its servers if left out
        server: Option<ServerId>,
    },
    /// Reload the configuration of the running kernel
    Reload,
    /// Say in which clients a person answers
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Show whether a kernel runs, its clients and servers, and when it ends
    Status {
        /// Show the load of the kernel again and again, until interrupted; with --json one object per line
        #[arg(long)]
        watch: bool,
    },
    /// Show counters: calls, times, and the tokens that tool lists save
    Stats,
    /// Check the configuration, servers, and audit log, and print how to repair them
    Doctor,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder
    Man {
        /// Write a page for each command into this folder instead of printing one
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Test whether a server or a client keeps the rules of MCP and MGP
    #[command(subcommand)]
    Conform(conform::ConformCommand),
    /// Begin a project from a template
    #[command(subcommand)]
    New(NewCommand),
    /// Look for a newer version of mgp, and install it
    #[cfg(feature = "self-update")]
    #[command(name = "self", subcommand)]
    Itself(super::self_update::SelfCommand),
    /// Check and show the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Show what the configuration of a folder starts, and trust it
    Trust(trust::TrustArgs),
    /// Stop trusting the mgp.toml of a folder
    Untrust {
        /// The folder; the current folder if left out
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Issue a key; it is shown only once
    New(IssueKey),
    /// List keys, without their secrets
    List(ListKeys),
    /// Issue a key in the place of another one, which ends after a while
    Rotate(RotateKey),
    /// Revoke a key, and end its sessions
    Revoke(RevokeKey),
}

#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Show each kernel, what it knows and its record, who runs which server, and how long the orders of changes are
    Status(ReadClusterStatus),
}

#[derive(Debug, Subcommand)]
pub(super) enum RegistrationsCommand {
    /// List the servers that were registered while the kernel ran
    List(ListRegistrations),
    /// Approve a server that waits for approval, and start it in the running kernel
    Approve(ApproveRegistration),
    /// Remove a server that waits for approval
    Deny(DenyRegistration),
    /// Keep a server after the session that registered it ends
    Keep(KeepRegistration),
}

#[derive(Debug, Subcommand)]
pub(super) enum ClientsCommand {
    /// Trust a client that is connected: until it leaves, what a person answers in it counts
    Trust(TrustClient),
}

#[derive(Debug, Subcommand)]
pub(super) enum NewCommand {
    /// Write a small server that works, in a new folder
    Server(new_server::NewServerArgs),
}

impl Command {
    /// Returns whether the command depends on the configuration of the folder in which it runs.
    pub(super) const fn reads_configuration(&self) -> bool {
        !matches!(
            self,
            Self::Demo
                | Self::DemoServer { .. }
                | Self::Server(_)
                | Self::Check { .. }
                | Self::Completions { .. }
                | Self::Conform(_)
                | Self::Man { .. }
                | Self::New(_)
                // It says so itself where it asks a server.
                | Self::Spec(_)
                | Self::Trust(_)
                | Self::Untrust { .. }
        )
    }
}

/// Prints why a command line is invalid, or the help that it asks for.
pub(super) fn misused(error: &clap::Error, args: &[OsString]) -> ExitCode {
    // Standard output may be closed, and then nobody reads the help.
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done.into();
    }
    let is_json = args.iter().any(|arg| arg == "--json");
    let failure = if let Some(meant) = lacks_dashes(error, args) {
        Failure::usage("the command of a server stands behind `--`").hint(format!("did you mean `{meant}`?"))
    } else if let Some((command, feature)) = left_out().find(|(command, _)| is_unknown(error, command)) {
        Failure::usage(format!("this build has no `mgp {command}`"))
            .hint(format!("build `mgp` with `--features {feature}`"))
    } else if let Some((command, written, choices)) = unknown_choice(error, args) {
        Failure::usage(format!("`mgp {command}` has no subcommand `{written}`"))
            .hint(format!("use {choices}"))
    } else if is_json {
        let text = error.render().to_string();
        let text = text.trim_start_matches("error: ");
        let (message, hint) = text.split_once("\n\n").unwrap_or((text, ""));
        let failure = Failure::usage(message.trim());
        if hint.trim().is_empty() { failure } else { failure.hint(hint.trim()) }
    } else {
        let _ = error.print();
        return Exit::Usage.into();
    };
    Output::new(&Global { json: is_json, ..Global::default() }).failure(&failure);
    failure.exit.into()
}

/// Returns whether an error says that there is no such command.
fn is_unknown(error: &clap::Error, command: &str) -> bool {
    matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(written)) if written == command)
}

/// Returns the command whose subcommand is unknown, the word in its place, and the subcommands that there are. `mgp` itself
/// has too many to name them.
fn unknown_choice(error: &clap::Error, args: &[OsString]) -> Option<(String, String, String)> {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let root = root();
    let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let mut command = &root;
    for word in words.take_while(|word| word != written) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let choices: Vec<_> = command.get_subcommands().filter(|choice| !choice.is_hide_set()).collect();
    let (last, others) = choices.split_last().filter(|_| command.get_name() != root.get_name())?;
    let others: Vec<_> = others.iter().map(|choice| choice.get_name()).collect();
    let choices = format!("{} or {}", others.join(", "), last.get_name());
    Some((command.get_name().to_owned(), written.clone(), choices))
}

/// Returns the command that is meant by an `mgp add NAME COMMAND` without `--`.
fn lacks_dashes(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let (["add", name, command @ ..], ErrorKind::UnknownArgument) = (&*words, error.kind()) else {
        return None;
    };
    let is_meant =
        !name.starts_with('-') && command.first()?.starts_with(|c: char| c != '-') && !words.contains(&"--");
    is_meant.then(|| format!("mgp add {name} -- {}", command.join(" ")))
}

/// Prints the manual page, or writes the pages of all commands to a folder.
pub(super) fn manual(output: &Output, dir: Option<&Path>) -> Result {
    let mut root = root();
    root.build();
    let Some(folder) = dir else {
        let mut page = Vec::new();
        Man::new(root).render(&mut page).map_err(|error| unwritten(Path::new("the page"), &error))?;
        return output.print(&page);
    };
    let mut files = Vec::new();
    let written = fs::create_dir_all(folder).and_then(|()| write_pages(&root, folder, &mut files));
    written.map_err(|error| unwritten(folder, &error))?;
    output.show(&json!({ "files": files }), |_, _| Ok(()))
}

/// Prints a completion script for a shell.
pub(super) fn completions(output: &Output, shell: Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root(), "mgp", &mut script);
    output.print(&script)
}

fn write_pages(command: &clap::Command, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    files.push(Man::new(command.clone()).generate_to(folder)?);
    let mut inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    inner.try_for_each(|inner| write_pages(inner, folder, files))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{} cannot be written: {error}", path.display()))
}
