//! The rules about lines for cmd.exe and PowerShell, which have their own quoting and names.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::Finding;

use super::finding::{
    Danger, REFUSE_DEVICE, REFUSE_DOWNLOAD, REFUSE_KILL, REFUSE_LOG, REFUSE_OBFUSCATION, REFUSE_POWER,
    REFUSE_PRIVILEGE, REFUSE_RECURSIVE_DELETE, REFUSE_RUNS_LATER, REFUSE_SECRET, REFUSE_SECURITY, refuse,
};
use super::known::is_listed;
use super::place::Place;
use super::{CommandPolicy, pattern, patterns};

/// Judges a whole line, only for dangers that span several commands or are hidden in quotes.
pub(super) fn check_line(line: &str) -> Result<(), Finding> {
    if line.contains('^') && CARETS.is_match(line) {
        return Err(refuse(REFUSE_OBFUSCATION));
    }
    if line.contains(['|', '(', ';']) && IN_MEMORY.is_match(line) {
        return Err(refuse(REFUSE_DOWNLOAD));
    }
    Ok(())
}

/// Judges one command as it was written.
pub(super) fn check_simple(source: &str, policy: &CommandPolicy) -> Result<(), Finding> {
    let Some(first) = source.split_whitespace().next() else { return Ok(()) };
    let name = first.trim_start_matches('@').trim_matches(['"', '\'']).to_ascii_lowercase();
    let name = name.rsplit(['\\', '/']).next().unwrap_or("");
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if matches!(name, "cmd" | "start" | "forfiles" | "pcalua") {
        return nested(source, policy);
    }
    if matches!(name, "powershell" | "pwsh") {
        powershell(source)?;
        return nested(source, policy);
    }
    // The rules for shells judge `rm`.
    if name == "rm" || !is_listed("windows-names", name) {
        return Ok(());
    }
    if deletes_tree(source, policy) {
        return Err(refuse(REFUSE_RECURSIVE_DELETE));
    }
    let found = SIMPLE.matches(source).iter().next();
    found.map_or(Ok(()), |at| Err(refuse(RULES[at].1)))
}

/// Judges the text that an interpreter is given, in which every word may begin a command.
fn nested(source: &str, policy: &CommandPolicy) -> Result<(), Finding> {
    for (at, _) in source.match_indices([' ', '"', '\'', '&', '|', ';', '(', '{']).take(MAX_STARTS) {
        let rest = source[at + 1..].trim_start();
        let word = rest.split(|c: char| c.is_whitespace() || "\"'&|;()".contains(c)).next().unwrap_or("");
        let lower = word.to_ascii_lowercase();
        if is_listed("windows-names", lower.strip_suffix(".exe").unwrap_or(&lower)) {
            let command = rest.split(['|', ';', '&', '"', '\'']).next().unwrap_or(rest);
            if deletes_tree(command, policy) || deletes_tree(rest, policy) {
                return Err(refuse(REFUSE_RECURSIVE_DELETE));
            }
            if let Some(found) = SIMPLE.matches(rest).iter().next() {
                return Err(refuse(RULES[found].1));
            }
        }
    }
    Ok(())
}

/// Returns whether the command deletes trees other than those that the policy allows to be deleted.
fn deletes_tree(source: &str, policy: &CommandPolicy) -> bool {
    let mut words = source.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let name = words.next().unwrap_or("").trim_start_matches('@').to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let (cmdlet, command) =
        (matches!(name, "remove-item" | "ri"), matches!(name, "rd" | "rmdir" | "del" | "erase"));
    if !cmdlet && !command {
        return false;
    }
    let mut recursive = false;
    let mut targets = Vec::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        let switch = lower.strip_prefix('-').filter(|switch| !switch.is_empty());
        if switch.is_some_and(|switch| "recurse".starts_with(switch)) {
            recursive = true;
        } else if command && lower == "/s" {
            // The other rules judge the deletion of files that match a pattern.
            recursive |= matches!(name, "rd" | "rmdir");
        } else if switch.is_none() && !(word.starts_with('/') && word.len() == 2) {
            targets.push(word.trim_matches(['"', '\'', '(', ')', '{', '}']));
        }
    }
    let own = |target: &&str| !target.contains(['%', '$']) && Place::new(target, "").is_below_here();
    let rebuilt = |target: &&str| own(target) && Place::new(target, "").is_rebuilt();
    let let_go = policy.named_trees && targets.iter().all(own) || targets.iter().all(rebuilt);
    recursive && (targets.is_empty() || !let_go)
}

