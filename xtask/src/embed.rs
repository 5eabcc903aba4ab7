//! The table of word vectors of `mgp-toolindex`, built anew from texts and a sentence encoder.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{process, python, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Servers as Toucan has them (.json); mgp-toolindex/table/SOURCES.md names those of the table
    #[arg(long, required = true, num_args = 1..)]
    texts: Vec<PathBuf>,
    /// The pages of tldr, a folder with pages/
    #[arg(long, value_name = "DIR")]
    commands: PathBuf,
    /// The folder of WordNet's files, data.noun and others
    #[arg(long, value_name = "DIR")]
    meanings: PathBuf,
    /// What `apt-cache dumpavail` prints
    #[arg(long, value_name = "FILE")]
    packages: PathBuf,
    /// The .onnx file of all-MiniLM-L6-v2, with tokenizer.json beside it
    #[arg(long, value_name = "FILE")]
    teacher: PathBuf,
    /// Where the table goes instead of into the crate
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Builds the table; the texts are shown to the encoder once, and what it said is kept under target/.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.root.join("target/embed");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let program = workspace.root.join("xtask/embed");
    let packages = format!("--requirement={}", program.join("requirements.txt").display());
    let interpreter = python::environment(&folder.join("python"), &[&packages])?;
    let of_the_crate = workspace.root.join("mgp-toolindex/table/tools.mgptable");
    let before = read(&of_the_crate)?;
    let out = args.out.as_ref().unwrap_or(&of_the_crate);
    let mut command = Command::new(interpreter);
    command.arg(program.join("build.py")).arg("--teacher").arg(&args.teacher);
    command.arg("--cache").arg(folder.join("teacher")).arg("--out").arg(out);
    command.arg("--commands").arg(&args.commands).arg("--meanings").arg(&args.meanings);
    command.arg("--packages").arg(&args.packages).args(&args.texts);
    // Sums in another order end in other digits, and the table would have another hash.
    for threads in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
        command.env(threads, "1");
    }
    process::run(command.env("PYTHONDONTWRITEBYTECODE", "1"))?;
    if read(out)? == before {
        println!("the same table as the crate had");
    } else {
        println!("another table than the crate had: mgp-toolindex/table/SOURCES.md says what it depends on");
    }
    Ok(())
}

fn read(table: &Path) -> Result<Vec<u8>> {
    std::fs::read(table).with_context(|| format!("cannot read {}", table.display()))
}
