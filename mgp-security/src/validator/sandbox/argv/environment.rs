//! Variables and settings that make programs load or run something else.

use crate::Finding;

use super::super::finding::{
    REFUSE_ENVIRONMENT, REFUSE_LOG, REFUSE_OPTION, REFUSE_RUNS_LATER, REFUSE_UNDECIDABLE, refuse,
};
use super::super::judge::Judge;
use super::super::package;
use super::super::value::{Arg, Flow};
use super::Call;
use super::network::is_shell;

/// Judges the assignment of `value` to `name`.
pub(in super::super) fn check_assignment(
    judge: &mut Judge<'_>,
    name: &str,
    value: &Arg,
) -> Result<(), Finding> {
    let text = value.text.as_str();
    if text.trim_start().starts_with("() {") {
        return Err(refuse(REFUSE_ENVIRONMENT));
    }
    if LOADING.contains(&name) && !text.is_empty() {
        return Err(refuse(REFUSE_ENVIRONMENT));
    }
    if matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE") && matches!(text, "" | "0" | "/dev/null") {
        return Err(refuse(REFUSE_LOG));
    }
    if loads_from_anywhere(name, text) {
        return Err(refuse(REFUSE_ENVIRONMENT));
    }
    if name == "NODE_OPTIONS" && (text.contains("-r") || text.contains("import")) && !text.contains("max") {
        return Err(refuse(REFUSE_ENVIRONMENT));
    }
    if matches!(name, "GIT_SSH_COMMAND" | "GIT_SSH") {
        return ssh_only(text);
    }
    installs_from(name, text)?;
    if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") && text.contains(['$', '`']) {
        // The prompt is expanded each time it is shown.
        match judge.text(&format!("echo \"{text}\""), &Flow::default()) {
            Err(finding) if finding.rule != REFUSE_UNDECIDABLE.0 => return Err(finding),
            _ => {}
        }
    }
    if RUNNING.contains(&name) {
        judge.text(text, &Flow::default())?;
        let program = text.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
        if is_shell(program) || (text.contains([';', '|', '&']) && text.contains("sh")) {
            return Err(refuse(REFUSE_ENVIRONMENT));
        }
    }
    Ok(())
}

/// Judges the variables that say where packages come from, or what builds them.
fn installs_from(name: &str, value: &str) -> Result<(), Finding> {
    let upper = name.to_ascii_uppercase();
    if ["INDEX_URL", "REGISTRY", "GOPROXY", "FIND_LINKS", "DEFAULT_INDEX"]
        .iter()
        .any(|end| upper.ends_with(end))
    {
        return package::check_index(value);
    }
    if upper == "GOFLAGS" && value.contains("exec") {
        return Err(refuse(REFUSE_ENVIRONMENT));
    }
    Ok(())
}

/// Whether programs would be looked for where everybody can write.
fn loads_from_anywhere(name: &str, path: &str) -> bool {
    (name == "PATH" || LIBRARY_PATHS.contains(&name))
        && ["/tmp", "/dev/shm", "/var/tmp"].iter().any(|directory| path.starts_with(directory))
}

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    if matches!(call.program, "env" | "sudo" | "doas") {
        for arg in call.args {
            let Some((name, value)) = arg.text.split_once('=') else { continue };
            if loads_from_anywhere(name, value) {
                return Err(refuse(REFUSE_ENVIRONMENT));
            }
            if (LOADING.contains(&name) && !value.is_empty()) || value.trim_start().starts_with("() {") {
                return Err(refuse(REFUSE_ENVIRONMENT));
            }
            if matches!(name, "GIT_SSH_COMMAND" | "GIT_SSH") {
                ssh_only(value)?;
            }
            installs_from(name, value)?;
            let program = value.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
            if RUNNING.contains(&name) && is_shell(program) {
                return Err(refuse(REFUSE_ENVIRONMENT));
            }
        }
    }
    if matches!(call.program, "npm" | "pnpm" | "yarn") {
        let shell = |arg: &Arg| {
            let text = arg.text.trim_start_matches('-');
            text == "script-shell" || text.starts_with("script-shell=")
        };
        let reads =
            matches!(call.operands().nth(1).map(|arg| arg.text.as_str()), Some("get" | "delete" | "ls"));
        return if call.args.iter().any(shell) && !reads { Err(refuse(REFUSE_OPTION)) } else { Ok(()) };
    }
    if call.program == "git" || call.program == "yadm" { git(call) } else { Ok(()) }
}