fn powershell(source: &str) -> Result<(), Finding> {
    if ENCODED.is_match(source) {
        return Err(refuse(REFUSE_OBFUSCATION));
    }
    if source.contains(['*', '?']) && source.contains('\\') && !source.contains(['-', '/']) {
        return Err(refuse(REFUSE_OBFUSCATION));
    }
    if FETCHES.is_match(source) {
        return Err(refuse(REFUSE_DOWNLOAD));
    }
    Ok(())
}

/// Patterns that match one command, each with the danger it stands for.
static RULES: [(&str, Danger); 31] = [
    (
        r"(?i)^\W*(?:del|erase)\b.*(?:/s\b|\s/q\b.*\*|[a-z]:\\(?:\*|windows|users|program))",
        REFUSE_RECURSIVE_DELETE,
    ),
    (
        r"(?i)^\W*remove-item\b.*(?:\s|\x22|')(?:[a-z]:\\\*?|\$env:\w+|~|HK(?:LM|CU):)[\\/]?(?:\s|\x22|'|$)",
        REFUSE_RECURSIVE_DELETE,
    ),
    (r"(?i)^\W*format(?:\.com)?\s+(?:/\S+\s+)*[a-z]:", REFUSE_DEVICE),
    (r"(?i)^\W*(?:format-volume|clear-disk|diskpart)\b", REFUSE_DEVICE),
    (r"(?i)^\W*certutil(?:\.exe)?\b.*[-/](?:urlcache|verifyctl|decode|decodehex|ping)\b", REFUSE_DOWNLOAD),
    (r"(?i)^\W*bitsadmin\b.*/(?:transfer|addfile|setnotifycmdline)", REFUSE_DOWNLOAD),
    (
        r"(?i)^\W*(?:mshta|regsvr32|rundll32|cscript|wscript|msiexec|installutil|odbcconf)\b.*(?:https?:|\\\\[\w.]+\\|javascript:|vbscript:|scrobj)",
        REFUSE_DOWNLOAD,
    ),
    (r"(?i)^\W*(?:iex|invoke-expression)\b\s*[^-\s]", REFUSE_DOWNLOAD),
    (
        r"(?i)^\W*reg\s+(?:add|delete|import|copy|save|load)\b.*(?:\\run\b|\\runonce|\\services\b|\\winlogon|\\policies|terminal server|hklm\\(?:sam|security|system)|image file execution|\\lsa\b|defender|safeboot|userinitmprlogonscript)",
        REFUSE_SECURITY,
    ),
    (r"(?i)^\W*reg\s+delete\b.*\bhk\w+\\\w+\b.*/f", REFUSE_SECURITY),
    (r"(?i)^\W*net1?\s+(?:user|localgroup|group)\b.*/(?:add|active|delete)", REFUSE_PRIVILEGE),
    (r"(?i)^\W*net1?\s+stop\b.*\b(?:windefend|mpssvc|wscsvc|eventlog|sense)\b", REFUSE_SECURITY),
    (
        r"(?i)^\W*(?:vssadmin\b.*delete|wmic\b.*(?:shadowcopy\b.*delete|process\b.*call\b.*create)|wbadmin\b.*delete)",
        REFUSE_RECURSIVE_DELETE,
    ),
    (r"(?i)^\W*bcdedit\b.*/(?:set|delete)", REFUSE_SECURITY),
    (r"(?i)^\W*schtasks\b.*/(?:create|change)", REFUSE_RUNS_LATER),
    (r"(?i)^\W*(?:register-scheduledtask|new-service)\b", REFUSE_RUNS_LATER),
    (r"(?i)^\W*sc(?:\.exe)?\s+(?:\\\\\S+\s+)?(?:create|config)\b.*binpath", REFUSE_RUNS_LATER),
    (
        r"(?i)^\W*sc(?:\.exe)?\s+(?:stop|delete|config)\b.*\b(?:windefend|mpssvc|sense|eventlog|wscsvc)",
        REFUSE_SECURITY,
    ),
    (r"(?i)^\W*cipher\b.*/w", REFUSE_RECURSIVE_DELETE),
    (r"(?i)^\W*(?:stop-computer|restart-computer)\b", REFUSE_POWER),
    (r"(?i)^\W*set-executionpolicy\b.*\b(?:bypass|unrestricted)", REFUSE_SECURITY),
    (r"(?i)^\W*(?:set|add)-mppreference\b.*-(?:disable|exclusion)", REFUSE_SECURITY),
    (
        r"(?i)^\W*(?:takeown\b.*/f\s+\x22?[a-z]:\\(?:windows|\s|$)|i?cacls\b.*(?:everyone|[a-z]:\\(?:windows|\s).*/grant))",
        REFUSE_PRIVILEGE,
    ),
    (
        r"(?i)^\W*netsh\b.*(?:firewall|advfirewall)\b.*(?:\boff\b|\bdisable\b|\breset\b|dir=in\s+action=allow)|^\W*netsh\b.*portproxy\s+add",
        REFUSE_SECURITY,
    ),
    (r"(?i)^\W*(?:wevtutil\s+(?:cl|clear-log)|clear-eventlog)\b", REFUSE_LOG),
    (r"(?i)^\W*fsutil\b.*\b(?:deletejournal|setzerodata)", REFUSE_LOG),
    (r"(?i)^\W*(?:new-localuser|add-localgroupmember)\b", REFUSE_PRIVILEGE),
    (
        r"(?i)^\W*(?:type|get-content|gc|copy|esentutl|ntdsutil|procdump)\b.*(?:\\repair\\(?:sam|system)|\\config\\(?:sam|system|security)|ntds\.dit|lsass|ac i ntds)",
        REFUSE_SECRET,
    ),
    (r"(?i)^\W*rundll32\b.*comsvcs.*minidump", REFUSE_SECRET),
    (r"(?i)^\W*shutdown\b\s+[/-][srhpf]", REFUSE_POWER),
    (r"(?i)^\W*taskkill\b.*/im\s+(?:\*|lsass|csrss|winlogon)", REFUSE_KILL),
];

