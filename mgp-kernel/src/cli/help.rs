//! The help of `mgp` itself: its commands, grouped by what people do with them.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::args::Cli;

/// Returns the command line as clap knows it.
pub(super) fn root() -> clap::Command {
    let root = Cli::command();
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(groups, "{heading}:");
        for name in *names {
            let about = root.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:13}  {}", short(&about));
        }
        groups.push('\n');
    }
    let more: Vec<_> = MORE.iter().copied().filter(|name| root.find_subcommand(name).is_some()).collect();
    groups.push_str("More (`mgp help COMMAND` explains each):\n");
    for line in more.chunks(MORE_PER_LINE) {
        let _ = writeln!(groups, "  {}", line.join(", "));
    }
    for (name, feature) in left_out() {
        let _ = writeln!(groups, "  (this build has no `{name}`: it needs the feature `{feature}`)");
    }
    root.help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}"))
}

/// Returns the commands that this build leaves out, and the feature that each needs.
pub(super) fn left_out() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = [
        ("self", "self-update", cfg!(feature = "self-update")),
        ("store", "cluster", cfg!(feature = "cluster")),
    ];
    parts.into_iter().filter(|(_, _, is_built)| !is_built).map(|(name, feature, _)| (name, feature))
}

/// Returns the start of a description, up to its first colon or semicolon.
fn short(about: &str) -> &str {
    about.split([':', ';']).next().unwrap_or(about)
}

/// The commands that people use, by what they do.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run", &["demo", "init", "serve", "status", "doctor", "reload", "start", "stop", "restart"]),
    (
        "Servers",
        &[
            "servers", "add", "install", "remove", "import", "export", "login", "logout", "outdated",
            "upgrade", "logs",
        ],
    ),
    ("Tools", &["tools", "search", "call", "pin"]),
    (
        "Approve",
        &[
            "watch", "ui", "permissions", "ask", "open", "clients", "operators", "access", "keys",
            "registrations", "trust",
        ],
    ),
    ("Inspect", &["audit", "stats", "config"]),
];

/// The number of names in one line of the commands that few people need.
const MORE_PER_LINE: usize = 8;

/// The commands that few people need.
const MORE: &[&str] = &[
    "apply", "backup", "check", "cluster", "completions", "conform", "man", "new", "restore", "secrets",
    "self", "server", "service", "spec", "store", "untrust",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_named_once() {
        let root = Cli::command();
        let mut named: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).chain(MORE).copied().collect();
        named.retain(|name| left_out().all(|(left, _)| left != *name));
        named.sort_unstable();
        let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut known: Vec<_> = shown.map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn the_help_of_mgp_fits_a_screen() {
        let help = root().render_help().to_string();
        assert!(help.lines().count() <= 75 && help.contains("Approve:\n  watch"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
}