/// The settings of git that run programs.
fn git(call: &Call<'_>) -> Result<(), Finding> {
    let texts: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    if texts.iter().any(|text| {
        text.starts_with("ext::") || text.starts_with("--upload-pack") || text.starts_with("--receive-pack")
    }) {
        return Err(refuse(REFUSE_OPTION));
    }
    let mut settings: Vec<(String, &str)> = Vec::new();
    for pair in texts.windows(2) {
        if matches!(pair[0], "-c" | "--config" | "--config-env")
            && let Some((key, value)) = pair[1].split_once('=')
        {
            // A setting for one call that names a program is there to be run by that call.
            if key.to_ascii_lowercase().starts_with("alias.") && value.starts_with('!') {
                return Err(refuse(REFUSE_OPTION));
            }
            settings.push((key.to_ascii_lowercase(), value));
        }
    }
    if let Some(at) = texts.iter().position(|text| *text == "config") {
        let mut words =
            texts[at + 1..].iter().filter(|text| !text.starts_with('-') && !matches!(**text, "set" | "add"));
        if let (Some(key), Some(value)) = (words.next(), words.next()) {
            settings.push((key.to_ascii_lowercase(), value));
        }
    }
    for (key, value) in settings {
        if matches!(key.as_str(), "core.sshcommand" | "core.gitproxy") {
            ssh_only(value)?;
        }
        let runs = key == "core.fsmonitor" && !matches!(value, "true" | "false")
            || key == "protocol.ext.allow"
            || (key.starts_with("filter.") && !value.starts_with("git-"))
            || key == "diff.external"
            || key.ends_with(".textconv") && value.contains([' ', ';', '|']) && value.contains("sh");
        if runs {
            return Err(refuse(REFUSE_OPTION));
        }
        if key == "core.hookspath" && (value.starts_with("/tmp") || value.starts_with("/dev")) {
            return Err(refuse(REFUSE_RUNS_LATER));
        }
        if let Some(command) = value.strip_prefix('!')
            && (command.contains("curl")
                || command.contains("wget")
                || !command.trim_start().starts_with("git"))
            && (key.starts_with("credential") || command.contains([';', '|', '/']))
        {
            return Err(refuse(REFUSE_OPTION));
        }
        if matches!(key.as_str(), "core.editor" | "core.pager" | "sequence.editor" | "core.askpass")
            && (value.contains([';', '|', '&', '`', '$', '>'])
                || value.split([' ', '/']).any(|w| matches!(w, "sh" | "bash" | "curl" | "rm" | "nc")))
        {
            return Err(refuse(REFUSE_OPTION));
        }
    }
    Ok(())
}

fn ssh_only(command: &str) -> Result<(), Finding> {
    let program = command.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
    let plain = !command.contains([';', '|', '&', '`', '>', '<', '\n']);
    let proxied = command.to_ascii_lowercase().contains("proxycommand");
    if plain && !proxied && matches!(program, "" | "ssh" | "plink" | "tortoiseplink") {
        Ok(())
    } else {
        Err(refuse(REFUSE_OPTION))
    }
}

/// Whatever they name is loaded into other programs.
const LOADING: [&str; 14] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "JAVA_TOOL_OPTIONS",
];

/// Where programs look for what they load.
const LIBRARY_PATHS: [&str; 6] =
    ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PERL5LIB", "RUBYLIB", "NODE_PATH"];

/// Whatever they hold is run by other programs.
const RUNNING: [&str; 16] = [
    "RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "MANPAGER",
    "GIT_ASKPASS",
    "BROWSER",
];