static SIMPLE: LazyLock<RegexSet> = LazyLock::new(|| patterns(RULES.iter().map(|(text, _)| *text)));

/// Letters of a name that the escape character of cmd.exe separates.
static CARETS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)(?:^|[&|;])\s*@?\^?[a-z]+\^[a-z]+\^[a-z]"));

/// Code that is fetched and run without being stored in a file.
static IN_MEMORY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?:\biex\b|invoke-expression)\s*[\s(&]*.*(?:downloadstring|downloadfile|downloaddata|webclient|invoke-webrequest|iwr|irm|invoke-restmethod|frombase64string|curl|wget)|",
        r"(?:downloadstring|invoke-webrequest|\biwr\b|\birm\b|invoke-restmethod|frombase64string)\b.*\|\s*(?:iex|invoke-expression)\b|",
        r"(?:invoke-webrequest|\biwr\b|start-bitstransfer)\b.*;.*(?:start-process|\bsaps\b|invoke-item|\.\\)|",
        r"downloadfile\s*\(.*\)\s*;.*(?:start-process|invoke-item|\.\\)|net\.sockets\.tcpclient|reflection\.assembly\]?::load",
    ))
});

static ENCODED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\s[-/](?:e|ec|en|enc|enco|encod|encode|encoded\w*)\s+[a-z0-9+/=]{8,}"));

static FETCHES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)downloadstring|downloadfile|downloaddata|frombase64string|tcpclient|start-bitstransfer.*start-process",
    )
});

const MAX_STARTS: usize = 64;
