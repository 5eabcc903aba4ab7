//! How much there is of the program: crates, bytes, tests, settings, and commands; with `--build`, what a clean build takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process;
use crate::table::Table;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build `mgp` and the example `echo` from nothing, in a folder of their own; this takes ten minutes on two cores
    #[arg(long)]
    build: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = CrateGraph::of(workspace, &["-p", "mgp-kernel"])?;
    let mut table = Table::new(["what", "now", "target"]);
    let mut row = |what: &str, now: String, target: &str| table.row([what.into(), now, target.into()]);
    if args.build {
        let clean = CleanBuild::measure(workspace)?;
        row("clean build of `mgp`: CPU seconds", format!("{:.0}", clean.cpu_seconds), "620");
        row("clean build of `mgp`: minutes", format!("{:.1}", clean.minutes), "6");
        row("`mgp`, stripped: MB", clean.mgp_mb, "42");
        row("a server with the SDK, stripped: MB", clean.echo_mb, "8");
    }
    row("crates of `mgp`", mgp.len().to_string(), "240");
    let full = CrateGraph::of(workspace, &["-p", "mgp-kernel", "--features", "full"])?;
    row("crates of `mgp` with all its parts", full.len().to_string(), "");
    let sdk = CrateGraph::of(workspace, &["-p", "mgp-server-sdk"])?;
    row("crates of a server with the SDK", sdk.len().to_string(), "70");
    row("lines of tests, examples, and benches", test_lines(workspace)?.to_string(), "85000");
    row("settings", settings(workspace)?.to_string(), "130");
    println!("Made by `cargo xtask weight`.\n\n{table}");
    println!("Crates that `mgp` would not need without one of them:\n");
    let mut causes = Table::new(["crate", "crates"]);
    for (name, count) in mgp.causes().into_iter().take(MAX_CAUSES) {
        causes.row([name, count.to_string()]);
    }
    print!("{causes}");
    Ok(())
}

/// The number of crates that are named as causes.
const MAX_CAUSES: usize = 15;

/// The crates that cargo builds for a package, each with those that it needs.
struct CrateGraph {
    root: String,
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl CrateGraph {
    fn of(workspace: &Workspace, package: &[&str]) -> Result<Self> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&workspace.root).arg("tree").args(package);
        cargo.args(["-e", "normal,build", "--prefix", "depth"]);
        Ok(Self::read(&process::output(&mut cargo)?))
    }

    /// Reads lines such as `2serde v1.0.0 (*)`: a depth, and a crate.
    fn read(tree: &str) -> Self {
        let mut graph = Self { root: String::new(), needs: BTreeMap::new() };
        let mut open: Vec<String> = Vec::new();
        for line in tree.lines() {
            let name_at = line.find(|it: char| !it.is_ascii_digit()).unwrap_or(line.len());
            let Ok(depth) = line[..name_at].parse::<usize>() else { continue };
            let name = line[name_at..].split(" (").next().unwrap_or_default().to_owned();
            open.truncate(depth);
            graph.needs.entry(name.clone()).or_default();
            match open.last() {
                Some(parent) => {
                    graph.needs.entry(parent.clone()).or_default().insert(name.clone());
                }
                None => graph.root.clone_from(&name),
            }
            open.push(name);
        }
        graph
    }

    fn len(&self) -> usize {
        self.needs.len()
    }

    /// Returns the crates of others by the number of crates that nothing else needs, the largest number first.
    fn causes(&self) -> Vec<(String, usize)> {
        let own = |name: &str| name.starts_with("mgp-");
        let names = self.needs.keys().filter(|name| !own(name));
        let mut causes: Vec<_> =
            names.map(|name| (name.clone(), self.len() - self.reached_without(name))).collect();
        causes.retain(|(_, count)| *count > 2);
        causes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        causes
    }

    /// Returns the number of crates that the root reaches on ways around `name`.
    fn reached_without(&self, name: &str) -> usize {
        let mut reached = BTreeSet::from([self.root.as_str()]);
        let mut open = vec![self.root.as_str()];
        while let Some(at) = open.pop() {
            for need in self.needs.get(at).into_iter().flatten() {
                if need != name && reached.insert(need) {
                    open.push(need);
                }
            }
        }
        reached.len()
    }
}

/// What a build from nothing took and made.
struct CleanBuild {
    cpu_seconds: f64,
    minutes: f64,
    mgp_mb: String,
    echo_mb: String,
}

impl CleanBuild {
    fn measure(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.target.join("weight");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let build = |args: &[&str]| {
            let mut cargo = Command::new("cargo");
            cargo.current_dir(&workspace.root).args(["build", "--release", "--target-dir"]).arg(&folder);
            process::run(cargo.args(args))
        };
        let (start, before) = (Instant::now(), children_seconds()?);
        build(&["-p", "mgp-kernel"])?;
        let (minutes, cpu_seconds) = (start.elapsed().as_secs_f64() / 60.0, children_seconds()? - before);
        build(&["-p", "mgp-server-sdk", "--example", "echo"])?;
        let release = folder.join("release");
        let (mgp_mb, echo_mb) =
            (stripped_mb(&release.join("mgp"))?, stripped_mb(&release.join("examples/echo"))?);
        fs::remove_dir_all(&folder)?;
        Ok(Self { cpu_seconds, minutes, mgp_mb, echo_mb })
    }
}

/// Returns the CPU time of the programs that this one started and that ended, from Linux.
fn children_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("CPU seconds are counted on Linux only")?;
    // Behind the name, which is in brackets, the fields 14 and 15 are the times of children, in hundredths.
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let hundredths =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    Ok((hundredths(13) + hundredths(14)) / 100.0)
}

/// Returns the size of a program without its symbols.
fn stripped_mb(program: &Path) -> Result<String> {
    let stripped = program.with_extension("stripped");
    process::run(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
    let bytes = u32::try_from(fs::metadata(&stripped)?.len()).context("a program of gigabytes")?;
    Ok(format!("{:.1}", f64::from(bytes) / 1_000_000.0))
}

/// Returns the number of lines of tests, examples, and benches.
fn test_lines(workspace: &Workspace) -> Result<usize> {
    let mut git = Command::new("git");
    let files = process::output(git.current_dir(&workspace.root).args(["ls-files", "*.rs"]))?;
    let mut lines = 0;
    for file in files.lines() {
        let text = fs::read_to_string(workspace.root.join(file)).unwrap_or_default();
        let is_test = ["/tests/", "/examples/", "/benches/"].iter().any(|part| file.contains(part))
            || file.ends_with("/tests.rs");
        let start = if is_test { 0 } else { text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len()) };
        lines += text[start..].lines().count();
    }
    Ok(lines)
}

/// Returns the number of settings in the reference, which a test compares with the program.
fn settings(workspace: &Workspace) -> Result<usize> {
    let reference = fs::read_to_string(workspace.root.join("docs/configuration.md"))?;
    Ok(reference.lines().filter(|line| line.starts_with("* `") && line.contains("` (")).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_counts_what_nothing_else_needs() {
        let tree = "0mgp-kernel v1 (/x)\n1a v1\n2b v1\n3c v1\n2d v1\n1e v1\n2d v1 (*)\n";
        let graph = CrateGraph::read(tree);
        assert_eq!(graph.len(), 6);
        assert_eq!(graph.causes(), [("a v1".to_owned(), 3)]);
    }
}
