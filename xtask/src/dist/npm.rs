//! The packages of npm: one with the programs for each platform, and one that starts those of the platform it is on.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::{
    contents::Contents,
    release::Release,
    targets::{self, Target},
    tree::FileTree,
};

/// Writes the package of the target's platform, and the one that everybody names.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    let values = [("os", os.as_str()), ("cpu", cpu), ("platform", &format!("{os}-{cpu}"))];
    let mut files = FileTree::default();
    files.add("package/package.json", release.filled(PLATFORM, &values)?.into_bytes());
    files.add("package/README.md", release.filled(README, &[])?.into_bytes());
    files.add_tree("package/bin", &contents.programs);
    files.add_tree("package", &contents.licences);
    release.write(&platform_name(release, target)?, &release.tar_gz(&files)?)?;
    release.write(&launcher_name(release), &release.tar_gz(&launcher(release, contents)?)?)
}

fn launcher(release: &Release, contents: &Contents) -> Result<FileTree> {
    let mut platforms = String::new();
    for [os, cpu] in targets::all().into_iter().filter_map(|target| target.node) {
        let separator = if platforms.is_empty() { "" } else { "," };
        let _ = write!(platforms, "{separator}\n    \"@mgp/cli-{os}-{cpu}\": \"{}\"", release.version);
    }
    let mut files = FileTree::default();
    files.add("package/package.json", release.filled(CLI, &[("platforms", &platforms)])?.into_bytes());
    files.add("package/README.md", release.filled(README, &[])?.into_bytes());
    files.add_program("package/mgp.js", release.filled(LAUNCHER, &[])?.into_bytes());
    for (name, text) in contents.licences.files().filter(|(name, _)| name.starts_with("LICENSE")) {
        files.add(format!("package/{name}"), text);
    }
    Ok(files)
}

/// Returns the name of the file of the platform's package, which is the one that `npm pack` gives.
pub(super) fn platform_name(release: &Release, target: &Target) -> Result<String> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    Ok(format!("mgp-cli-{os}-{cpu}-{}.tgz", release.version))
}

/// Returns the name of the file of the package that everybody names.
pub(super) fn launcher_name(release: &Release) -> String {
    format!("mgp-cli-{}.tgz", release.version)
}

const CLI: &str = include_str!("../../dist/npm/cli.json");
const LAUNCHER: &str = include_str!("../../dist/npm/launcher.js");
const PLATFORM: &str = include_str!("../../dist/npm/platform.json");
const README: &str = include_str!("../../dist/npm/README.md");

#[cfg(all(test, unix))]
mod tests {
    use std::{
        env, fs,
        io::{BufRead as _, BufReader, Write as _},
        os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
        path::PathBuf,
        process::{Command, Stdio},
        thread,
    };

    use super::*;
    use crate::process;

    /// Returns a folder with the launcher; nothing where there is no Node.
    fn launcher_folder(name: &str) -> Option<PathBuf> {
        process::installed("node")?;
        let folder = env::temp_dir().join(format!("mgp-dist-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder is writable");
        fs::write(folder.join("package.json"), "{}").expect("the folder is writable");
        fs::write(folder.join("mgp.js"), LAUNCHER).expect("the folder is writable");
        Some(folder)
    }

    #[test]
    fn the_launcher_passes_bytes_codes_and_signals_on() {
        let host = targets::host().ok().and_then(|target| target.node);
        let (Some([os, cpu]), Some(folder)) = (host, launcher_folder("launcher")) else { return };
        let programs = folder.join(format!("node_modules/@mgp/cli-{os}-{cpu}/bin"));
        fs::create_dir_all(&programs).unwrap();
        let program = programs.join("mgp");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let launch = |word: &str| {
            let mut node = Command::new("node");
            node.arg(folder.join("mgp.js")).arg(word);
            node
        };
        assert_eq!(launch("code").status().unwrap().code(), Some(7));
        assert_eq!(launch("dies").status().unwrap().signal(), Some(15));

        let bytes: Vec<_> = (0..=255_u8).cycle().take(1 << 20).collect();
        let mut echo = launch("bytes").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, sent) = (echo.stdin.take().unwrap(), bytes.clone());
        let writer = thread::spawn(move || input.write_all(&sent).unwrap());
        let ended = echo.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(ended.status.success() && ended.stdout == bytes);

        let mut waiting = launch("waits").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(waiting.stdout.take().unwrap()).read_line(&mut line).unwrap();
        process::run(Command::new("kill").arg(waiting.id().to_string())).unwrap();
        assert_eq!(waiting.wait().unwrap().code(), Some(9));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_launcher_says_how_to_get_the_package_of_the_platform() {
        let Some(folder) = launcher_folder("lacking") else { return };
        let ended = Command::new("node").arg(folder.join("mgp.js")).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(1) && said.contains("--omit=optional"), "{said}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// A program that ends as its first argument says.
    const PROGRAM: &str = "#!/bin/sh
case $1 in
    code) exit 7 ;;
    dies) kill -TERM $$ ;;
    bytes) exec cat ;;
    waits) trap 'kill $!; exit 9' TERM; sleep 60 & echo ready; wait ;;
esac
";
}
