//! The chores of the workspace, one subcommand each.
//!
//! ```text
//! cargo xtask ci            what a change must pass
//! cargo xtask api           the public items of each library
//! cargo xtask tidy          crate graph, docs, file sizes, forbidden words, and what texts have people fetch
//! cargo xtask ledger        which requirements no test covers
//! cargo xtask conformance   the official MCP conformance suite, server and client
//! cargo xtask dist          the packages of `mgp`, each tried where there is no Rust
//! cargo xtask package       the packages of the crates, each built from packages alone
//! cargo xtask walk          what a new user does with `mgp`, step by step
//! cargo xtask page          what people do on the page, in a real browser
//! cargo xtask cluster       kernels that share a database, while parts of it stop and are killed
//! cargo xtask team          a day of a team, with an identity provider, Prometheus and syslog
//! cargo xtask interop       other SDKs against ours, in both directions
//! cargo xtask servers       published servers, directly and through the kernel
//! cargo xtask bench         speed beside rmcp and a hand-written floor
//! cargo xtask weight        crates, bytes, tests and settings, and what a clean build takes
//! cargo xtask guard         what the validators stop, and what they stop wrongly
//! cargo xtask mutants       whether the tests notice changes of the code that decides
//! cargo xtask embed         the table of word vectors, built anew
//! cargo xtask fastembed     tool search with a real sentence encoder
//! ```

#![expect(clippy::print_stdout, reason = "the output of a chore is what it is run for")]
#![expect(clippy::disallowed_types, reason = "a chore measures the wall clock and has no runtime to pause")]

mod api;
mod bench;
mod ci;
mod cluster;
mod conformance;
mod dist;
mod embed;
mod fastembed;
mod guard;
mod interop;
mod ledger;
mod mutants;
mod node;
mod package;
mod page;
mod process;
mod python;
mod registries;
mod servers;
mod session;
mod table;
mod team;
mod tidy;
mod walk;
mod weight;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The chores of the MGP workspace", disable_help_subcommand = true)]
struct Cli {
    /// The folder of `mgp` and `examples`, such as target/debug, in the place of what is built in release mode
    #[arg(long, global = true, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Format, tidy, lints, docs, licences; with `--all` also public items and each feature alone
    Ci(ci::Args),
    /// The public items of each library, counted or listed
    Api(api::Args),
    /// Crate graph, crate docs, file sizes, forbidden words, and what texts have people fetch
    Tidy,
    /// Requirements of docs/ledger.csv that no test covers
    Ledger(ledger::Args),
    /// The official MCP conformance suite against our examples
    Conformance(conformance::Args),
    /// The packages of `mgp`, and whether each works where there is no Rust
    Dist(dist::Args),
    /// The packages of the crates, each built from packages alone: `cargo package` lays those it has made over the index
    Package(package::Args),
    /// What a new user does with `mgp`, step by step
    Walk(walk::Args),
    /// The checks of the page for people, in a real browser
    Page(page::Args),
    /// A day of a team, with an identity provider, Prometheus and syslog
    Team(team::Args),
    /// Kernels that share a database, while parts of it stop and are killed
    Cluster(cluster::Args),
    /// Other SDKs against ours, in both directions
    Interop(interop::Args),
    /// Published servers, directly and through the kernel
    Servers(servers::Args),
    /// Speed beside rmcp and a hand-written floor
    Bench(bench::Args),
    /// Crates, bytes, tests and settings, and what a clean build takes
    Weight(weight::Args),
    /// What the validators stop, and what they stop wrongly
    Guard(guard::Args),
    /// Whether the tests notice changes of the code that decides
    Mutants(mutants::Args),
    /// The table of word vectors that tools are found by, built anew
    Embed(embed::Args),
    /// Tool search with a real sentence encoder
    Fastembed,
}

fn main() -> ExitCode {
    if let Some(code) = api::stand_in() {
        return code;
    }
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            // What could not be checked is no fault that was found.
            if error.is::<registries::Unreachable>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(Cli { programs, chore }: Cli) -> Result<()> {
    let mut workspace = Workspace::load()?;
    workspace.programs = programs;
    match chore {
        Chore::Ci(args) => ci::run(&workspace, &args),
        Chore::Api(args) => api::run(&workspace, &args),
        Chore::Tidy => tidy::run(&workspace),
        Chore::Ledger(args) => ledger::run(&workspace, &args),
        Chore::Conformance(args) => conformance::run(&workspace, &args),
        Chore::Dist(args) => dist::run(&workspace, &args),
        Chore::Package(args) => package::run(&workspace, &args),
        Chore::Walk(args) => walk::run(&workspace, &args),
        Chore::Page(args) => page::run(&workspace, &args),
        Chore::Team(args) => team::run(&workspace, &args),
        Chore::Cluster(args) => cluster::run(&workspace, &args),
        Chore::Interop(args) => interop::run(&workspace, &args),
        Chore::Servers(args) => servers::run(&workspace, &args),
        Chore::Bench(args) => bench::run(&workspace, &args),
        Chore::Weight(args) => weight::run(&workspace, &args),
        Chore::Guard(args) => guard::run(&workspace, &args),
        Chore::Mutants(args) => mutants::run(&workspace, &args),
        Chore::Embed(args) => embed::run(&workspace, &args),
        Chore::Fastembed => fastembed::run(&workspace),
    }
}
