//! The options that every command has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The options of every command.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Global {
    /// The configuration file [default: mgp.toml in this folder, and ~/.config/mgp/servers.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The folder of the kernel's keys, grants, pins and audit log
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// The socket of a running kernel
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
    /// Print one JSON value, and errors as one line of JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print results only, without notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Log more; -vv logs everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// Sets when the output has colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// The choice of when the output has colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// Use colours on a terminal
    #[default]
    Auto,
    Always,
    Never,
}
