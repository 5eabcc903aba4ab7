//! The package managers that own programs, and upgrade them.

use std::path::Path;
use std::process::Command;

/// Returns the command that upgrades `program`, if a package manager owns the file.
pub(crate) fn upgrade_command(program: &Path) -> Option<&'static str> {
    let path = program.to_str()?;
    let lines = include_str!("package_managers.txt").lines().filter(|line| !line.starts_with('#'));
    let is_in_venv = program.parent()?.parent()?.join("pyvenv.cfg").is_file();
    let mut rows = lines.filter_map(|line| line.split_once(": "));
    let owner = rows.find(|(sign, _)| match sign.split_once(' ') {
        // A program that tells who owns a file.
        Some((manager, option)) => {
            let asked = Command::new(manager).arg(option).arg(program).output();
            asked.is_ok_and(|asked| asked.status.success())
        }
        None => path.contains(sign) || (is_in_venv && *sign == "pyvenv.cfg"),
    });
    owner.map(|(_, command)| command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_program_tells_who_owns_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for (path, command) in [
            ("node_modules/@mgp/cli-linux-x64/mgp", "npm"),
            ("Cellar/mgp/0.1.0/bin/mgp", "brew"),
            (".cargo/bin/mgp", "cargo"),
            ("nix/store/x-mgp/bin/mgp", "nix"),
        ] {
            assert!(upgrade_command(&at(path)).unwrap().starts_with(command), "{path}");
        }
        std::fs::write(at("pyvenv.cfg"), "").unwrap();
        assert!(upgrade_command(&at("bin/mgp")).unwrap().contains("pip"));
        assert_eq!(upgrade_command(&at("own/bin/mgp")), None);
    }
}
